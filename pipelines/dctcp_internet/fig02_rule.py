"""Fig. 2 by the rule of Fig. 10, whose Min_Thresh_Reno the paper does not say for Fig. 2."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_point, geom_pointrange, ggplot, labs

from pipelines.dctcp_internet import fig02, sharing
from sandglass.papers import ensemble
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_Reno (`minimum`, BDP): Reno's mean window over DCTCP's, `ratio`."""
    rows = [
        {
            "minimum": sharing.setting(run, "drop_min"),
            "ratio": fig02.window_ratio(fig02.table([run])),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("minimum")


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio against Min_Thresh_Reno, of replicas the mean with its interval."""
    shown = ensemble.means(table, ["minimum"], "ratio")
    drawn: ggplot = (
        ggplot(shown, aes("minimum", "ratio"))
        + geom_hline(yintercept=1, linetype="dotted")
        + (
            geom_point(color=style.PALETTE[0])
            if shown["low"].has_nulls()
            else geom_pointrange(aes(ymin="low", ymax="high"), color=style.PALETTE[0])
        )
        + labs(x="Min_Thresh_Reno (BDP)", y="Mean window, Reno / DCTCP")
    )
    return drawn
