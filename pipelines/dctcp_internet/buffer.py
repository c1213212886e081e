"""Section IV-B: how large a buffer one Reno flow needs to use the link fully."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs

from pipelines.dctcp_internet import sharing
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `buffer` (BDP): `utilisation` of the link, and the mean queue in BDP,
    `occupancy`."""
    rows = []
    for run in runs:
        limit = units.parse_length(run.field("experiment.bottleneck.queue.limit"))
        measured = sharing.steady(run)
        names = ("utilisation", "occupancy")
        rows.append({"buffer": float(limit.amount)} | {name: measured[name] for name in names})
    return pl.DataFrame(rows).sort("buffer")


def plot(table: pl.DataFrame) -> ggplot:
    """Utilisation against the buffer, of replicas the mean with its interval; dotted: 0.98."""
    shown = ensemble.means(table, ["buffer"], "utilisation")
    drawn: ggplot = (
        ggplot(shown.with_columns(flow=pl.lit("Reno")), aes("buffer", "utilisation"))
        + geom_hline(yintercept=0.98, linetype="dotted")
        + ensemble.band(shown.with_columns(flow=pl.lit("Reno")), "flow")
        + geom_line(color=style.PALETTE[0])
        + geom_point(color=style.PALETTE[0])
        + labs(x="Buffer (BDP)", y="Utilisation")
    )
    return drawn


def gained(table: pl.DataFrame, buffer: float, over: float) -> float | None:
    """Utilisation with one buffer less that with another, in percentage points."""
    one, other = (
        table.filter(buffer=size)["utilisation"].mean() for size in (float(buffer), float(over))
    )
    if not isinstance(one, float) or not isinstance(other, float):
        return None
    return 100 * (one - other)


METRICS = (gained,)
