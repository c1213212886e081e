"""Why Fig. 18's order differs: how often CoDel marks one overshoot, by its interval."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import completion, fig18
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 18's table for each interval of CoDel; PIE, which has none, is in all of them."""
    pie = [run for run in runs if run.axes["experiment"] == "fig18-pie"]
    codel = [run for run in runs if run.axes["experiment"] == "fig18-codel"]
    return pl.concat(
        fig18.table(
            [*pie, *(run for run in codel if run.axes["interval"] == interval)]
        ).with_columns(interval_ms=pl.lit(units.parse_time(interval) / 1e6))
        for interval in sorted({str(run.axes["interval"]) for run in codel})
    ).sort("interval_ms", "queue", "rtt_ms", "beta_ecn")


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against the RTT with the largest beta_ecn, a line per interval, a panel per AQM."""
    shown = table.filter(pl.col("beta_ecn") == pl.col("beta_ecn").max()).with_columns(
        interval=pl.format("{} ms", pl.col("interval_ms").cast(pl.Int64))
    )
    return completion.drawn(
        shown,
        "rtt_ms",
        "interval",
        x_name="Base RTT (ms)",
        line_name="CoDel's interval",
        bar_width=8,
    )


def better_pie(table: pl.DataFrame, interval_ms: float) -> Extreme | None:
    """The gain with PIE less that with CoDel, in percent; the least over the RTTs of the means."""
    return fig18.better_pie(table.filter(pl.col("interval_ms") == interval_ms))


METRICS = (better_pie,)
