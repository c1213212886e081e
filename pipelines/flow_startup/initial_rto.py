"""Section 1.4, footnote to Publication I: what a shorter initial retransmission timeout changes."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1
from sandglass.papers.verdicts import Extreme, farthest
from sandglass.results import series, style

LONG_S, SHORT_S = 3, 1
"""RFC 1122's timeout, and that of RFC 6298."""
LATEST_S = 0.064
"""How late a timer of 0.5 to 4 s may be: the kernel's wheel has steps of 64 ticks there."""
CASE = ["lost", *pub1.CASE]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per which SYNs are `lost`, size, initial window, number of web flows and initial
    timeout, `rto_s`: the call's longest one-way delay from the first web flow's start on,
    `longest_ms`; SYNs that were lost, `lost_syns`; and `late_s`, the longest time from the first
    SYN of a flow to the second less the timeout, null where none was lost."""
    schema = {"late_s": pl.Float64}
    rows = pl.DataFrame([_row(run) for run in runs], schema_overrides=schema)
    return rows.sort(*CASE, "rto_s")


def _row(run: series.Run) -> dict[str, object]:
    [call] = pub1.table([run]).select(*pub1.CASE, "longest_ms").to_dicts()
    sysctls = run.field("experiment.hosts.s2.sysctls")
    rto_s = float(sysctls["net.ipv4.tcp_initial_rto.ms"]) / 1e3
    web = run.flows.filter(pl.col("workload") == "bulk")["flow"].implode()
    sent = series.forward(run).filter(pl.col("flow").is_in(web)).sort("enqueue_ns")
    syns = (
        sent.filter(pl.col("seq") == pl.col("seq").first().over("flow"))
        .group_by("flow")
        .agg(lost=pl.len() - 1, gap_ns=pl.col("enqueue_ns").diff().get(1, null_on_oob=True))
        .collect()
    )
    return {
        "lost": str(run.axes["lost"]),
        **call,
        "rto_s": rto_s,
        "lost_syns": int(syns["lost"].sum()),
        "late_s": (syns["gap_ns"] / 1e9 - rto_s).max(),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """The longest delay against the number of flows, a line per timeout and initial window, and a
    panel per which SYNs are lost and size."""
    named = pl.format("{}, {} kB each", "lost", pl.col("size_kb").cast(pl.Int64))
    panels = table.select(named.alias("panel"))["panel"]
    shown = table.select(
        x="flows",
        value="longest_ms",
        line=pl.format("{} s, IW {}", pl.col("rto_s").cast(pl.Int64), "initial_window"),
        panel=named.cast(style.in_order(panels)),
    )
    return drawing.lines(shown, "Web flows", "Longest one-way delay (ms)")


def change(table: pl.DataFrame, lost: str) -> Extreme | None:
    """The longest delay with the short timeout over that with the long one, less 1: what is
    farthest from 0 over sizes, initial windows and numbers of flows."""
    long, short = (table.filter(lost=lost, rto_s=rto_s) for rto_s in (LONG_S, SHORT_S))
    both = short.join(long, on=CASE, suffix="_long")
    ratio = pl.col("longest_ms") / pl.col("longest_ms_long")
    return farthest(both.select(*CASE, change=ratio - 1), "change")


def untimely(table: pl.DataFrame, lost: str) -> float | None:
    """Runs in which no SYN is sent again, or one before the timeout or later than the kernel's
    timers allow."""
    late_s = table.filter(lost=lost)["late_s"]
    timely = late_s.is_between(0, LATEST_S).fill_null(False)
    return float((~timely).sum()) if len(late_s) else None


METRICS = (change, untimely)
