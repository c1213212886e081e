"""Why Reno with ECN is not slow at a small threshold: a K at which DCTCP has most of the link."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs, scale_y_log10

from pipelines.dctcp_internet import fig05, legacy
from sandglass.papers import ensemble
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `relative` = K / Min_Thresh_Reno: the goodputs of DCTCP (`dctcp`) and of Reno
    with ECN (`legacy`) over that of Reno without."""
    rows = []
    for run in runs:
        flows = legacy.table([run])
        mbit = dict(flows.select("sender", "mbit").iter_rows())
        rows.append(
            {
                "relative": fig05.thresholds(run)["relative"],
                "dctcp": mbit[legacy.DCTCP] / mbit[legacy.RENO],
                "legacy": mbit[legacy.RENO_ECN] / mbit[legacy.RENO],
            }
        )
    return pl.DataFrame(rows).sort("relative")


def plot(table: pl.DataFrame) -> ggplot:
    """Reno with ECN over Reno against DCTCP over Reno, of replicas the means; dotted: half."""
    one, other = (ensemble.means(table, ["relative"], name) for name in ("dctcp", "legacy"))
    drawn: ggplot = (
        ggplot(one.join(other, on="relative", suffix="_y"), aes("dctcp", "legacy"))
        + geom_hline(yintercept=0.5, linetype="dotted")
        + geom_line(color=style.PALETTE[0])
        + geom_point(color=style.PALETTE[0])
        + scale_y_log10()
        + labs(x="DCTCP / Reno", y="Reno with ECN / Reno")
    )
    return drawn


def at_equal_shares(table: pl.DataFrame) -> float | None:
    """Reno with ECN over Reno where DCTCP and Reno have equal shares, between two thresholds by
    the logarithm of theirs; None where they have not."""
    rows = table.sort("relative").select(pl.col("dctcp").log(), "legacy").rows()
    for (low, one), (high, other) in pairwise(rows):
        if low <= 0 < high:
            return float(one + (other - one) * -low / (high - low))
    return None


METRICS = (at_equal_shares,)
