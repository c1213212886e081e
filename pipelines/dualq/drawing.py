"""Ours as lines, the published values as rings, against the round trip of class C."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.dualq import mixed
from sandglass.results import style

Table = pl.DataFrame
Plot = p9.ggplot
NAMES = {
    "rate_ratio_l_c": "L over C",
    "qdelay_l_mean_ms": "L, mean",
    "qdelay_l_p99_ms": "L, p99",
    "qdelay_c_mean_ms": "C, mean",
    "qdelay_c_p99_ms": "C, p99",
}


def against_rtt(table: Table, quantities: Sequence[str], unit: str, *, log: bool) -> Plot:
    """A panel per AQM and round trip of class L."""
    shown = table.filter(
        pl.col("quantity").is_in(quantities), pl.col("sender_c") != mixed.ALONE
    ).with_columns(
        aqm=pl.col("aqm").replace_strict(mixed.AQMS, return_dtype=pl.Enum([*mixed.AQMS.values()])),
        what=pl.col("quantity").replace_strict(
            {name: NAMES[name] for name in quantities},
            return_dtype=pl.Enum([NAMES[name] for name in quantities]),
        ),
        rtt_l=pl.format("L: {} ms", "rtt_l_ms"),
        sender_c=pl.col("sender_c").replace({"cubic": "CUBIC", "reno": "Reno"}),
    )
    lines = p9.aes("rtt_c_ms", "ours", color="what", linetype="sender_c")
    drawn: p9.ggplot = (
        p9.ggplot(shown, lines)
        + p9.facet_grid("rtt_l", "aqm")
        + p9.geom_line()
        + p9.geom_point(p9.aes(y="published"), shape="o", fill="none", size=2, na_rm=True)
        + p9.scale_x_log10(breaks=[5, 10, 20, 50, 100])
        + (p9.scale_y_log10() if log else p9.scale_y_continuous())
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Round trip of class C (ms)", y=unit, color="", linetype="class C")
    )
    return drawn
