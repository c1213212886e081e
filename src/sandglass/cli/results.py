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


@app.command()
def view(
    run_directories: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Instead of RUN_DIR/view.html, of several results/view.html."
        ),
    ] = None,
) -> None:
    """Make a page to look at runs in a browser.

    Queues, flows and distributions over time, to zoom into; several runs one over the other.

    Example: ./sandglass view results/runs/experiment-1a2b3c4d
    """
    from sandglass.results.view import page

    written = page.view(run_directories, out)
    size = written.stat().st_size / 1e6
    print(f"{written}: {size:.1f} MB, which need no network. Open it in a browser:")
    print(f"  {written.resolve().as_uri()}")
