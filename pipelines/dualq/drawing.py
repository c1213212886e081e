"""Ours as lines, the published values as rings, against the round trip of class C."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
    scale_x_log10,
    scale_y_continuous,
    scale_y_log10,
)

from pipelines.dualq import mixed
from sandglass.results import style

Table = pl.DataFrame
Plot = ggplot
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
    lines = aes("rtt_c_ms", "ours", color="what", linetype="sender_c")
    drawn: ggplot = (
        ggplot(shown, lines)
        + facet_grid("rtt_l", "aqm")
        + geom_line()
        + geom_point(aes(y="published"), shape="o", fill="none", size=2, na_rm=True)
        + scale_x_log10(breaks=[5, 10, 20, 50, 100])
        + (scale_y_log10() if log else scale_y_continuous())
        + scale_color_manual(style.PALETTE)
        + scale_linetype_manual(style.LINES)
        + labs(x="Round trip of class C (ms)", y=unit, color="", linetype="class C")
    )
    return drawn
