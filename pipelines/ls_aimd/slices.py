"""Smaller packets where a window is below two segments, beside LS-AIMD with full ones."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import steady
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

PANELS = {
    "delay": "Queueing delay / target",
    "headers": "Headers, share of the bytes",
    "packets_per_s": "Packets per second",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `sender` and `mtu`, of the second half: `delay`, the mean queueing delay over the
    target; `headers`, their share of the bytes that left the queue; `packets_per_s`."""
    rows: list[dict[str, object]] = []
    for run in runs:
        left = steady.packets(run).filter(pl.col("sojourn_ns").is_not_null())
        delay_ns, size, payload, count = (
            left.select(
                pl.col("sojourn_ns").mean(),
                pl.col("size_bytes").sum().cast(pl.Int64),
                pl.col("payload_bytes").sum().cast(pl.Int64),
                pl.len(),
            )
            .collect()
            .row(0)
        )
        rows.append(
            {
                "sender": steady.case(run)["sender"],
                "mtu": run.field("experiment.hosts.s1.mtu"),
                "delay": delay_ns / 1e3 / steady.target_us(run),
                "headers": 1 - payload / size,
                "packets_per_s": count / steady.seconds(run),
            }
        )
    return pl.DataFrame(rows).sort("sender", "mtu")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Delay, headers and packets against the packets' size."""
    keys = ["sender", "mtu"]
    means = table.group_by(keys, maintain_order=True).agg(pl.col(*PANELS).mean())
    shown = ensemble.measures(means, PANELS, keys)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("mtu", "value", color="sender"))
        + p9.facet_wrap("measure", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="MTU (bytes)", y="", color="")
    )
    return drawn


def _largest_at_target(table: pl.DataFrame, within: float) -> pl.DataFrame:
    """AIMD's largest packets with which the delay is no more than `within` above the target."""
    near = table.filter((pl.col("sender") == "AIMD") & (pl.col("delay") <= 1 + within))
    return near.sort("mtu").tail(1)


def headers(table: pl.DataFrame, within: float) -> float | None:
    """The headers' share with AIMD's largest packets that bring the delay to the target."""
    return scalar(_largest_at_target(table, within)["headers"].max())


def headers_over(table: pl.DataFrame, within: float) -> float | None:
    """That share over LS-AIMD's with full packets."""
    return _over(table, within, "headers")


def packets_over(table: pl.DataFrame, within: float) -> float | None:
    """Packets per second with AIMD's largest packets that bring the delay to the target, over
    LS-AIMD's with full packets."""
    return _over(table, within, "packets_per_s")


def _over(table: pl.DataFrame, within: float, column: str) -> float | None:
    naive = scalar(_largest_at_target(table, within)[column].max())
    scalable = scalar(table.filter(pl.col("sender") != "AIMD").sort("mtu").tail(1)[column].max())
    return None if naive is None or scalable is None else naive / scalable


def delay(table: pl.DataFrame, sender: str, mtu: int) -> float | None:
    """The delay over the target of a sender with one size of packets."""
    return scalar(table.filter(sender=sender, mtu=mtu)["delay"].max())


METRICS = (headers, headers_over, packets_over, delay)
