"""Appendix B, footnote 4: what PIE's 10 % rule does to ABE flows and to short flows."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.results import series, style

GROUPS = {"s1": "ABE", "s2": "beta_ecn 0.5", "s3": "short"}
"""By the host that sends: long flows with beta_ecn 0.9, long ones with 0.5, short ones with 0.9."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per flow, rule (on or off) and group: `goodput_mbit` and, of short flows, `fct_s`."""
    rows = [
        {
            "rule": str(run.axes["rule"]),
            "group": GROUPS[flow["from"]],
            "flow": int(flow["id"]),
            "bytes": int(flow["bytes"]),
            "goodput_mbit": float(flow["goodput_mbit"]),
            "fct_s": flow["fct_s"],
        }
        for run in runs
        for flow in run.field("flows")
    ]
    return pl.DataFrame(rows, infer_schema_length=None).sort("rule", "flow")


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The goodput of each flow, with the rule off and on, a panel per group."""
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("rule", "goodput_mbit", color="rule", shape="rule"))
        + p9.facet_wrap("group")
        + p9.geom_jitter(width=0.2, height=0, alpha=0.4, random_state=1)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="PIE's 10 % rule", y="Goodput of a flow (Mb/s)", color="rule", shape="rule")
    )
    return drawn
