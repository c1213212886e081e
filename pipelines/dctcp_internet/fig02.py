"""Fig. 2: windows of a Reno and a DCTCP flow against time, and where they were signalled."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

STEP_NS = 50 * 10**6
SHOWN_S = (10, 40)


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per seed, flow and 50 ms after the warm-up: the last window, and the packets that
    were marked or dropped."""
    return pl.concat([_over_time(run) for run in runs])


def _over_time(run: series.Run) -> pl.DataFrame:
    names = {
        flow["id"]: "Reno" if flow["cc"] == sharing.CC_RENO else "DCTCP"
        for flow in run.field("flows")
    }

    def binned(column: str) -> pl.Expr:
        return (pl.col(column) // STEP_NS * STEP_NS).alias("start_ns")

    windows = (
        run.records("acks")
        .sort("time_ns")
        .group_by("flow", binned("time_ns"))
        .agg(pl.col("cwnd_packets").last())
        .collect()
    )
    signals = (
        series.forward(run)
        .filter(series.SIGNALLED)
        .group_by("flow", binned("enqueue_ns"))
        .agg(signals=pl.len())
        .collect()
    )
    return (
        windows.join(signals, on=["flow", "start_ns"], how="left")
        .filter(pl.col("start_ns") >= sharing.WARM_UP_NS)
        .sort("flow", "start_ns")
        .select(
            seed=pl.lit(run.field("seed"), pl.Int64),
            flow=pl.col("flow").replace_strict(names, return_dtype=pl.String),
            time_s=pl.col("start_ns") / 1e9,
            cwnd_packets="cwnd_packets",
            signals=pl.col("signals").fill_null(0),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel per flow: its window, and below it a point where it was signalled."""
    shown = table.filter(
        (pl.col("seed") == pl.col("seed").min()) & pl.col("time_s").is_between(*SHOWN_S)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("time_s", "cwnd_packets", color="flow"))
        + p9.facet_wrap("flow", ncol=1)
        + p9.geom_line(show_legend=False)
        + p9.geom_point(
            p9.aes(y=0), data=shown.filter(pl.col("signals") > 0), shape="|", show_legend=False
        )
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Time (s)", y="cwnd (packets)")
    )
    return drawn


def window_ratio(table: pl.DataFrame) -> float | None:
    """Reno's mean window over DCTCP's, all seeds."""
    reno, dctcp = (scalar(_of(table, flow)["cwnd_packets"].mean()) for flow in ("Reno", "DCTCP"))
    return reno / dctcp if reno is not None and dctcp else None


METRICS = (window_ratio,)


def _of(table: pl.DataFrame, flow: str) -> pl.DataFrame:
    return table.filter(pl.col("flow") == flow)
