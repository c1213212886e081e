"""Section V: whether the flows' shares converge to a certain ratio, and stay there."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
from plotnine import aes, facet_wrap, geom_line, ggplot, labs, scale_color_manual, scale_y_log10

from pipelines.dctcp_internet import sharing
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, scalar
from sandglass.results import series, style

WINDOW_S = 10


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per experiment (`marks`: step or slope), `setting` and window of 10 s after the
    warm-up: its start (`start_s`), and the `ratio` of Reno's goodput and DCTCP's in it."""
    return pl.concat([_windows(run) for run in runs]).sort("marks", "setting", "start_s")


def _windows(run: series.Run) -> pl.DataFrame:
    reno = {flow["id"]: flow["cc"] == sharing.CC_RENO for flow in run.field("flows")}
    goodput = (
        run.records("goodput")
        .filter(pl.col("flow").is_in(list(reno)))
        .with_columns(reno=pl.col("flow").replace_strict(reno, return_dtype=pl.Boolean))
        .collect()
    )
    end_s = run.time_ns("experiment.duration") // 10**9
    starts = range(sharing.WARM_UP_NS // 10**9, end_s + 1, WINDOW_S)
    sent = {
        kind: [_bytes_at(goodput.filter(reno=kind), start) for start in starts]
        for kind in (True, False)
    }
    ratios = [
        (one[1] - one[0]) / (other[1] - other[0])
        for one, other in zip(pairwise(sent[True]), pairwise(sent[False]), strict=True)
    ]
    return pl.DataFrame(
        {"start_s": list(starts)[:-1], "ratio": ratios},
        schema={"start_s": pl.Int64, "ratio": pl.Float64},
    ).select(
        pl.lit(run.axes["experiment"]).alias("marks"),
        pl.lit(run.axes["setting"]).alias("setting"),
        pl.all(),
    )


def _bytes_at(goodput: pl.DataFrame, time_s: int) -> float:
    """What was acknowledged until then."""
    return scalar(goodput.filter(pl.col("time_ns") <= time_s * 10**9)["bytes"].max()) or 0.0


def plot(table: pl.DataFrame) -> ggplot:
    """The ratio over time, a line per setting; of replicas the mean."""
    shown = ensemble.means(table, ["marks", "setting", "start_s"], "ratio")
    drawn: ggplot = (
        ggplot(shown, aes("start_s", "ratio", color="setting"))
        + facet_wrap("marks")
        + geom_line()
        + scale_y_log10()
        + scale_color_manual(style.PALETTE)
        + labs(x="Start of 10 s (s)", y=sharing.RATIO, color="")
    )
    return drawn


def drift(table: pl.DataFrame) -> float | None:
    """The mean ratio in the second half of the windows over that in the first, the median over the
    settings."""
    late = pl.col("start_s") >= pl.col("start_s").median()
    halves = table.group_by("marks", "setting").agg(
        drift=pl.col("ratio").filter(late).log().mean().exp()
        / pl.col("ratio").filter(~late).log().mean().exp()
    )
    return scalar(halves["drift"].median())


def spread(table: pl.DataFrame, last_s: int) -> Extreme | None:
    """The largest ratio over the least, of the windows of the last seconds; largest over the
    settings."""
    since = (scalar(table["start_s"].max()) or 0) + WINDOW_S - last_s
    spreads = (
        table.filter(pl.col("start_s") >= since)
        .group_by("marks", "setting")
        .agg(spread=pl.col("ratio").max() / pl.col("ratio").min())
    )
    return largest(spreads, "spread")


METRICS = (drift, spread)
