"""Fig. 19 with many short flows: how long they take without PIE's 10 % rule and with it."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series, style

CASE = ["rule", "beta_ecn", "size_kb"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `rule` (on, off), beta_ecn and size of the short flows.

    `fct_s` is the mean completion time of the `flows` that ended.
    """
    return (
        pl.concat([_short(run) for run in runs])
        .group_by(CASE)
        .agg(flows=pl.col("fct_s").count(), fct_s=pl.col("fct_s").mean())
        .sort(CASE)
    )


def _short(run: series.Run) -> pl.DataFrame:
    short = [
        (units.parse_size(entry["size"]) / 1e3, flow["fct_s"])
        for flow, entry in zip(
            run.field("flows")[-len(run.field("experiment.flows")) + 1 :],
            run.field("experiment.flows")[1:],
            strict=True,
        )
    ]
    schema = {"size_kb": pl.Float64, "fct_s": pl.Float64}
    return pl.DataFrame(short, schema=schema, orient="row").with_columns(
        rule=pl.lit(str(run.axes["rule"])), beta_ecn=pl.lit(run.axes["beta_ecn"], pl.Int64) / 100
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Completion time against beta_ecn, a panel per size; of replicas the mean with its
    interval."""
    sizes = [f"{size:.0f} kB" for size in table["size_kb"].unique().sort()]
    shown = ensemble.means(table, CASE, "fct_s").with_columns(
        size=pl.format("{} kB", pl.col("size_kb").cast(pl.Int64)).cast(pl.Enum(sizes))
    )
    beside = p9.position_dodge(width=0.03)
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("beta_ecn", "fct_s", color="rule", shape="rule"))
        + p9.facet_wrap("size", scales="free_y")
        + p9.geom_line(position=beside)
        + p9.geom_errorbar(
            p9.aes(ymin="low", ymax="high"), shown.drop_nulls("low"), width=0.03, position=beside
        )
        + p9.geom_point(size=2, position=beside)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="beta_ecn", y="Completion time (s)", color="10 % rule", shape="10 % rule")
    )
    return drawn
