"""Link utilisation."""

from collections.abc import Sequence

import polars as pl
from plotnine import geom_hline, ggplot

from pipelines.ls_aimd import bars, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `utilisation`, what left the queue over what the link could carry."""
    return steady.ordered({**steady.case(run), "utilisation": utilisation(run)} for run in runs)


def utilisation(run: series.Run) -> float:
    """What left the queue in the second half over what the link could carry."""
    begin, end = steady.interval_ns(run)
    sent = (
        series.forward(run)
        .filter((pl.col("dequeue_ns") >= begin) & (pl.col("dequeue_ns") < end))
        .select(pl.col("size_bytes").sum().cast(pl.Int64))
        .collect()
        .item()
    )
    return float(sent / (steady.rate_bps(run) / 8 * steady.seconds(run)))


def plot(table: pl.DataFrame) -> ggplot:
    """Utilisation by experiment; the line is 90 %."""
    line = geom_hline(yintercept=0.9, linetype="dotted", color="#666666")
    return bars.drawn(table, "utilisation", "Utilisation") + line


def least(table: pl.DataFrame, marking: str, sender: str, aimd_from: float) -> float | None:
    """The least utilisation of a sender where AIMD's is at least `aimd_from`."""
    rows = table.filter(pl.col("marking") == marking)
    aimd = rows.filter((pl.col("sender") == "AIMD") & (pl.col("utilisation") >= aimd_from))
    chosen = rows.filter(
        (pl.col("sender") == sender) & pl.col("case").is_in(aimd["case"].implode())
    )
    return scalar(chosen["utilisation"].min())


METRICS = (least,)
