"""Why Fig. 8's PIE differs: what brings its 90th percentile below the target or does not."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import sojourn
from sandglass.papers import ensemble
from sandglass.results import series, style

SHOWN = {50: "median", 90: "90th percentile"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Fig. 8's table for each way in which it is `varied`."""
    return series.along(runs, "varied", sojourn.table)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Two percentiles for each way, of replicas the mean with its interval. Dotted: the target."""
    order = pl.Enum(table["varied"].unique(maintain_order=True).reverse())
    own = table.filter(pl.col("percentile").is_in(list(SHOWN))).with_columns(
        pl.col("varied").cast(order), kind=pl.col("percentile").replace_strict(SHOWN)
    )
    shown = ensemble.means(own, ["varied", "kind"], "delay_ms")
    one = shown["low"].has_nulls()
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("varied", "delay_ms", color="kind", shape="kind"))
        + p9.geom_hline(yintercept=sojourn.TARGET_MS["PIE"], linetype="dotted", color="#666666")
        + (p9.geom_point(size=2) if one else p9.geom_pointrange(p9.aes(ymin="low", ymax="high")))
        + p9.coord_flip()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Queueing delay (ms)", color="", shape="")
    )
    return drawn
