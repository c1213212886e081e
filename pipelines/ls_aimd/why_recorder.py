"""Whether the period that the thesis's recorder covers is why the least delays differ."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import delays, steady
from sandglass.results import series, style

PERIODS = {"whole": 0.0, "all flows": 3 / 8, "second half": 1 / 2}
"""From which share of the run on; of 40 s the last flow begins at 15 s."""
STATISTICS = ("min", "max", "sd")


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run, `period` and `statistic`: `like_us` and `thesis_us`, as `delays.table`'s."""
    rows: list[dict[str, object]] = []
    for run in runs:
        _, end = steady.interval_ns(run)
        packets = (
            series.forward(run)
            .select("enqueue_ns", us=pl.col("sojourn_ns") / 1e3)
            .drop_nulls("us")
            .with_columns(like=(pl.col("us") / steady.TICK_US).floor() * steady.TICK_US)
            .collect()
        )
        for period, share in PERIODS.items():
            found = delays.statistics(packets.filter(pl.col("enqueue_ns") >= share * end)["like"])
            rows += [
                {**steady.case(run), "period": period, "statistic": name, "like_us": found[name]}
                for name in STATISTICS
            ]
    return steady.ordered(rows).join(
        delays.thesis(), on=[*delays.KEYS, "statistic"], how="left", maintain_order="left"
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Each statistic by experiment, with each period and as the thesis has it."""
    shown = delays.beside_thesis(table, "period")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("case", "us", color="period", shape="period"))
        + p9.facet_grid("statistic", "marking", scales="free_y")
        + p9.geom_point(size=1.6)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y="Queueing delay (us)", color="", shape="")
    )
    return drawn


def agreeing(table: pl.DataFrame, period: str, statistic: str, within: float) -> float | None:
    """The share of a statistic's values of a period that are `within` or less away from the
    thesis's: see `delays.agreeing`."""
    return delays.agreeing(table.filter(period=period), within, statistic=statistic)


METRICS = (agreeing,)
