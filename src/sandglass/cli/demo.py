"""The first minute."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandglass.terminal import progress, put, say

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer()

QUEUES = {"pfifo": [], "fq_codel": ["bottleneck.queue={kind: fq_codel}"]}
"""What is compared, and how each differs from examples/bufferbloat.yaml."""


@app.command()
def demo(
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Instead of results/demo.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Leave the browser alone.")] = False,
) -> None:
    """Show in some seconds what this is.

    A download fills the queue before a slow link, and a ping waits behind it; then the same with
    FQ-CoDel. The page shows both over time, and is opened in the browser where there is one.

    Example: ./sandglass demo
    """
    from sandglass.experiment import reading
    from sandglass.install import builds, setup_lab
    from sandglass.results.view import page
    from sandglass.run import runs

    setup_lab.lab()
    source = builds.ROOT / "examples" / "bufferbloat.yaml"
    home = out or builds.WORK / "results" / "demo"
    found = {}
    for queue, settings in QUEUES.items():
        wanted = reading.load(source, settings)
        with progress(f"demo, {queue}") as advance:
            found[queue] = runs.run(wanted, source, home / queue, progress=advance).content
    put(_table(found))
    written = page.view([home / queue for queue in QUEUES], home / "view.html")
    virtual_s = sum(each["virtual_s"] for each in found.values())
    wall_s = sum(each["wall_s"] for each in found.values())
    say(
        f"\n{virtual_s:g} s of real Linux in {wall_s:.1f} s, without root. The digest is over each"
        " packet: it is\nthe same on every machine that has this lab and runs the same file."
    )
    say(f"look at both over time: {written.resolve().as_uri()}")
    say("run it with another queue: ./sandglass run bufferbloat --set bottleneck.queue.kind=codel")
    say("change it: ./sandglass new my.yaml --from bufferbloat")
    if not no_open:
        webbrowser.open(written.resolve().as_uri())


def _table(found: dict[str, dict[str, Any]]) -> "Table":
    """What the packets of the download met, a column for each queue."""
    from rich.table import Table

    table = Table("a download over 20 Mb/s", box=None, pad_edge=False, header_style="bold")
    for queue in found:
        table.add_column(queue, justify="right")
    met = [each["bottlenecks"]["bottleneck"] for each in found.values()]
    waits = [each["queue_delay_ms"] for each in met]
    rows = {
        "half of the packets wait longer, ms": [f"{wait['median']:.1f}" for wait in waits],
        "one in twenty waits longer, ms": [f"{wait['p95']:.1f}" for wait in waits],
        "the download gets, Mb/s": [f"{e['flows'][0]['goodput_mbit']:.1f}" for e in found.values()],
        "packets dropped": [str(each["drops"]) for each in met],
        "digest": [each["digest"][:12] for each in found.values()],
    }
    for name, values in rows.items():
        table.add_row(name, *values)
    return table
