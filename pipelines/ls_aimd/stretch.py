"""Stretch ACKs: receivers that delay ACKs beside those that answer each segment."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import segments, steady
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series, style

DELAYED = "delayed"
PANELS = {"per_ack": "Segments per ACK", "delay_us": "Queueing delay (us)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run and kind of `acks`, of the second half: `per_ack`, segments that an ACK
    acknowledges in the mean; `per_ack_else`, that of ACKs whose last segment lies at no change of
    marks, the only ones that DCTCP's receivers may delay; `late_us`, the 99th percentile of how
    long after a segment's arrival the ACK left that acknowledges it last; `delay_us`, the mean
    queueing delay."""
    rows: list[dict[str, object]] = []
    for run in runs:
        waits = steady.packets(run).select(pl.col("sojourn_ns").mean()).collect().item()
        rows.append(
            {
                **steady.case(run),
                "acks": str(run.axes["acks"]),
                **answers(run),
                "delay_us": waits / 1e3,
            }
        )
    return steady.ordered(rows)


def answers(run: series.Run) -> dict[str, float]:
    """A receiver's `per_ack`, `per_ack_else` and `late_us`, as `table` has them."""
    new = (pl.col("new_bytes_acked") - pl.col("bytes_acked")) / pl.col("payload_bytes")
    found = segments.acknowledged(run).select(
        per_ack=new.mean(),
        per_ack_else=new.filter(~pl.col("at_change")).mean(),
        late_us=pl.col("late_ns").quantile(0.99) / 1e3,
    )
    return found.row(0, named=True)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Segments per ACK and delay by experiment and sender, a column per marking."""
    sender = pl.col("sender").cast(pl.String).str.strip_prefix("LS-AIMD, ")
    shown = (
        steady.labelled(table)
        .with_columns(name=pl.format("{}\n{}", pl.col("case").cast(pl.String), sender))
        .unpivot(list(PANELS), index=["name", "marking", "acks"])
        .with_columns(panel=pl.col("variable").replace_strict(PANELS))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("name", "value", color="acks", shape="acks"))
        + p9.facet_grid("panel", "marking", scales="free_y")
        + p9.geom_point(size=1.8, position=p9.position_dodge(width=0.5))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="", y="", color="ACKs", shape="ACKs")
    )
    return drawn


KEYS = ["case", "marking", "sender"]


def delay_over_each(table: pl.DataFrame, sender: str) -> Extreme | None:
    """The delay with delayed ACKs over that where each segment is answered, the largest over
    experiments of a sender."""
    own = table.filter(sender=sender)
    delayed, each = own.filter(acks=DELAYED), own.filter(pl.col("acks") != DELAYED)
    both = delayed.join(each, on=KEYS, suffix="_each", maintain_order="left")
    return largest(both.select(*KEYS, over=pl.col("delay_us") / pl.col("delay_us_each")), "over")


METRICS = (delay_over_each,)
