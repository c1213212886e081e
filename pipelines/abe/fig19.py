"""Fig. 19: PIE's drop or mark probability and queueing delay, without and with its 10 % rule."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

SECOND_NS = 1_000_000_000
PARTS = {"fig19a": "(a) rule off", "fig19b": "(b) rule on"}
SLOW_START_S = 10.0  # some doublings of all twenty flows, and what PIE takes to come down again


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per part, beta_ecn and second.

    `probability_percent` is the mean of PIE's drop or mark probability, `signalled_percent` the
    share of arriving packets that it marked or dropped, `delay_ms` the mean sojourn time.
    """
    return pl.concat([_over_time(run) for run in runs])


def _over_time(run: series.Run) -> pl.DataFrame:
    dropped = pl.col("drop_ns").is_not_null()
    probability = (
        run.records("queues")
        .filter((pl.col("direction") == "forward") & (pl.col("time_ns") >= 0))
        .group_by(second=pl.col("time_ns") // SECOND_NS)
        .agg(probability_percent=pl.col("prob").mean() * 100)
    )
    return (
        series.forward(run)
        .filter(pl.col("enqueue_ns") >= 0)
        .group_by(second=pl.col("enqueue_ns") // SECOND_NS)
        .agg(
            packets=pl.len(),
            marks=series.MARKED.sum(),
            drops=dropped.sum(),
            delay_ms=pl.col("sojourn_ns").mean() / 1e6,
        )
        .join(probability, on="second", how="left")
        .sort("second")
        .collect()
        .select(
            part=pl.lit(PARTS[str(run.axes["experiment"])]),
            beta_ecn=pl.lit(run.axes["beta_ecn"], pl.Int64) / 100,
            time_s=pl.col("second"),
            probability_percent="probability_percent",
            signalled_percent=(pl.col("marks") + pl.col("drops")) / pl.col("packets") * 100,
            drops_percent=pl.col("drops") / pl.col("packets") * 100,
            delay_ms="delay_ms",
        )
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Delay above, probability below, over time in means of five seconds; of replicas their mean
    with its interval."""
    kinds = {"probability_percent": "probability (%)", "delay_ms": "queueing delay (ms)"}
    point = ["part", "beta_ecn", "time_s"]
    five = (
        ensemble.numbered(table)
        .with_columns(pl.col("beta_ecn").cast(pl.String), time_s=pl.col("time_s") // 5 * 5)
        .group_by(*point, ensemble.REPLICA, maintain_order=True)
        .agg(pl.col(*kinds).mean())
    )
    long = five.unpivot(list(kinds), index=point, variable_name="what")
    long = long.with_columns(pl.col("what").replace_strict(kinds))
    shown = ensemble.means(long, [*point, "what"], "value")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("time_s", "value", color="beta_ecn"))
        + p9.facet_grid("what", "part", scales="free_y")
        + ensemble.band(shown, "beta_ecn")
        + p9.geom_line(size=0.6)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="Time (s)", y="", color="beta_ecn", fill="beta_ecn")
    )
    return drawn


def high_delay(table: pl.DataFrame, part: str) -> Extreme | None:
    """The 95th percentile of the seconds' delay after slow start, ms; the largest over beta_ecn."""
    own = _steady(table, part).group_by("beta_ecn").agg(pl.col("delay_ms").quantile(0.95))
    return largest(own, "delay_ms")


def delay_increase(table: pl.DataFrame, part: str) -> float | None:
    """Mean delay with the largest beta_ecn over that with the smallest."""
    own = _steady(table, part).group_by("beta_ecn").agg(pl.col("delay_ms").mean()).sort("beta_ecn")
    return scalar(own["delay_ms"].last() / own["delay_ms"].first())  # type: ignore[operator]


def delay_ratio(table: pl.DataFrame) -> Extreme | None:
    """Mean delay after slow start, part (b) over part (a); the least over beta_ecn."""
    late = table.filter(pl.col("time_s") >= SLOW_START_S)
    return least(_on_over_off(late, "delay_ms"), "ratio")


METRICS = (delay_ratio, high_delay, delay_increase)


def _on_over_off(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """For each beta_ecn the `ratio` of a column's mean with the rule on over that with it off."""
    means = table.group_by("part", "beta_ecn").agg(pl.col(column).mean())
    off, on = (means.filter(pl.col("part") == part) for part in PARTS.values())
    both = on.join(off, on="beta_ecn", suffix="_off")
    return both.select("beta_ecn", ratio=pl.col(column) / pl.col(f"{column}_off"))


def _steady(table: pl.DataFrame, part: str) -> pl.DataFrame:
    return table.filter((pl.col("part") == part) & (pl.col("time_s") >= SLOW_START_S))
