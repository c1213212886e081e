"""Why signals and their answers differ: longer, spread and more flows, other windows and links."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_point, ggplot, labs, scale_x_continuous

from pipelines.flow_startup import signals, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

MEASURES = {
    "load": "Load",
    "growth": "Growth",
    "after_share": "Window",
    "unseen": "Unseen",
    "window_bdp": "Last round",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant, queue, pacing, number of flows and RTT, with columns of `signals`."""
    case = ["variant", "queue", "senders", "flows", "rtt_ms"]
    return series.along(runs, "variant", signals.table).select(*case, *MEASURES).sort(case)


def plot(table: pl.DataFrame) -> ggplot:
    """Each measure by case; of replicas the mean."""
    named = table.with_columns(
        case=pl.format(
            "{}, {}, {}, {}, {} ms",
            "queue",
            "senders",
            transients.flow_label(table, "flows").cast(pl.String),
            "variant",
            pl.col("rtt_ms").cast(pl.Int64),
        )
    )
    means = ensemble.measure_means(named, MEASURES, ["case"])
    drawn: ggplot = (
        ggplot(means, aes("value", "case"))
        + facet_wrap("measure", scales="free_x", nrow=1)
        + geom_point(size=1.8, color=style.PALETTE[0])
        + scale_x_continuous(breaks=_two)
        + labs(x="", y="")
    )
    return drawn


def _two(ends: tuple[float, float]) -> list[float]:
    """Two numbers of an axis: there is no room for more."""
    return [round(ends[0] + share * (ends[1] - ends[0]), 1) for share in (0.2, 0.8)]


def largest_of(table: pl.DataFrame, variant: str, queue: str, column: str) -> Extreme | None:
    """A column of one flow, the largest over pacing and RTTs."""
    return largest(_of(table, variant, queue, column), column)


def least_of(
    table: pl.DataFrame, variant: str, queue: str, column: str, rtt_from: float = 0
) -> Extreme | None:
    """A column of one flow, the least over pacing and RTTs from one on."""
    chosen = _of(table, variant, queue, column).filter(pl.col("rtt_ms") >= rtt_from)
    return least(chosen, column)


def typical(
    table: pl.DataFrame, variant: str, queue: str, column: str, senders: str, flows: int = 1
) -> float | None:
    """A column's median over RTTs."""
    chosen = _of(table, variant, queue, column, flows).filter(senders=senders)
    return scalar(chosen[column].median())


METRICS = (largest_of, least_of, typical)


def _of(table: pl.DataFrame, variant: str, queue: str, column: str, flows: int = 1) -> pl.DataFrame:
    chosen = table.filter(variant=variant, queue=queue, flows=flows)
    return chosen.select("senders", "rtt_ms", column).drop_nulls()
