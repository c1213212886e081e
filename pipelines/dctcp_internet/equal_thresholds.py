"""Fig. 7 at equal thresholds: how often both flows are signalled, and how they answer."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_col, ggplot, labs, scale_fill_manual

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

MEASURES = {"signalled": "Share of packets signalled", "reduction": "Reduction of the window"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `flow` after the warm-up: the share of its packets that was marked or dropped
    (`signalled`), the mean share that it then reduced its window by (`reduction`), and the share of
    these reductions that left half of the window, to a packet (`halved`)."""
    return pl.concat([_flows(run) for run in runs])


def _flows(run: series.Run) -> pl.DataFrame:
    names = {
        flow["id"]: "Reno" if flow["cc"] == sharing.CC_RENO else "DCTCP"
        for flow in run.field("flows")
    }
    packets = (
        series.forward(run)
        .filter(pl.col("enqueue_ns") >= sharing.WARM_UP_NS, pl.col("payload_bytes") > 0)
        .group_by("flow")
        .agg(signalled=series.SIGNALLED.mean())
        .collect()
    )
    acks = run.records("acks").filter(pl.col("time_ns") >= sharing.WARM_UP_NS).collect()
    answered = pl.DataFrame(
        [
            (flow, *_answer(reductions(own)))
            for (flow,), own in acks.group_by("flow", maintain_order=True)
        ],
        schema={"flow": pl.UInt16, "reduction": pl.Float64, "halved": pl.Float64},
        orient="row",
    )
    return (
        packets.filter(pl.col("flow").is_in(list(names)))
        .join(answered, on="flow", how="left")
        .sort("flow")
        .with_columns(pl.col("flow").replace_strict(names, return_dtype=pl.String))
    )


def _answer(found: pl.DataFrame) -> tuple[float | None, float | None]:
    """Of reductions the mean share, and how many of them left half of the window."""
    return scalar(found["share"].mean()), scalar(halves(found).mean())


def halves(found: pl.DataFrame) -> pl.Series:
    """Which reductions left half of the window, to a packet; Linux rounds down."""
    off = found["left"].cast(pl.Int64) - found["before"].cast(pl.Int64) // 2
    return off.abs() <= 1


def reductions(acks: pl.DataFrame) -> pl.DataFrame:
    """One row per time that a sender was in CWR or Recovery: the window `before` it, the `left` one
    after it began and before it grew again, and the `share` that it was reduced by.

    What is left is the slow-start threshold, which both senders set to it. CWR may begin again with
    the ACK that ends it; then only a threshold that rises tells so.
    """
    away = pl.col("ca_state").is_in(["CWR", "Recovery"])
    begins = pl.col("away") & (
        ~pl.col("away").shift(1, fill_value=True)
        | (pl.col("ssthresh_packets") > pl.col("ssthresh_packets").shift(1))
    )
    spells = (
        acks.sort("time_ns")
        .with_columns(away=away, before=pl.col("cwnd_packets").shift(1))
        .with_columns(spell=begins.fill_null(False).cum_sum())
        .filter("away", pl.col("spell") > 0)
        .group_by("spell", maintain_order=True)
        .agg(pl.col("before").first(), left=pl.col("ssthresh_packets").min())
    )
    return spells.select(
        "before", "left", share=1 - pl.min_horizontal("left", "before") / pl.col("before")
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Both measures of both flows; of replicas the mean."""
    shown = ensemble.measure_means(table, MEASURES, ["flow"])
    drawn: ggplot = (
        ggplot(shown, aes("flow", "value", fill="flow"))
        + facet_wrap("measure", scales="free_y")
        + geom_col(show_legend=False)
        + scale_fill_manual(style.PALETTE)
        + labs(x="", y="")
    )
    return drawn
