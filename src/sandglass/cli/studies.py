"""Studies: an experiment varied and repeated."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.cli.arguments import Settings
from sandglass.errors import UsageError
from sandglass.offered import found

app = typer.Typer()


@app.command()
def study(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.yaml|EXPERIMENT.yaml",
            autocompletion=completion.studies,
            callback=found,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of one below results/studies.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Labs at once; all processors by default.")
    ] = None,
    settings: Settings = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE",
            help="One more axis; may be given again.",
            autocompletion=completion.variations,
        ),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, help="Runs of each point, with a seed each.")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Of Snakemake's, for a cluster.")
    ] = None,
) -> None:
    """Vary an experiment, repeat it, and put the runs together.

    Interrupted, it goes on where it was; a metric, plot or claim more runs nothing again. An
    experiment file is a study of what --vary says. A figure of a paper is one, too, whose file says
    all: it is reproduced.

    Example: ./sandglass study examples/codel.yaml --vary rtt=20ms,100ms --replicas 5
    """
    from sandglass.install import setup_lab
    from sandglass.papers import reproduce
    from sandglass.studies import conduct, outcome, reading

    if reproduce.is_figure(file):
        if out or settings or vary or replicas or profile:
            raise UsageError(
                f"{file}: is a figure of a paper, whose runs are what its file says",
                f"Change a copy of its experiment, or do it as it is: ./sandglass study {file}",
            )
        named = reproduce.named(str(file.resolve()))
        raise typer.Exit(reproduce.reproduce([named], "quick", cores, strict=False))
    if profile:
        _check(profile)
    wanted = reading.load(file, settings or [], vary or [], replicas)
    home = out or conduct.home(file)
    setup_lab.lab()
    status = conduct.conduct(wanted, home.absolute(), cores, profile)
    if status == 0:
        outcome.tell(wanted, home)
    raise typer.Exit(status)


def _check(profile: Path) -> None:
    """Raise UsageError unless it is a profile of Snakemake's with which studies run."""
    settings = [path.read_text() for path in profile.glob("config*.yaml")]
    if not settings:
        raise UsageError(
            f"{profile} is no profile of Snakemake's",
            "One is a folder with a config.yaml, such as profiles/slurm.",
        )
    named = re.search(r"^executor: *([\w-]+)", "\n".join(settings), re.M)
    executor = named[1] if named else "local"
    if executor == "kubernetes":
        raise UsageError(
            "a study cannot run on Kubernetes: its pods do not see the study's directory",
            "Papers can (docs/cluster.md); studies run on Slurm, and here.",
        )
    plugin = f"snakemake_executor_plugin_{executor.replace('-', '_')}"
    if executor not in ("local", "dryrun", "touch") and find_spec(plugin) is None:
        raise UsageError(
            f"Snakemake's executor {executor} is not installed",
            "Slurm's is installed by: ./sandglass setup --cluster",
        )
