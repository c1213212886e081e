"""CUBIC: the goodput of a flow with a short round trip over that of one with a longer one."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """A row per run: `cc`, `rtt_ratio`, the longer round trip over the shorter, and `ratio`, the
    goodput of the flow with the shorter over that of the other."""
    rows = []
    for run in runs:
        shorter = run.time_ns("experiment.rtt")
        goodputs = [run.field(f"flows.{n}.goodput_mbit") for n in (0, 1)]
        rows.append(
            {
                "cc": str(run.axes["cc"]),
                "rtt_ratio": run.time_ns("experiment.hosts.s2.rtt") / shorter,
                "ratio": goodputs[0] / goodputs[1],
            }
        )
    return pl.DataFrame(rows)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A line for each congestion control; dashed: windows that are alike."""
    shown = ensemble.means(table, ["cc", "rtt_ratio"], "ratio")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ratio", "ratio", color="cc", shape="cc"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color="#888888")
        + ensemble.band(shown, "cc")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10(breaks=[1, 2, 4, 8])
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE, guide=None)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x="round trip, longer over shorter",
            y="goodput, shorter over longer",
            color="",
            shape="",
        )
    )
    return drawn
