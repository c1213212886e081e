"""Why PIE does not cut slow start short: its burst allowance and its gains."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, signals, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series

CASE = ["variant", "flows", "rtt_ms"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant of PIE, number of flows and RTT, with `end_share` of `signals`."""
    return series.along(runs, "variant", signals.table).select(*CASE, "end_share").sort(CASE)


def plot(table: pl.DataFrame) -> ggplot:
    """The window against the RTT, a line per variant and a panel per number of flows."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="rtt_ms",
        value="end_share",
        line="variant",
        panel=transients.flow_label(table, "flows"),
    )
    return drawing.lines(shown, "Base RTT (ms)", "Window at the end (share of BDP)", log_x=True)


def largest_ratio(table: pl.DataFrame, variant: str, over: str) -> Extreme | None:
    """That window with one variant over that with another, the largest over numbers of flows and
    RTTs."""
    one, other = (table.filter(variant=name).drop("variant") for name in (variant, over))
    both = one.join(other, on=CASE[1:], suffix="_over")
    ratios = both.select(*CASE[1:], ratio=pl.col("end_share") / pl.col("end_share_over"))
    return largest(ratios, "ratio")


METRICS = (largest_ratio,)
