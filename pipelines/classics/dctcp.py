"""DCTCP: throughput and queue of two long flows to one receiver."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import series, style

SINCE_NS = 10**9
"""Both flows have long begun."""
FRAME_BYTES = 1514
SHOWN = {"p5_packets": "5 %", "median_packets": "median", "p95_packets": "95 %"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """A row per run: `sender`, `k` (null for NewReno), `gbit` of both flows' goodput, and of the
    queue `mean_packets`, `median_packets`, `p5_packets` and `p95_packets`."""
    rows = []
    for run in runs:
        queue = series.queue_samples(run).filter(pl.col("time_ns") >= SINCE_NS)
        packets = queue["backlog_bytes"] / FRAME_BYTES
        marks = "k" in run.axes
        rows.append(
            {
                "sender": "DCTCP" if marks else "NewReno",
                "k": int(run.axes["k"]) if marks else None,
                "gbit": sum(run.field(f"flows.{n}.goodput_mbit") for n in (0, 1)) / 1000,
                "mean_packets": packets.mean(),
                "median_packets": packets.median(),
                "p5_packets": packets.quantile(0.05),
                "p95_packets": packets.quantile(0.95),
            }
        )
    return pl.DataFrame(rows, schema_overrides={"k": pl.Int64}).sort("k", nulls_last=True)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Percentiles of the queue for each K, and for NewReno."""
    labels = (
        pl.when(pl.col("k").is_null())
        .then(pl.lit("NewReno"))
        .otherwise(pl.format("DCTCP, K = {}", "k"))
    )
    named = table.with_columns(what=labels)
    order = list(dict.fromkeys(named["what"]))
    shown = ensemble.measure_means(named, SHOWN, ["what"]).with_columns(
        pl.col("what").cast(pl.Enum(order))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("what", "value", color="measure", shape="measure"))
        + p9.geom_point(size=3)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="queue (packets)", color="", shape="")
    )
    return drawn
