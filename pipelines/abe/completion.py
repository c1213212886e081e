"""Figs. 16 and 18: how much sooner short flows complete with a larger beta_ecn."""

from collections.abc import Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_errorbar,
    geom_hline,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
    scale_shape_manual,
)

from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

DEFAULT = 50  # stated (captions): the beta_ecn compared with, in percent


def completion_table(
    runs: Sequence[series.Run], axis: str, parse: pl.Expr, queues: dict[str, str]
) -> pl.DataFrame:
    """One row per queue, value of `axis` and beta_ecn: mean FCT over the seeds, and the gain.

    `gain_percent` is by how much the mean FCT is below that with the default beta_ecn, and
    `gain_error` the standard error of that mean of differences, seed by seed.
    """
    rows = []
    for run in runs:
        flows = run.records("flows").select("seed", "fct_s").collect()
        rows.append(
            flows.with_columns(
                queue=pl.lit(queues[str(run.axes["experiment"])]),
                beta_ecn=pl.lit(run.axes["beta_ecn"], pl.Int64),
                **{axis: pl.lit(run.axes[axis])},
                digest=pl.lit(run.field("digest")),
            )
        )
    every = pl.concat(rows)
    usual = every.filter(pl.col("beta_ecn") == DEFAULT)
    paired = every.join(
        usual.select("queue", axis, "seed", usual_s="fct_s"), on=["queue", axis, "seed"]
    )
    sooner = pl.col("usual_s") - pl.col("fct_s")
    return (
        paired.group_by("queue", axis, "beta_ecn", "digest")
        .agg(
            flows=pl.len(),
            fct_s=pl.col("fct_s").mean(),
            gain_percent=sooner.mean() / pl.col("usual_s").mean() * 100,
            gain_error=sooner.std() / pl.len().sqrt() / pl.col("usual_s").mean() * 100,
        )
        .select(
            "queue",
            parse.alias(axis),
            pl.col("beta_ecn") / 100,
            "flows",
            "fct_s",
            "gain_percent",
            "gain_error",
            "digest",
        )
        .sort("queue", axis, "beta_ecn")
    )


def drawn(
    table: pl.DataFrame, x: str, line: str, *, x_name: str, line_name: str, bar_width: float
) -> ggplot:
    """Gain against the column `x`, a line per value of the column `line`, a panel per AQM.

    Bars are two standard errors.
    """
    shown = table.with_columns(
        low=pl.col("gain_percent") - 2 * pl.col("gain_error"),
        high=pl.col("gain_percent") + 2 * pl.col("gain_error"),
    )
    figure: ggplot = (
        ggplot(shown, aes(x, "gain_percent", color=line, shape=line, linetype=line))
        + facet_wrap("queue")
        + geom_hline(yintercept=0, linetype="dotted", color="#666666")
        + geom_errorbar(aes(ymin="low", ymax="high"), width=bar_width, linetype="solid")
        + geom_line()
        + geom_point(size=2)
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + scale_linetype_manual(style.LINES)
        + labs(
            x=x_name,
            y="Reduction of FCT (%)",
            color=line_name,
            shape=line_name,
            linetype=line_name,
        )
    )
    return figure


def least_gain(table: pl.DataFrame, queue: str) -> float | None:
    """The least gain of all larger beta_ecn, in percent."""
    return scalar(_larger(table).filter(pl.col("queue") == queue)["gain_percent"].min())


def least_mean_gain(table: pl.DataFrame, axis: str, queue: str, above: float) -> float | None:
    """The least gain at values of `axis` above a bound, in percent, each the mean of beta_ecn."""
    chosen = _larger(table).filter((pl.col("queue") == queue) & (pl.col(axis) > above))
    return scalar(chosen.group_by(axis).agg(pl.col("gain_percent").mean())["gain_percent"].min())


def largest_effect(table: pl.DataFrame, axis: str, below: float) -> float | None:
    """The largest gain or loss at values of `axis` below a bound, in percent."""
    return scalar(_larger(table).filter(pl.col(axis) < below)["gain_percent"].abs().max())


def _larger(table: pl.DataFrame) -> pl.DataFrame:
    """Without the default beta_ecn."""
    return table.filter(pl.col("beta_ecn") > DEFAULT / 100)
