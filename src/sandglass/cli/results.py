"""Finished runs, looked at."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from sandglass.cli.arguments import RunDirectories, RunDirectory
from sandglass.errors import UsageError
from sandglass.results.export.point import Point
from sandglass.terminal import say

if TYPE_CHECKING:
    from sandglass.results.series import Run

app = typer.Typer()


@app.command()
def show(
    run_directory: RunDirectory,
) -> None:
    """Show a finished run as tables.

    Example: ./sandglass show results/runs/experiment-1a2b3c4d
    """
    from sandglass.results import show as tables

    tables.show(run_directory)


@app.command()
def plot(
    run_directory: RunDirectory,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of RUN_DIR/plot.svg, .png."),
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
    run_directories: RunDirectories,
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
    run_directories: RunDirectories,
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
    say(f"{written}: {written.stat().st_size / 1e6:.1f} MB")
    say(f"open it in a browser: {written.resolve().as_uri()}")


@app.command()
def export(
    run_directory: RunDirectory,
    pcapng: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its packets, for Wireshark.")
    ] = None,
    at: Annotated[Point, typer.Option(help="Which end of the queue they are seen at.")] = (
        Point.ARRIVAL
    ),
    csv: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Its tables, a file for each.")
    ] = None,
    flent: Annotated[
        Path | None, typer.Option(metavar="FILE.flent.gz", help="Its flows, for flent's plots.")
    ] = None,
    qlog: Annotated[
        Path | None, typer.Option(metavar="FILE.qlog", help="Its senders, for qvis.")
    ] = None,
) -> None:
    """Write a finished run in other programs' formats.

    Example: ./sandglass export results/runs/experiment-1a2b3c4d --pcapng run.pcapng
    """
    from sandglass.results import document, series

    if not (pcapng or csv or flent or qlog):
        raise UsageError(
            "export to what?", "Give --pcapng FILE, --csv DIR, --flent FILE or --qlog FILE."
        )
    document.read(run_directory)
    run = series.load(run_directory, {})
    with document.readable(run_directory):
        _export(run, pcapng, at, csv, flent)
        if qlog:
            from sandglass.results.export import qlog as senders

            say(f"{qlog}: {senders.write(run, qlog)} senders")


def _export(
    run: "Run", pcapng: Path | None, at: Point, csv: Path | None, flent: Path | None
) -> None:
    from sandglass.results.export import flent_data, tables
    from sandglass.results.export import pcapng as capture

    if pcapng:
        count = capture.write(run, pcapng, at)
        say(f"{pcapng}: {count} frames; open it: wireshark {quote(str(pcapng))}")
    if csv:
        say(f"{csv}: {', '.join(tables.write(run, csv))}")
    if flent:
        plots = flent_data.write(run, flent)
        also = ", ".join(plots[1:])
        say(f"{flent}: open it: flent --plot {plots[0]} {quote(str(flent))}; also {also}")
