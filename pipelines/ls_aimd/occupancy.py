"""Queue occupancy: how much the bottleneck held on average."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.ls_aimd import bars, steady
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `bytes` and `packets` queued, by Little's law from each packet's wait, and
    `of_target`, the bytes over those that the target delay is at the link's rate."""
    rows: list[dict[str, object]] = []
    for run in runs:
        waits = steady.packets(run).filter(pl.col("sojourn_ns").is_not_null())
        held, byte_ns = (
            waits.select(
                pl.col("sojourn_ns").sum(),
                (pl.col("sojourn_ns") * pl.col("size_bytes")).sum().alias("byte_ns"),
            )
            .collect()
            .row(0)
        )
        span_ns = steady.seconds(run) * 1e9
        queued = byte_ns / span_ns
        target = steady.target_us(run) * steady.rate_bps(run) / 8e6
        rows.append(
            {
                **steady.case(run),
                "bytes": queued,
                "packets": held / span_ns,
                "of_target": queued / target,
            }
        )
    return steady.ordered(rows)


def plot(table: pl.DataFrame) -> ggplot:
    """Occupancy in units of the target, by experiment."""
    return bars.drawn(table, "of_target", "Mean queue / target")
