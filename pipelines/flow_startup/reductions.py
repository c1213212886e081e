"""Section 2.4: by how much ABE, CUBIC and DCTCP reduce their window."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per congestion control and reduction: its `number`, and `factor`, the new slow-start
    threshold over the window before."""
    return pl.concat([_factors(run) for run in runs]).sort("control", "number")


def _factors(run: series.Run) -> pl.DataFrame:
    # a row has the state before its ACK: the threshold that an ACK sets is in the row after it
    threshold = pl.col("ssthresh_packets").cast(pl.Int64)
    return (
        run.records("acks")
        .sort("time_ns")
        .select("cwnd_packets", before=threshold, after=threshold.shift(-1))
        .filter(pl.col("after").is_not_null() & pl.col("after").ne_missing(pl.col("before")))
        .collect()
        .select(
            pl.lit(str(run.axes["control"])).alias("control"),
            number=pl.int_range(1, pl.len() + 1),
            factor=pl.col("after") / pl.col("cwnd_packets"),
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Every reduction's factor."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("control", "factor", color="control", shape="control"))
        + p9.geom_hline(yintercept=0.5, linetype="dotted", color="#666666")
        + p9.geom_jitter(width=0.25, height=0, size=1.2, alpha=0.5, random_state=1)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="Window after over before", color="", shape="")
    )
    return drawn
