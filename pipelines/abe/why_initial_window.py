"""Why Fig. 6 differs: where slow start ends depends on the window that it begins with."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import fig06, settings
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run.

    `back_offs`: how many in a row end slow start; `left_bdp`: the window that they leave, over the
    bandwidth-delay product.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("rtt_ms", "beta", "initial_window")


def _row(run: series.Run) -> dict[str, float | None]:
    rtt_ms, beta = settings.rtt_ns(run) / 1e6, settings.beta_ecn(run)
    own = fig06.table([run])
    return {
        "rtt_ms": rtt_ms,
        "beta": beta,
        "initial_window": run.field("experiment.hosts.s1.initcwnd"),
        "back_offs": fig06.back_offs_in_a_row(own, beta),
        "left_bdp": fig06.window_after(own, rtt_ms, beta),
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Two panels: the back-offs with 0.9, and the window left with 0.5."""
    names = {
        "back_offs": "beta_ecn 0.9: back-offs in a row",
        "left_bdp": "beta_ecn 0.5: window left (BDP)",
    }
    shown = pl.concat(
        table.filter(pl.col("beta") == beta).select(
            "initial_window",
            value=pl.col(column),
            panel=pl.lit(names[column]),
            path=pl.format("{} ms", pl.col("rtt_ms").cast(pl.Int64)),
        )
        for column, beta in (("back_offs", 0.9), ("left_bdp", 0.5))
    )
    named = dict.fromkeys(("color", "shape", "linetype"), "RTT")
    drawn: p9.ggplot = (
        p9.ggplot(
            shown, p9.aes("initial_window", "value", color="path", shape="path", linetype="path")
        )
        + p9.facet_wrap("panel", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Initial window (packets)", y="", **named)
    )
    return drawn
