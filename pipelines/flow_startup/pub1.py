"""Publication I: what parallel web flows and their initial window do to an audio call."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series

MEASURES = {
    "longest_ms": "Longest one-way delay (ms)",
    "jump_ms": "Largest delay variation (ms)",
    "first_rtt_ms": "Longest delay in the first RTT (ms)",
    "needed_ms": "Playout delay for 1 % unplayed (ms)",
}
CASE = ["size_kb", "initial_window", "flows"]
CALM_S = 1.0  # of the call before the web flows, which nothing disturbs


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per size, initial window and number of web flows.

    Of the call from the first web flow's start on: `longest_ms`, its longest one-way delay;
    `jump_ms`, the largest delay variation (RFC 3393) either way; `first_rtt_ms`, the longest delay
    of packets sent until one RTT after the last flow's start, when initial windows are all that has
    come; `needed_ms`, the playout delay with which 1 % of the packets from then on, 5 s, would be
    late; `lost`, packets of the call that were lost. `calm_ms` is the delay before.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort(CASE)


def _row(run: series.Run) -> dict[str, float | int]:
    web = run.field("experiment.flows.1")
    start = units.parse_time(web["start"])
    initial = start + units.parse_time(web["start_within"])
    initial += 2 * run.time_ns("experiment.rtt")  # handshake, and the way back
    call = run.records("media").collect()
    during = call.filter(pl.col("sent_ns") >= start)
    second = int(CALM_S * 1e9)
    calm = call.filter(pl.col("sent_ns").is_between(start - second, start, "left"))[
        "delay_ns"
    ].max()
    first = during.filter(pl.col("sent_ns") < initial)["delay_ns"]
    needed = during.filter(pl.col("sent_ns") < start + 5 * second)["delay_ns"].quantile(0.99)
    return {
        "size_kb": units.parse_size(web["size"]) / 1e3,
        "initial_window": run.field("experiment.hosts.s2.initcwnd"),
        "flows": web["count"],
        "calm_ms": _ms(calm),
        "longest_ms": _ms(during["delay_ns"].max()),
        "jump_ms": _ms(during["ipdv_ns"].abs().max()),
        "first_rtt_ms": _ms(first.max()),
        "needed_ms": _ms(needed),
        "lost": int(during["delay_ns"].is_null().sum()),
    }


def _ms(nanoseconds: object) -> float:
    assert isinstance(nanoseconds, int | float)  # the call is never silent
    return nanoseconds / 1e6


def plot(table: pl.DataFrame) -> ggplot:
    """Each measure against the number of flows, a line per initial window, the smallest size."""
    smallest = table.filter(pl.col("size_kb") == pl.col("size_kb").min())
    named = smallest.with_columns(line=pl.format("Initial window {}", "initial_window"))
    return drawing.lines(drawing.measures(named, "flows", "line", MEASURES), "Web flows", "")


def one_over_many(table: pl.DataFrame, column: str, size_kb: float) -> float | None:
    """A measure with one flow of initial window 10 over that with six of 3."""
    one, many = (_at(table, size_kb, *case)[column] for case in ((10, 1), (3, 6)))
    return scalar((one / many).max()) if len(one) == len(many) == 1 else None


def grows_with_flows(table: pl.DataFrame, column: str, initial_window: int) -> Extreme | None:
    """Spearman's correlation of a measure with the number of flows, the least over the sizes."""
    chosen = table.filter(pl.col("initial_window") == initial_window)
    ranks = chosen.group_by("size_kb").agg(rho=pl.corr("flows", column, method="spearman"))
    return least(ranks, "rho")


def over_calm(table: pl.DataFrame, but_window: int = 0, but_flows: int = 0) -> Extreme | None:
    """The longest delay in the first RTT over that of the undisturbed call, the least of all cases,
    or of all but those of one initial window with up to so many flows."""
    spared = (pl.col("initial_window") == but_window) & (pl.col("flows") <= but_flows)
    ratio = pl.col("first_rtt_ms") / pl.col("calm_ms")
    return least(table.filter(~spared).select(*CASE, ratio=ratio), "ratio")


METRICS = (one_over_many, grows_with_flows, over_calm)


def _at(table: pl.DataFrame, size_kb: float, initial_window: int, flows: int) -> pl.DataFrame:
    return table.filter(
        (pl.col("size_kb") == size_kb)
        & (pl.col("initial_window") == initial_window)
        & (pl.col("flows") == flows)
    )
