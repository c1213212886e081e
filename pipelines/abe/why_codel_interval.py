"""Why Figs. 7 and 9 differ through CoDel: its interval below and above the RTT."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import departures
from sandglass.results import series, style

KEYS = ["interval_ms", "control", "queue", "rtt_ms", "beta"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `interval_ms`, congestion control, RTT and beta: Fig. 7's, at the runs' end."""
    at = {
        interval: [run for run in runs if _interval_ms(run) == interval]
        for interval in sorted({_interval_ms(run) for run in runs})
    }
    gains = pl.concat(
        departures.table(own).with_columns(interval_ms=pl.lit(interval))
        for interval, own in at.items()
    )
    return gains.filter(pl.col("time_s") == pl.col("time_s").max()).sort(KEYS)


def _interval_ms(run: series.Run) -> float:
    return run.time_ns("experiment.bottleneck.queue.interval") / 1e6


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel per congestion control and RTT, a line per interval."""
    shown = table.with_columns(
        interval=pl.format("{} ms", pl.col("interval_ms").cast(pl.Int64)),
        path=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)),
    )
    named = dict.fromkeys(("color", "shape", "linetype"), "CoDel's interval")
    drawn: p9.ggplot = (
        p9.ggplot(
            shown,
            p9.aes("beta", "gain_percent", color="interval", shape="interval", linetype="interval"),
        )
        + p9.facet_grid("control", "path", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="beta_ecn", y="More bytes departed (%)", **named)
    )
    return drawn


def rtt_excess(table: pl.DataFrame, interval_ms: float) -> float | None:
    """NewReno's gain at the largest RTT less that at the smallest, percentage points."""
    return departures.rtt_excess(_at(table, interval_ms), "NewReno", "CoDel")


def order(table: pl.DataFrame, interval_ms: float, control: str, rtt_ms: float) -> float | None:
    """Spearman's correlation of departed bytes with beta."""
    betas = table["beta"].unique().to_list()
    return departures.order(_at(table, interval_ms), control, "CoDel", rtt_ms, betas)


METRICS = (rtt_excess, order)


def _at(table: pl.DataFrame, interval_ms: float) -> pl.DataFrame:
    return table.filter(pl.col("interval_ms") == interval_ms)
