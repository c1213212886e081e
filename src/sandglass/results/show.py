"""A finished run as tables in the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from sandglass.results import document, setting
from sandglass.terminal import put

OF_ALL = frozenset(
    [
        *["id", "seed", "workload", "from", "to", "cc", "ecn", "start_s", "end_s", "bytes"],
        *["goodput_mbit", "fct_s", "plt_s", "retransmits", "rtos", "delivered_ce"],
    ]
)
"""What run.json tells of every flow, and the page load time that stands beside completion times."""
QUANTILES = ("mean", "median", "p90", "p95", "p99", "max")


def show(run: Path) -> None:
    """Print what a run found."""
    put(*parts(document.read(run), setting.parts(run)))
    if (answers := run / "rtt.parquet").is_file():
        put(pings(answers))


def parts(result: Mapping[str, Any], met: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    """Heading, flows, bottlenecks and their queueing delays, and what only some of them tell.

    `met` is what the packets went through, as in setting.parts.
    """
    parts = [heading(result, met), flows(result)]
    if result["bottlenecks"]:
        parts += [bottlenecks(result), delays(result)]
    if counting := counters(result):
        parts.append(counting)
    if any(map(own, result["flows"])):
        parts.append(others(result))
    if any("media" in flow for flow in result["flows"]):
        parts.append(media(result))
    for part in parts:
        yield part
        yield ""


def heading(result: Mapping[str, Any], met: Sequence[tuple[str, str]]) -> Table:
    """What was run, on what, and how fast."""
    table = Table("", "", box=None, show_header=False, pad_edge=False, title_justify="left")
    table.columns[0].style = "bold"
    table.add_row("title", result["title"])
    for row in met:
        table.add_row(*row)
    virtual_s, wall_s = result["virtual_s"], result["wall_s"]
    times = f", {virtual_s / wall_s:.0f} times as fast" if result["backend"] == "lab" else ""
    for name, value in {
        "seed": str(result["seed"]),
        "kernel": result["kernel"]["release"],
        "lab": result.get("lab"),
        "commit": result.get("commit"),
        "backend": result["backend"] + ("" if times else ", in real time"),
        "time": f"{virtual_s:g} s in {wall_s:.2f} s{times}",
        "digest": result["digest"] or "none: another run gives other records",
    }.items():
        if value is not None:
            table.add_row(name, value)
    if (repeat := result["experiment"]["repeat"]) > 1:
        table.add_row("repetitions", f"{repeat}, of which the first is shown here")
    for warning in result.get("warnings", []):
        table.add_row("warning", warning)
    return table


def flows(result: Mapping[str, Any]) -> Table:
    """A row for each flow."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("flow", justify="right", no_wrap=True)
    for name in ("workload", "from", "to", "cc", "ecn"):
        table.add_column(name, no_wrap=True)
    for name in ("Mb/s", "FCT s", "retransmitted", "RTOs"):
        table.add_column(name, justify="right", no_wrap=True)
    for flow in result["flows"]:
        table.add_row(
            str(flow["id"]),
            flow["workload"],
            flow["from"],
            flow["to"],
            flow.get("cc") or "-",
            "yes" if flow.get("ecn") else "no",
            number(flow.get("goodput_mbit"), ".3f"),
            number(flow.get("fct_s") or flow.get("plt_s"), ".3f"),
            number(flow.get("retransmits"), "d"),
            number(flow.get("rtos"), "d"),
        )
    return table


def counters(result: Mapping[str, Any]) -> Table | None:
    """What congestion controls and queues tell of themselves, as it was in the end."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("counters of")
    table.add_column()
    flows = {f"flow {flow['id']}": flow for flow in result["flows"]}
    for name, one in {**flows, **result["bottlenecks"]}.items():
        if found := one.get("counters"):
            told = (f"{counter}={shown(value)}" for counter, value in found.items())
            table.add_row(name, " ".join(told))
    return table if table.rows else None


def own(flow: Mapping[str, Any]) -> dict[str, Any]:
    """What a flow's workload tells besides what is told of all flows."""
    return {
        name: value
        for name, value in flow.items()
        if name not in OF_ALL and value is not None and not isinstance(value, dict)
    }


def others(result: Mapping[str, Any]) -> Table:
    """A row for each flow whose workload tells something of its own, by the names in run.json."""
    rows = {flow["id"]: found for flow in result["flows"] if (found := own(flow))}
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("flow", *names):
        table.add_column(name, justify="right", no_wrap=True)
    for number_of, found in rows.items():
        table.add_row(str(number_of), *(shown(found.get(name)) for name in names))
    return table


def shown(value: object) -> str:
    """A value of run.json, fractions with six digits at most; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def bottlenecks(result: Mapping[str, Any]) -> Table:
    """A row for each bottleneck: what it carried and dropped or marked."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("bottleneck", no_wrap=True)
    for name in ("used %", "packets", "drops", "marks"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, link in result["bottlenecks"].items():
        used = link.get("utilisation")
        counts = (number(link.get(count), "d") for count in ("packets", "drops", "marks"))
        table.add_row(name, number(None if used is None else 100 * used, ".1f"), *counts)
    return table


def delays(result: Mapping[str, Any]) -> Table:
    """A row for each bottleneck: how long packets waited there, in milliseconds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("queueing delay, ms", no_wrap=True)
    for name in QUANTILES:
        table.add_column(name, justify="right", no_wrap=True)
    for name, link in result["bottlenecks"].items():
        delay = link.get("queue_delay_ms") or {}
        table.add_row(name, *(number(delay.get(quantile), ".2f") for quantile in QUANTILES))
    return table


def pings(answers: Path) -> Table:
    """A row for each ping flow of an rtt.parquet: its round-trip times in milliseconds."""
    import polars as pl  # noqa: PLC0415 as most runs have none

    from sandglass.records.summary import quantiles_ms  # noqa: PLC0415 likewise

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("round trips, ms", justify="right", no_wrap=True)
    for name in ("min", *QUANTILES):
        table.add_column(name, justify="right", no_wrap=True)
    with document.readable(answers):
        found = pl.read_parquet(answers, glob=False)
    for (flow,), rows in found.group_by("flow", maintain_order=True):
        times = rows["rtt_ns"].drop_nulls().to_numpy()
        least = float(times.min()) / 1e6 if len(times) else None
        delay = quantiles_ms(times)
        values = (least, *(delay[quantile] for quantile in QUANTILES))
        table.add_row(str(flow), *(number(value, ".2f") for value in values))
    return table


def media(result: Mapping[str, Any]) -> Table:
    """A row for each media flow: one-way delay in milliseconds, losses, and what was not played."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("media, ms", justify="right", no_wrap=True)
    quantiles = ("mean", "median", "p99", "max")
    for name in (*quantiles, "lost %", "loss periods", "unplayed %"):
        table.add_column(name, justify="right", no_wrap=True)
    for flow in result["flows"]:
        if "media" in flow:
            found = flow["media"]
            table.add_row(
                str(flow["id"]),
                *(number(found["delay_ms"][quantile], ".2f") for quantile in quantiles),
                number(100 * found["lost_share"], ".2f"),
                number(found["loss_periods"], "d"),
                number(100 * found["unplayed_share"], ".2f"),
            )
    return table


def number(value: float | None, layout: str) -> str:
    """A number in the layout, a dash for what was not measured."""
    return "-" if value is None else format(value, layout)
