"""Sections I and IV-B: how low delay and thresholds may be, by the share of DCTCP flows."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_fill_manual,
    scale_shape_manual,
    scale_x_log10,
)

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

MEASURES = {"utilisation": "Utilisation", "p95_ms": "95th percentile of the delay (ms)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `share` of DCTCP flows (percent) and Min_Thresh_Reno (`minimum`, BDP): how the
    flows share, and the 95th percentile of the queueing delay, `p95_ms`."""
    rows = []
    for run in runs:
        dctcp = sharing.goodputs(run)["reno"].not_()
        rows.append(
            {
                "share": 100 * int(dctcp.sum()) // dctcp.len(),
                "minimum": sharing.setting(run, "drop_min"),
            }
            | sharing.steady(run)
            | {"p95_ms": sharing.delay_ms(run, 0.95)}
        )
    return pl.DataFrame(rows).sort("share", "minimum")


def plot(table: pl.DataFrame) -> ggplot:
    """Utilisation and delay against Min_Thresh_Reno, a line per share; of replicas the mean."""
    named = table.with_columns(
        dctcp=pl.format("{} %", "share").cast(
            pl.Enum([f"{share} %" for share in table["share"].unique().sort()])
        )
    )
    shown = ensemble.means(
        sharing.long(named, ["dctcp", "minimum"], MEASURES),
        ["dctcp", "minimum", "measure"],
        "value",
    )
    drawn: ggplot = (
        ggplot(shown, aes("minimum", "value", color="dctcp", shape="dctcp"))
        + facet_wrap("measure", scales="free_y")
        + ensemble.band(shown, "dctcp")
        + geom_line()
        + geom_point()
        + scale_x_log10()
        + scale_color_manual(style.PALETTE)
        + scale_fill_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(x="Min_Thresh_Reno (BDP)", y="", color="DCTCP", shape="DCTCP", fill="DCTCP")
    )
    return drawn


def least_over(
    table: pl.DataFrame, measure: str, used: float, share: int, than: int
) -> float | None:
    """The least of a measure among the settings that use the link so much, with one share of DCTCP
    flows over that with another."""
    found = dict(_least(table, measure, used).iter_rows())
    one, other = found.get(share), found.get(than)
    return one / other if one is not None and other else None


def falls(table: pl.DataFrame, measure: str, used: float) -> float | None:
    """Spearman's correlation of that least value with the share of DCTCP flows."""
    found = _least(table, measure, used)
    if found.height < table["share"].n_unique():
        return None
    return scalar(found.select(pl.corr("share", "least", method="spearman")).item())


METRICS = (least_over, falls)


def _least(table: pl.DataFrame, measure: str, used: float) -> pl.DataFrame:
    """`share` and the `least` of a measure among its settings with such a utilisation."""
    enough = table.filter(pl.col("utilisation") >= used)
    return enough.group_by("share").agg(least=pl.col(measure).min()).sort("share")
