"""The problem: windows and queueing delay of plain AIMD up to 10 Gb/s."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import steady
from sandglass.results import series, style

FRAMING = 18
"""Stated by the slides' "Min W_s": a frame is MTU + 18 bytes."""
PANELS = {"window": "Congestion window (segments)", "delay_us": "Queueing delay (us)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `mtu`, `rate_gbit`, `window` and `delay_us`, means of the second half, and
    `fair_window`, the segments of each flow at the target delay."""
    rows = []
    for run in runs:
        mtu = run.field("experiment.hosts.s1.mtu")
        rate = steady.rate_bps(run)
        rtt_s = (steady.base_rtt_us(run) + steady.target_us(run)) / 1e6
        delay_ns = steady.packets(run).select(pl.col("sojourn_ns").mean()).collect().item()
        window = steady.acks(run).select(pl.col("cwnd_packets").mean()).collect().item()
        rows.append(
            {
                "mtu": mtu,
                "rate_gbit": rate / 1e9,
                "window": window,
                "delay_us": delay_ns / 1e3,
                "target_us": steady.target_us(run),
                "fair_window": rate * rtt_s / 8 / steady.flows(run) / (mtu + FRAMING),
            }
        )
    return pl.DataFrame(rows).sort("mtu", "rate_gbit")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Window and delay against the rate; dotted the fair window and the target."""
    names = table.with_columns(mtu=pl.format("MTU {}", "mtu"))
    measured = names.unpivot(list(PANELS), index=["mtu", "rate_gbit"])
    wanted = names.select("mtu", "rate_gbit", window="fair_window", delay_us="target_us").unpivot(
        list(PANELS), index=["mtu", "rate_gbit"]
    )
    shown, dotted = (
        frame.with_columns(panel=pl.col("variable").replace_strict(PANELS))
        for frame in (measured, wanted)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rate_gbit", "value", color="mtu", shape="mtu"))
        + p9.facet_wrap("panel", scales="free_y")
        + p9.geom_line(data=dotted, linetype="dotted")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Rate (Gb/s)", y="", color="", shape="")
    )
    return drawn
