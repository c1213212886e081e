"""Why pacing does not lengthen PIE's spikes everywhere: short transfers, and initial windows."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub4, transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant of the transfers, pacing, number of flows and RTT, with `peak_ms` of
    `pub4`."""
    case = ["variant", "senders", "flows", "rtt_ms"]
    return series.along(runs, "variant", pub4.table).select(*case, "peak_ms").sort(case)


def plot(table: pl.DataFrame) -> ggplot:
    """The longest wait against the RTT, a line per variant and pacing and a panel per number of
    flows."""
    shown = ensemble.numbered(table).select(
        ensemble.REPLICA,
        x="rtt_ms",
        value="peak_ms",
        line=pl.format("{}, {}", "variant", "senders"),
        panel=transients.flow_label(table, "flows"),
    )
    return drawing.lines(shown, "Base RTT (ms)", "Longest wait (ms)", log_x=True)


def least_ratio(
    table: pl.DataFrame, senders: str, variant: str, flows: int, rtt_up_to: float
) -> Extreme | None:
    """The longest wait with a pacing over that without, the least over RTTs, ms, up to one."""
    return least(_ratios(table, senders, variant, flows, rtt_up_to), "ratio")


def largest_ratio(
    table: pl.DataFrame, senders: str, variant: str, flows: int, rtt_up_to: float
) -> Extreme | None:
    """The same, the largest over RTTs."""
    return largest(_ratios(table, senders, variant, flows, rtt_up_to), "ratio")


METRICS = (largest_ratio, least_ratio)


def _ratios(
    table: pl.DataFrame, senders: str, variant: str, flows: int, rtt_up_to: float
) -> pl.DataFrame:
    own = table.filter(pl.col("rtt_ms") <= rtt_up_to, variant=variant, flows=flows)
    return pub4.pacing_ratios(own, ["rtt_ms"], senders)
