"""Sections III-C and V: senders and queues with the old meaning of ECN beside the new ones."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest
from sandglass.results import series, style

RENO, RENO_ECN, DCTCP = "Reno", "Reno with ECN", "DCTCP"
FLOWS = {
    "three": "all three",
    "reno-ecn": "both Reno",
    "legacy-red": "both with ECN",
    "legacy-codel": "both with ECN",
}
"""Whose flows an experiment has."""
LEGACY = {"red": "RED", "codel": "CoDel"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `queue`, choice of `flows` and flow (`sender`): its goodput, `mbit`."""
    return pl.concat([_flows(run) for run in runs]).sort("queue", "flows", "sender")


def _flows(run: series.Run) -> pl.DataFrame:
    names = {flow["id"]: _name(flow["cc"], flow["ecn"]) for flow in run.field("flows")}
    kind = run.field("experiment.bottleneck.queue.kind")
    return sharing.goodputs(run).select(
        pl.lit(LEGACY.get(kind) or run.axes["queue"]).alias("queue"),
        pl.lit(FLOWS[str(run.axes["experiment"])]).alias("flows"),
        pl.col("flow").replace_strict(names, return_dtype=pl.String).alias("sender"),
        "mbit",
    )


def _name(cc: str, ecn: bool) -> str:
    if cc != sharing.CC_RENO:
        return DCTCP
    return RENO_ECN if ecn else RENO


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Each sender's goodput, a panel per choice of flows; of replicas the mean."""
    shown = ensemble.means(table, ["queue", "flows", "sender"], "mbit")
    beside = p9.position_dodge(width=0.9)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("queue", "mbit", fill="sender"))
        + p9.facet_wrap("flows", scales="free_x", ncol=1)
        + p9.geom_col(position=beside)
        + p9.geom_errorbar(
            p9.aes(ymin="low", ymax="high", group="sender"),
            shown.drop_nulls("low"),
            position=beside,
            width=0.2,
        )
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="", y="Goodput (Mb/s)", fill="")
    )
    return drawn


def over(table: pl.DataFrame, flows: str, sender: str, than: str) -> Extreme | None:
    """One sender's goodput over another's, largest over the queues."""
    own = table.filter(flows=flows)
    one, other = (
        own.filter(sender=name).select("queue", pl.col("mbit").alias(column))
        for name, column in ((sender, "one"), (than, "other"))
    )
    ratios = one.join(other, on="queue").select("queue", ratio=pl.col("one") / pl.col("other"))
    return largest(ratios, "ratio")


METRICS = (over,)
