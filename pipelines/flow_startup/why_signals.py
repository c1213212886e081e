"""Why signals and their answers differ: longer, spread and more flows, other windows and links."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, signals
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series

MEASURES = {
    "load": "Load at the first mark",
    "growth": "Growth until the answer",
    "after_share": "Window after slow start (BDP)",
    "unseen": "Samples that see no packet",
    "window_bdp": "Last round trip below the link's (BDP)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant, queue, pacing, number of flows and RTT, with columns of `signals`."""
    case = ["variant", "queue", "senders", "flows", "rtt_ms"]
    return series.along(runs, "variant", signals.table).select(*case, *MEASURES).sort(case)


def plot(table: pl.DataFrame) -> ggplot:
    """Measures of one flow against the RTT, a line per queue, pacing and variant."""
    named = table.filter(pl.col("flows") == 1).with_columns(
        line=pl.format("{}, {}, {}", "queue", "senders", "variant")
    )
    shown = drawing.measures(named, "rtt_ms", "line", MEASURES)
    return drawing.lines(shown, "Base RTT (ms)", "", log_x=True)


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
