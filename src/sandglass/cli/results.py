"""Finished runs, looked at."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def show(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
) -> None:
    """Show a finished run as tables.

    Example: ./sandglass show results/runs/experiment-1a2b3c4d
    """
    from sandglass.results import show as tables

    tables.show(run_directory)


@app.command()
def plot(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN_DIR", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of results/plot.svg, .png."),
    ] = None,
) -> None:
    """Draw a finished run over time.

    Each flow's throughput and queueing delay at recorded links, congestion window and pings.

    Example: ./sandglass plot results/runs/experiment-1a2b3c4d
    """
    from sandglass.results import plot as drawing

    drawing.plot(run_directory, out)


@app.command()
def compare(
    run_directories: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of results/comparison.svg, .png, .csv."),
    ] = None,
) -> None:
    """Draw runs beside each other.

    Throughput over time and the distribution of queueing delays, such as of the lab and of a host.

    Example: ./sandglass compare results/runs/in-the-lab results/runs/in-real-time
    """
    from sandglass.results import comparison

    comparison.compare(run_directories, out)
