"""Fig. 18: reduction of flow completion time of 2000 kB against beta_ecn, at three RTTs."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import settings
from pipelines.abe.completion import completion_table, drawn
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, least, scalar
from sandglass.results import series

QUEUES = {"fig18-codel": "CoDel", "fig18-pie": "PIE"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per replica, queue, RTT and beta_ecn, the mean over its seeds."""
    milliseconds = pl.col("rtt").map_elements(units.parse_time, pl.Int64) / 1e6
    return completion_table(runs, "rtt", milliseconds, QUEUES).rename({"rtt": "rtt_ms"})


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against beta_ecn, a line per RTT, a panel per AQM; bars are 95 % intervals."""
    shown = table.with_columns(rtt=settings.rtt_label(table))
    return drawn(shown, "beta_ecn", "rtt", x_name="beta_ecn", line_name="Base RTT", bar_width=0.01)


def saturation(table: pl.DataFrame, queue: str, beta: float) -> Extreme | None:
    """The gain at `beta` over the largest gain; the least over the RTTs."""
    own = table.filter(pl.col("queue") == queue)
    shares = own.group_by("rtt_ms").agg(
        share=pl.col("gain_percent").filter(pl.col("beta_ecn") == beta).first()
        / pl.col("gain_percent").max()
    )
    return least(shares, "share")


def unsteadiness(table: pl.DataFrame, queue: str) -> float | None:
    """How far the gains at the RTTs are apart, over their mean; in the mean of beta_ecn."""
    larger = table.filter((pl.col("queue") == queue) & (pl.col("beta_ecn") > 0.5))
    apart = larger.group_by("beta_ecn").agg(
        spread=(pl.col("gain_percent").max() - pl.col("gain_percent").min())
    )
    return scalar(apart["spread"].mean() / larger["gain_percent"].mean())  # type: ignore[operator]


def unsteadier(table: pl.DataFrame) -> float | None:
    """The unsteadiness of CoDel over that of PIE."""
    codel, pie = unsteadiness(table, "CoDel"), unsteadiness(table, "PIE")
    return None if codel is None or pie is None else codel / pie


def better_pie(table: pl.DataFrame) -> Extreme | None:
    """The gain with PIE less that with CoDel, in percent; the least over the RTTs of the means."""
    means = (
        table.filter(pl.col("beta_ecn") > 0.5)
        .group_by("rtt_ms", "queue")
        .agg(pl.col("gain_percent").mean())
        .pivot("queue", index="rtt_ms", values="gain_percent")
    )
    return least(means.select("rtt_ms", better=pl.col("PIE") - pl.col("CoDel")), "better")


METRICS = (saturation, unsteadier, better_pie)
