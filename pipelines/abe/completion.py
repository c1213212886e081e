"""Figs. 16 and 18: how much sooner short flows complete with a larger beta_ecn."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, least
from sandglass.results import series, style

DEFAULT = 50  # stated (captions): the beta_ecn compared with, in percent

BLOCKS = 10
"""Replicas of a run: its seeds are as many simulations, and what is judged is of means over many of
them (stated: 1000, Section IV-D). Each replica is the mean over a tenth."""


def completion_table(
    runs: Sequence[series.Run], axis: str, parse: pl.Expr, queues: dict[str, str]
) -> pl.DataFrame:
    """One row per replica, queue, value of `axis` and beta_ecn: mean FCT over its seeds, and the
    gain.

    `gain_percent` is by how much the mean FCT is below that with the default beta_ecn.
    """
    rows = []
    for run in runs:
        flows = run.records("flows").select("seed", "fct_s").collect()
        rows.append(
            flows.with_columns(
                block(pl.col("seed")).alias(ensemble.REPLICA),
                queue=pl.lit(queues[str(run.axes["experiment"])]),
                beta_ecn=pl.lit(run.axes["beta_ecn"], pl.Int64),
                **{axis: pl.lit(run.axes[axis])},
            )
        )
    every = pl.concat(rows)
    usual = every.filter(pl.col("beta_ecn") == DEFAULT)
    paired = every.join(
        usual.select("queue", axis, "seed", usual_s="fct_s"), on=["queue", axis, "seed"]
    )
    point = ["queue", axis, "beta_ecn"]
    return (
        paired.group_by(*point, ensemble.REPLICA)
        .agg(
            flows=pl.len(),
            fct_s=pl.col("fct_s").mean(),
            gain_percent=(1 - pl.col("fct_s").mean() / pl.col("usual_s").mean()) * 100,
        )
        .select(
            "queue",
            parse.alias(axis),
            settings.hundredths(pl.col("beta_ecn")),
            "flows",
            "fct_s",
            "gain_percent",
            ensemble.REPLICA,
        )
        .sort(*point, ensemble.REPLICA)
    )


def block(seed: pl.Expr) -> pl.Expr:
    """Which replica a run's seed is of, from 1; fewer seeds than BLOCKS are one each."""
    place = seed.rank("dense").cast(pl.Int64) - 1
    return place * BLOCKS // seed.n_unique() + 1


def block_means(run: series.Run, column: str) -> pl.DataFrame:
    """A column of the flows, the mean of each block of a run's seeds: `replica` and it."""
    return (
        run.records("flows")
        .select("seed", column)
        .collect()
        .group_by(block(pl.col("seed")).alias(ensemble.REPLICA), maintain_order=True)
        .agg(pl.col(column).mean())
    )


def drawn(
    table: pl.DataFrame, x: str, line: str, *, x_name: str, line_name: str, bar_width: float
) -> p9.ggplot:
    """Gain against the column `x`, a line per value of the column `line`, a panel per AQM.

    Bars are 95 % intervals.
    """
    shown = ensemble.means(table, ["queue", x, line], "gain_percent")
    figure: p9.ggplot = (
        p9.ggplot(shown, p9.aes(x, "gain_percent", color=line, shape=line, linetype=line))
        + p9.facet_wrap("queue")
        + p9.geom_hline(yintercept=0, linetype="dotted", color="#666666")
        + p9.geom_errorbar(
            p9.aes(ymin="low", ymax="high"),
            shown.drop_nulls("low"),
            width=bar_width,
            linetype="solid",
        )
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(
            x=x_name,
            y="Reduction of FCT (%)",
            color=line_name,
            shape=line_name,
            linetype=line_name,
        )
    )
    return figure


def least_gain(table: pl.DataFrame, axis: str, queue: str) -> Extreme | None:
    """The least gain of all larger beta_ecn at all values of `axis`, in percent."""
    chosen = _larger(table).filter(pl.col("queue") == queue)
    return least(chosen.select(axis, "beta_ecn", "gain_percent"), "gain_percent")


def least_mean_gain(table: pl.DataFrame, axis: str, queue: str, above: float) -> Extreme | None:
    """The least gain at values of `axis` above a bound, in percent, each the mean of beta_ecn."""
    chosen = _larger(table).filter((pl.col("queue") == queue) & (pl.col(axis) > above))
    return least(chosen.group_by(axis).agg(pl.col("gain_percent").mean()), "gain_percent")


def largest_effect(table: pl.DataFrame, axis: str, below: float) -> Extreme | None:
    """The largest gain or loss at values of `axis` below a bound, in percent."""
    chosen = _larger(table).filter(pl.col(axis) < below)
    return farthest(chosen.select("queue", axis, "beta_ecn", "gain_percent"), "gain_percent")


def _larger(table: pl.DataFrame) -> pl.DataFrame:
    """Without the default beta_ecn."""
    return table.filter(pl.col("beta_ecn") > DEFAULT / 100)
