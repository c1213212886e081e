"""Section II-B: what PIE's target does to delay and to throughput."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig03, settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series

MEASURES = {"throughput_mbit": "Throughput (Mb/s)", "queue_delay_p95_ms": "95 % of delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 3's table with `target_ms`: one row per base RTT and target."""
    return (
        series.along(runs, "target", fig03.table)
        .with_columns(target_ms=pl.col("target").map_elements(units.parse_time, pl.Int64) / 1e6)
        .select("rtt_ms", "target_ms", *MEASURES)
        .sort("rtt_ms", "target_ms")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Throughput and delay against the target, a line per base RTT."""
    shown = table.with_columns(rtt=settings.rtt_label(table))
    return drawing.panels(shown, MEASURES, ("target_ms", "Target (ms)"), ("rtt", "Base RTT"))


def least_step(table: pl.DataFrame, of: str, rtt_ms: float) -> Extreme | None:
    """What a column has more with a target than with the next smaller one, the least of all."""
    own = _at(table, rtt_ms).sort("target_ms")
    return least(own.select("target_ms", step=pl.col(of).diff()).drop_nulls(), "step")


def lost(table: pl.DataFrame, rtt_ms: float) -> float | None:
    """By which share throughput with the smallest target is below that with the largest."""
    own = _at(table, rtt_ms).sort("target_ms")["throughput_mbit"]
    return 1 - float(own[0]) / float(own[-1]) if len(own) else None


METRICS = (least_step, lost)


def _at(table: pl.DataFrame, rtt_ms: float) -> pl.DataFrame:
    return table.filter(pl.col("rtt_ms") == rtt_ms)
