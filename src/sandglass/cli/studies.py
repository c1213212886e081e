"""Studies: an experiment varied and repeated."""

from pathlib import Path
from typing import Annotated

import typer

from sandglass.cli import completion
from sandglass.cli.arguments import Settings

app = typer.Typer()


@app.command()
def study(
    file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.yaml|EXPERIMENT.yaml", autocompletion=completion.studies),
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
    experiment file is a study of what --vary says.

    Example: ./sandglass study examples/codel.yaml --vary rtt=20ms,100ms --replicas 5
    """
    from sandglass.install import setup_lab
    from sandglass.studies import conduct, outcome, reading

    wanted = reading.load(file, settings or [], vary or [], replicas)
    home = out or conduct.home(file)
    setup_lab.lab()
    status = conduct.conduct(wanted, home.absolute(), cores, profile)
    if status == 0:
        outcome.tell(wanted, home)
    raise typer.Exit(status)
