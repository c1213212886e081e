"""Fig. 16: reduction of flow completion time against flow size, over that with beta_ecn 0.5."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe.completion import completion_table, drawn, largest_effect, least_mean_gain
from sandglass.experiment import units
from sandglass.results import series

QUEUES = {"fig16-codel": "CoDel", "fig16-pie": "PIE"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per replica, queue, size and beta_ecn, the mean over its seeds."""
    kilobytes = pl.col("size").map_elements(units.parse_size, pl.Int64) / 1e3
    rows = completion_table(runs, "size", kilobytes, QUEUES)
    return rows.rename({"size": "size_kb"})


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against size, a line per beta_ecn, a panel per AQM; bars are 95 % intervals."""
    shown = table.filter(pl.col("beta_ecn") > 0.5).with_columns(
        beta=pl.col("beta_ecn").cast(pl.String)
    )
    return drawn(
        shown, "size_kb", "beta", x_name="Flow size (kB)", line_name="beta_ecn", bar_width=20
    )


def codel_over_pie(table: pl.DataFrame, below: float) -> float | None:
    """The gain with CoDel less that with PIE, in percent, in the mean over sizes below a bound."""
    chosen = table.filter((pl.col("beta_ecn") > 0.5) & (pl.col("size_kb") < below))
    means = chosen.group_by("queue").agg(pl.col("gain_percent").mean())
    found = dict(means.rows())
    return None if len(found) < 2 else found["CoDel"] - found["PIE"]


METRICS = (least_mean_gain, largest_effect, codel_over_pie)
