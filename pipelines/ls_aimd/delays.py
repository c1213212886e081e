"""The table of queueing delays, ours beside the thesis's."""

from collections.abc import Sequence
from pathlib import Path

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

KEYS = ["case", "marking", "sender"]
STATISTICS = ("min", "max", "mean", "sd", "p95", "p99")
SINGLE = ("min", "max", "p95", "p99")
"""Those that are one packet's wait, and so a multiple of the recorder's resolution."""
PINNED = ("4E", "4F", "4G", "4H")
"""Where AIMD's smallest window, two segments, is more than the fair one with every marking."""
THESIS = Path(__file__).with_name("thesis-delays.csv")
"""Stated: the slides' table, us; what is lost there is not in it."""
OFF = (pl.col("like_us") / pl.col("thesis_us") - 1).abs()
"""Of the table: the relative distance of a value from the thesis's, like for like."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run and `statistic`: `ours_us`, `like_us`, the same of waits rounded down to the
    resolution of the thesis's recorder, and `thesis_us` (null where its table is lost)."""
    rows: list[dict[str, object]] = []
    for run in runs:
        waits = (
            steady.packets(run)
            .select(us=pl.col("sojourn_ns").drop_nulls() / 1e3)
            .with_columns(like=(pl.col("us") / steady.TICK_US).floor() * steady.TICK_US)
            .collect()
        )
        ours, like = (statistics(waits[column]) for column in ("us", "like"))
        rows += [
            {**steady.case(run), "statistic": name, "ours_us": ours[name], "like_us": like[name]}
            for name in STATISTICS
        ]
    return steady.ordered(rows).join(
        thesis(), on=[*KEYS, "statistic"], how="left", maintain_order="left"
    )


def thesis() -> pl.DataFrame:
    """The slides' table: `case`, `marking`, `sender`, `statistic`, `thesis_us`."""
    return pl.read_csv(THESIS, schema_overrides={"thesis_us": pl.Float64})


def statistics(waits: pl.Series) -> dict[str, float | None]:
    """The thesis's statistics of waits."""
    found = {
        "min": waits.min(),
        "max": waits.max(),
        "mean": waits.mean(),
        "sd": waits.std(),
        "p95": waits.quantile(0.95),
        "p99": waits.quantile(0.99),
    }
    return {name: scalar(value) for name, value in found.items()}


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Mean waits by experiment, ours and the thesis's."""
    names = {"like_us": "here", "thesis_us": "thesis"}
    shown = (
        steady.labelled(table)
        .filter(pl.col("statistic") == "mean")
        .unpivot(list(names), index=KEYS)
        .drop_nulls()
        .with_columns(source=pl.col("variable").replace_strict(names))
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("case", "value", color="source", shape="source"))
        + p9.facet_grid("marking", "sender")
        + p9.geom_point(size=2)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Experiment", y="Mean queueing delay (us)", color="", shape="")
    )
    return drawn


def beside_thesis(table: pl.DataFrame, by: str) -> pl.DataFrame:
    """Our values and the thesis's, `us`, below each other as a figure shows them; in the column
    `by` the latter are called thesis."""
    keys = [*KEYS, "statistic"]
    ours = table.select(*keys, by, us="like_us")
    thesis = table.select(*keys, pl.lit("thesis").alias(by), us="thesis_us")
    both = pl.concat([ours, thesis.unique(maintain_order=True)])
    return steady.labelled(both).drop_nulls("us")


def _means(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter((pl.col("statistic") == "mean") & pl.col("thesis_us").is_not_null())


def departure(
    table: pl.DataFrame, sender: str, cases: Sequence[str], marking: str | None = None
) -> float | None:
    """The largest relative distance of a mean from the thesis's, like for like."""
    rows = steady.matching(_means(table), marking, sender, cases)
    return scalar(rows.select(OFF.max()).item())


def agreeing(
    table: pl.DataFrame,
    within: float,
    marking: str | None = None,
    statistic: str | None = None,
    sender: str | None = None,
) -> float | None:
    """The share of the thesis's values from which ours are `within` or less away, relative to them,
    like for like: of single waits in ticks of the thesis's recorder, since the slides cut their
    fractions off. Of a wait that the thesis has at 0, ours is to be 0 too."""
    single = pl.col("statistic").is_in(SINGLE)
    ours, theirs = (
        pl.when(single).then((value / steady.TICK_US).round()).otherwise(value)
        for value in (pl.col("like_us"), pl.col("thesis_us"))
    )
    rows = steady.matching(table, marking, sender, None).drop_nulls("thesis_us")
    if statistic is not None:
        rows = rows.filter(pl.col("statistic") == statistic)
    return scalar(rows.select(agrees=(ours - theirs).abs() <= within * theirs)["agrees"].mean())


def hosts_us(table: pl.DataFrame) -> float | None:
    """What the thesis's hosts add to the base RTT: how much less its packets wait in the mean where
    AIMD holds two segments, so that a longer RTT is a shorter queue and nothing else."""
    return scalar(_missing(table)["us"].mean())


def hosts_apart_us(table: pl.DataFrame) -> float | None:
    """The largest distance of one of these differences from the mean of the others."""
    us = _missing(table)["us"]
    return scalar(((us - us.mean()) * us.len() / (us.len() - 1)).abs().max())


def _missing(table: pl.DataFrame) -> pl.DataFrame:
    """The differences, by half a tick less, which rounding down takes from a mean."""
    rows = steady.matching(_means(table), None, "AIMD", PINNED)
    return rows.select(us=pl.col("ours_us") - pl.col("thesis_us") - steady.TICK_US / 2)


def ticks_agreeing(table: pl.DataFrame, within: float) -> float | None:
    """The share of the thesis's standard deviations, where AIMD holds two segments, that are
    `within` or less away from those of waits that all are one of two neighbouring ticks of its
    recorder, in the proportion that its mean tells: what it makes of a wait that hardly varies."""
    rows = steady.matching(table, None, "AIMD", PINNED)
    sds = rows.filter(statistic="sd").select(*KEYS, sd="thesis_us")
    upper = (pl.col("thesis_us") / steady.TICK_US) % 1
    both = rows.filter(statistic="mean").join(sds, on=KEYS).drop_nulls(["thesis_us", "sd"])
    ticks = both.select("sd", of_ticks=steady.TICK_US * (upper * (1 - upper)).sqrt())
    off = ticks.select(off=(pl.col("of_ticks") / pl.col("sd") - 1).abs())["off"]
    return scalar((off <= within).mean())


def over_other_marking(table: pl.DataFrame, sender: str, marking: str, other: str) -> float | None:
    """The largest ratio over experiments of a sender's mean with one marking and with another."""
    means = table.filter((pl.col("statistic") == "mean") & (pl.col("sender") == sender))
    one, two = (means.filter(pl.col("marking") == name) for name in (marking, other))
    both = one.join(two, on="case", suffix="_other")
    return scalar((both["ours_us"] / both["ours_us_other"]).max())


def swapped(table: pl.DataFrame, marking: str, apart: float) -> float | None:
    """Pairs of senders whose means the thesis has in another order, of those that are `apart` or
    more there, relative to the smaller."""
    rows = steady.matching(_means(table), marking, None, None).select(
        "case", "sender", "like_us", "thesis_us"
    )
    pairs = rows.join(rows, on="case", suffix="_other").filter(
        pl.col("thesis_us") > (1 + apart) * pl.col("thesis_us_other")
    )
    return float((pairs["like_us"] <= pairs["like_us_other"]).sum()) if pairs.height else None


METRICS = (
    *(departure, agreeing, over_other_marking, swapped),
    *(hosts_us, hosts_apart_us, ticks_agreeing),
)
