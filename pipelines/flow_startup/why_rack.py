"""Why RED needs few timeouts: senders that find a lost retransmission."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub2, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Publication II's table for each `recovery`."""
    return series.along(runs, "recovery", pub2.table)


def plot(table: pl.DataFrame) -> ggplot:
    """Timeouts against the number of flows, a panel per buffer, a line per recovery."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="flows",
        value="rtos",
        line="recovery",
        panel=transients.buffer_label(table),
    )
    return drawing.lines(shown, "Parallel flows", "Timeouts in a transaction", log_x=True)


def least_of(
    table: pl.DataFrame, recovery: str, column: str, cases: Sequence[tuple[int, int]]
) -> Extreme | None:
    """With one recovery, the smallest value of a column over cases, as in Publication II."""
    return pub2.least_of(table.filter(recovery=recovery), "Recommended RED", column, cases)


METRICS = (least_of,)
