"""Why Fig. 10 differs through CoDel: what beta_ecn adds on one path, and on those near it."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings, sojourn
from sandglass.results import series, style

SHOWN = (50, 90)  # stated (IV-B): "median/90th percentile"


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per RTT, beta but CUBIC's own, and percentile: what it adds to the delay, ms."""
    delays = sojourn.table(runs).filter(pl.col("percentile").is_in(SHOWN))
    own = pl.col("beta") == settings.DEFAULTS["CUBIC"]
    key = ["rtt_ms", "percentile"]
    return (
        delays.filter(~own)
        .join(delays.filter(own).select(*key, own_ms="delay_ms"), on=key)
        .select("rtt_ms", "beta", "percentile", added_ms=pl.col("delay_ms") - pl.col("own_ms"))
        .sort("beta", "percentile", "rtt_ms")
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What is added against the RTT, a line per percentile."""
    names = {50: "median", 90: "90th percentile"}
    shown = table.with_columns(of=pl.col("percentile").replace_strict(names))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ms", "added_ms", color="of", shape="of"))
        + p9.geom_hline(yintercept=0, linetype="dotted", color="#666666")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Base RTT (ms)", y="Added to the queueing delay (ms)", color="", shape="")
    )
    return drawn
