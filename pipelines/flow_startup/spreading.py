"""Section 2.2: large initial windows, spread over the initial RTT or at once."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub1, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series

REMOVED = 100
"""More than a flow of 100 kB has: an initial window that is none."""
POINT = ["initial_window", "flows"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication I's table for each way to send, `sender`."""
    return series.along(runs, "sender", pub1.table).sort("sender", *POINT)


def plot(table: pl.DataFrame) -> ggplot:
    """The call's longest delay against the initial window, a panel per number of flows."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="initial_window",
        value="longest_ms",
        line="sender",
        panel=transients.flow_label(table, "flows"),
    )
    return drawing.lines(shown, "Initial window", "Longest one-way delay (ms)", log_x=True)


def removed_ratio(table: pl.DataFrame, column: str, most: bool) -> Extreme | None:
    """A measure without an initial window over that with one of 10, sent at once; the least or
    largest over numbers of flows."""
    once = table.filter(sender="at once")
    none, ten = (once.filter(initial_window=window) for window in (REMOVED, 10))
    both = none.join(ten, on="flows", suffix="_ten")
    ratios = both.select("flows", ratio=pl.col(column) / pl.col(f"{column}_ten"))
    return (largest if most else least)(ratios, "ratio")


METRICS = (removed_ratio,)
