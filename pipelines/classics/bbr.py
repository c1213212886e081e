"""BBR: goodput of one flow against the share of packets that the link loses."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import series, style

PAYLOAD_SHARE = 1448 / 1514
"""Of a full frame of Ethernet."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """A row per run: `cc`, `loss_percent`, `goodput_mbit`, `link_mbit`, what the link carries of
    payload, and `limit_mbit`, what of it arrives."""
    rows = []
    for run in runs:
        loss = float(str(run.axes["loss"]).removesuffix("%")) / 100
        link = run.rate_bps("experiment.bottleneck.rate") / 1e6 * PAYLOAD_SHARE
        rows.append(
            {
                "cc": str(run.axes["cc"]),
                "loss_percent": round(100 * loss, 6),
                "goodput_mbit": run.field("flows.0.goodput_mbit"),
                "link_mbit": link,
                "limit_mbit": link * (1 - loss),
            }
        )
    return pl.DataFrame(rows)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A line for each congestion control, and the limit."""
    shown = ensemble.means(table, ["cc", "loss_percent"], "goodput_mbit")
    limit = table.select("loss_percent", "limit_mbit").unique().sort("loss_percent")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("loss_percent", "goodput_mbit", color="cc", shape="cc"))
        + p9.geom_line(
            p9.aes("loss_percent", "limit_mbit"),
            limit,
            inherit_aes=False,
            linetype="dashed",
            color="#888888",
        )
        + ensemble.band(shown, "cc")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE, guide=None)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="loss (%)", y="goodput (Mb/s)", color="", shape="")
    )
    return drawn
