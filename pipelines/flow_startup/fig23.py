"""Fig. 2.3: how slow start grows, with and without delayed ACKs and byte counting."""

import math
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

VARIANTS = {
    (True, "reno_acks"): "(b) delayed ACKs",
    (False, "reno"): "(a) an ACK for each packet",
    (True, "reno"): "(c) delayed ACKs, bytes counted",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per variant and round trip: `packets` sent in it, `growth` over the one before."""
    rows = []
    for run in runs:
        receiver = run.field("experiment.hosts.d1.delayed_ack")
        variant = VARIANTS[receiver, run.field("experiment.flows.0.cc")]
        counts = transients.rounds(run).group_by("round").agg(packets=pl.len()).sort("round")
        rows.append(
            counts.head(-1).select(  # the last one may be cut short
                pl.lit(variant).alias("variant"),
                "round",
                "packets",
                growth=pl.col("packets") / pl.col("packets").shift(1),
            )
        )
    return pl.concat(rows).sort("variant", "round")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Packets per round trip, on a logarithmic scale: an exponential is a straight line."""
    drawn: p9.ggplot = (
        p9.ggplot(
            table, p9.aes("round", "packets", color="variant", shape="variant", linetype="variant")
        )
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Round trip", y="Packets sent", color="", shape="", linetype="")
    )
    return drawn


def mean_growth(table: pl.DataFrame, variant: str, round_from: int) -> float | None:
    """The geometric mean of the growth from one round trip to the next."""
    chosen = table.filter((pl.col("variant") == variant) & (pl.col("round") >= round_from))
    logarithm = scalar(chosen["growth"].log().mean())
    return None if logarithm is None else math.exp(logarithm)


def last_over_earlier(table: pl.DataFrame, variant: str) -> float | None:
    """The packets of the last round trip over those of all before it."""
    packets = table.filter(pl.col("variant") == variant).sort("round")["packets"]
    return packets[-1] / packets.head(-1).sum() if len(packets) > 1 else None


METRICS = (mean_growth, last_over_earlier)
