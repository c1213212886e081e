"""Why Fig. 8's 90th percentile through PIE differs: senders, packets and receivers."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, coord_flip, geom_hline, geom_line, ggplot, labs, scale_color_manual

from pipelines.abe import sojourn
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 8's table for each way in which it is `varied`."""
    return series.along(runs, "varied", sojourn.table)


def plot(table: pl.DataFrame) -> ggplot:
    """The distribution function, a line for each way, of replicas the mean. Dotted: the target."""
    shown = ensemble.means(table, ["varied", "percentile"], "delay_ms")
    drawn: ggplot = (
        ggplot(shown, aes("percentile", "delay_ms", color="varied"))
        + geom_hline(yintercept=sojourn.TARGET_MS["PIE"], linetype="dotted", color="#666666")
        + geom_line()
        + coord_flip(ylim=(0, sojourn.SHOWN_MS))
        + scale_color_manual(style.PALETTE)
        + labs(x="Share of packets (%)", y="Queueing delay (ms)", color="")
    )
    return drawn


def percentile(table: pl.DataFrame, varied: str, percent: int) -> float | None:
    """A percentile of the queueing delay, ms."""
    own = table.filter(varied=varied, percentile=percent)
    return scalar(own["delay_ms"].max())


METRICS = (percentile,)
