"""What several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.offered import found

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
