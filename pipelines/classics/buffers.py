"""Sizing Router Buffers: utilisation against the buffer, as a multiple of RTT x C / sqrt(n)."""

from collections.abc import Sequence
from pathlib import Path

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import series, style

SINCE_S = 20
"""All flows have begun, and slow start is over."""
PUBLISHED = Path(__file__).with_name("buffers.csv")
"""Fig. 15: utilisation in per cent, of the model, of ns-2, and of the router."""
SOURCES = {"ours": "our lab", "router": "router, 2004", "simulated": "ns-2, 2004"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """A row per run: `flows`, `packets` of buffer, `ours`, the share of the link that was used in
    per cent, and of the publication `rule`, the buffer over RTT x C / sqrt(n), `model`, `simulated`
    and `router`."""
    rows = [
        {
            "flows": int(run.axes["flows"]),
            "packets": int(run.axes["packets"]),
            "ours": _utilisation(run),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).join(
        pl.read_csv(PUBLISHED), on=["flows", "packets"], how="left", maintain_order="left"
    )


def _utilisation(run: series.Run) -> float:
    own = series.queue_samples(run).filter(pl.col("time_ns") >= SINCE_S * 10**9)
    first, last = own.row(0, named=True), own.row(-1, named=True)
    seconds = (last["time_ns"] - first["time_ns"]) / 1e9
    bits = 8 * (last["sent_bytes"] - first["sent_bytes"])
    return float(100 * bits / seconds / run.rate_bps("experiment.bottleneck.rate"))


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A panel for each number of flows, a line for each source."""
    shown = ensemble.measure_means(table, SOURCES, ["flows", "rule"])
    named = shown.with_columns(
        panel=pl.format("{} flows", "flows").cast(
            style.in_order(f"{flows} flows" for flows in table["flows"])
        )
    )
    drawn: p9.ggplot = (
        p9.ggplot(named, p9.aes("rule", "value", color="measure", shape="measure"))
        + p9.facet_wrap("panel")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="buffer / (RTT x C / sqrt(n))", y="utilisation (%)", color="", shape="")
    )
    return drawn
