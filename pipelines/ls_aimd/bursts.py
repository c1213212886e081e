"""Bursts of delta segments in place of paced ones, with receivers that delay ACKs."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_x_continuous,
)

from pipelines.ls_aimd import steady, utilisation
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style

PACED = 1
"""Segments that leave at once where they are paced."""
PANELS = {"p95_us": "Delay, 95th percentile (us)", "utilisation": "Utilisation"}
KEYS = ["case", "sender"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `case`, `sender` and `delta`, the segments that leave at once after a wait, of
    the second half: `p95_us`, the 95th percentile of the queueing delay; `utilisation` as in
    utilisation.py."""
    return steady.ordered(_row(run) for run in runs).sort(*KEYS, "delta")


def _row(run: series.Run) -> dict[str, object]:
    delay_ns = steady.packets(run).select(pl.col("sojourn_ns").quantile(0.95)).collect().item()
    return {
        **steady.case(run),
        "delta": int(run.axes["delta"]),
        "p95_us": delay_ns / 1e3,
        "utilisation": utilisation.utilisation(run),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Delay and utilisation against delta, a column per experiment."""
    shown = ensemble.measures(table, PANELS, [*KEYS, "delta"])
    drawn: ggplot = (
        ggplot(shown, aes("delta", "value", color="sender", shape="sender"))
        + facet_grid("measure", "case", scales="free_y")
        + geom_line()
        + geom_point(size=2)
        + scale_x_continuous(breaks=sorted(set(table["delta"])))
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Segments that leave at once, delta", y="", color="", shape="")
    )
    return drawn


def least_over_paced(table: pl.DataFrame) -> Extreme | None:
    """The 95th percentile of the delay with bursts over that of the paced sender, the least over
    experiments, senders and deltas."""
    paced, bursts = table.filter(delta=PACED), table.filter(pl.col("delta") > PACED)
    both = bursts.join(paced, on=KEYS, suffix="_paced", maintain_order="left")
    over = pl.col("p95_us") / pl.col("p95_us_paced")
    return least(both.select(*KEYS, "delta", over=over), "over")


def least_growth(table: pl.DataFrame) -> Extreme | None:
    """Spearman's correlation of the 95th percentile of the delay with delta, the least over
    experiments and senders; that of the paced sender is delta's 1."""
    growth = table.group_by(KEYS, maintain_order=True).agg(
        rho=pl.corr("delta", "p95_us", method="spearman").fill_nan(None)
    )
    return least(growth, "rho")


METRICS = (least_over_paced, least_growth)
