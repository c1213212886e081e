"""Why class L's median is above 0.3 ms: packets that leave in pairs."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dualq import capture, mixed
from sandglass.experiment import units
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per way to send (`bursts`) and `rtt_c_ms`: class L's median delay, `p50_ms`."""
    rows = [
        {
            "bursts": str(run.axes["bursts"]),
            "rtt_c_ms": units.parse_time(str(run.axes["rtt_c"])) / 1e6,
            "p50_ms": capture.statistics(run, mixed.LEAD_IN_S)["qdelay_l_p50_ms"],
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("bursts", "rtt_c_ms")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The median against class C's round trip, a line per way to send; dotted: 0.3 ms."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("rtt_c_ms", "p50_ms", color="bursts"))
        + p9.geom_hline(yintercept=0.3, linetype="dotted")
        + p9.geom_line()
        + p9.geom_point()
        + p9.scale_x_log10(breaks=[5, 10, 20, 50, 100])
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Round trip of class C (ms)", y="L: median delay (ms)", color="Prague sends")
    )
    return drawn
