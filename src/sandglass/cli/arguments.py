"""What several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.install.builds import ROOT


def found(path: Path) -> Path:
    """A file as it is named or, where there is none, the one of that name that Sandglass has.

    From everywhere `codel` and `examples/codel.yaml` name the same example.
    """
    places = [ROOT / path]
    if path.name == str(path) and not path.suffix:
        places += [ROOT / folder / f"{path}.yaml" for folder in ("examples", "examples/studies")]
    return path if path.exists() else next((each for each in places if each.is_file()), path)


ExperimentFile = Annotated[
    Path,
    typer.Argument(
        metavar="EXPERIMENT.yaml",
        show_default=False,
        autocompletion=completion.experiments,
        callback=found,
    ),
]
RunDirectory = Annotated[
    Path,
    typer.Argument(metavar="RUN_DIR", show_default=False, autocompletion=completion.runs),
]
RunDirectories = Annotated[
    list[Path],
    typer.Argument(metavar="RUN_DIR...", show_default=False, autocompletion=completion.runs),
]
WhichLab = Annotated[
    str | None,
    typer.Option(
        "--lab",
        metavar="LAB",
        help="Instead of this checkout's.",
        autocompletion=completion.labs,
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Instead of the experiment's own.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key; may be given again.",
        autocompletion=completion.settings,
    ),
]
