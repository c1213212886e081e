"""Figs. 7 and 9: what beta_ecn adds to the bytes that have departed, over time."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series, style

STEP_NS = 1_000_000_000

# "The period right after slow-start" (IV-B): slow start lasts some 3 s at the largest RTT, and
# congestion avoidance needs tens of seconds to reach its first peak.
EARLY_S = 30
LATE_STEP_S = 5


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per congestion control, queue, RTT, beta and time: each second right after slow
    start, later each fifth.

    `departed_mb` is the mean over the seeds of what has left the queue since the start, in 10^6
    bytes; `gain_percent` what that is more than with the control's own beta, null without such a
    run.
    """
    shown = (pl.col("time_s") <= EARLY_S) | (pl.col("time_s") % LATE_STEP_S == 0)
    departed = (
        pl.concat([_departed(run).filter(shown) for run in runs])
        .group_by("control", "queue", "rtt_ms", "beta", "time_s")
        .agg(pl.col("departed_mb").mean(), seeds=pl.len())
    )
    keys = ["control", "queue", "rtt_ms", "time_s"]
    own = departed.filter(pl.col("beta") == _own()).select(*keys, own_mb="departed_mb")
    return (
        departed.join(own, on=keys, how="left")
        .with_columns(gain_percent=(pl.col("departed_mb") / pl.col("own_mb") - 1) * 100)
        .drop("own_mb")
        .sort("control", "queue", "rtt_ms", "beta", "time_s")
    )


def _departed(run: series.Run) -> pl.DataFrame:
    over_time = series.bytes_departed(series.forward(run), STEP_NS, settings.duration_ns(run))
    return over_time.select(
        *[pl.lit(value).alias(name) for name, value in settings.conditions(run).items()],
        time_s=pl.col("time_ns") / 1e9,
        departed_mb=pl.col("bytes") / 1e6,
    )


def _own() -> pl.Expr:
    """The beta of the row's congestion control itself."""
    return pl.col("control").replace_strict(settings.DEFAULTS, return_dtype=pl.Float64)


def draw(table: pl.DataFrame, control: str) -> p9.ggplot:
    """Gain against time, a panel per queue and RTT, a line per beta but the control's own; of
    replicas their mean with its interval."""
    own = table.filter((pl.col("control") == control) & (pl.col("beta") != _own())).with_columns(
        factor=pl.col("beta").cast(pl.String),
        path=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)),
    )
    shown = ensemble.means(own, ["queue", "path", "factor", "time_s"], "gain_percent")
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("time_s", "gain_percent", color="factor"))
        + p9.facet_grid("queue", "path")
        + p9.geom_hline(yintercept=0, color="#666666", size=0.4)
        + ensemble.band(shown, "factor")
        + p9.geom_line()
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="Time (s)", y="More bytes departed (%)", color="beta_ecn", fill="beta_ecn")
    )
    return drawn


def gain(table: pl.DataFrame, control: str, queue: str, rtt_ms: float, beta: float) -> float | None:
    """What a beta adds in the long run, percent."""
    chosen = _late(table, control, queue).filter(
        (pl.col("rtt_ms") == rtt_ms) & (pl.col("beta") == beta)
    )
    return scalar(chosen["gain_percent"].max())


def later_gain(
    table: pl.DataFrame, control: str, queue: str, rtt_ms: float, beta: float, from_s: float
) -> float | None:
    """What a beta adds to the bytes that depart from `from_s` to the end, percent: without what
    slow start and the way to the first peak leave behind."""
    rows = _of(table, control, queue).filter(pl.col("rtt_ms") == rtt_ms)
    later, own = (
        _departed_between(rows.filter(pl.col("beta") == chosen), from_s)
        for chosen in (beta, _own())
    )
    return None if later is None or own is None else (later / own - 1) * 100


def _departed_between(rows: pl.DataFrame, from_s: float) -> float | None:
    """Of one beta, 10^6 bytes; none where there is no run, or not that long a run."""
    end = pl.col("time_s").max()
    ends = rows.filter((pl.col("time_s") == from_s) | (pl.col("time_s") == end)).sort("time_s")
    departed = ends["departed_mb"]
    return departed[1] - departed[0] if len(departed) > 1 else None


def agreeing_horizons(
    table: pl.DataFrame,
    control: str,
    queue: str,
    rtt_ms: float,
    beta: float,
    low: float,
    high: float,
    from_s: float,
) -> float | None:
    """The share of the times from `from_s` on at which a beta's gain is from `low` to `high`."""
    chosen = _of(table, control, queue).filter(
        (pl.col("rtt_ms") == rtt_ms) & (pl.col("beta") == beta) & (pl.col("time_s") >= from_s)
    )
    return scalar(chosen["gain_percent"].is_between(low, high).mean())


def most_gain(table: pl.DataFrame, control: str, queue: str) -> Extreme | None:
    """The largest gain in the long run over all RTTs and betas, percent."""
    return largest(_gains(_late(table, control, queue)), "gain_percent")


def least_gain(
    table: pl.DataFrame, control: str, queue: str, rtt_up_to_ms: float
) -> Extreme | None:
    """The smallest gain in the long run of betas above the control's own, percent."""
    chosen = _late(table, control, queue).filter(
        (pl.col("rtt_ms") <= rtt_up_to_ms) & (pl.col("beta") > _own())
    )
    return least(_gains(chosen), "gain_percent")


def most_gain_of(
    table: pl.DataFrame, control: str, queue: str, rtt_ms: float, low: float, high: float
) -> Extreme | None:
    """The largest gain in the long run of the betas from `low` to `high`, percent."""
    chosen = _late(table, control, queue).filter(
        (pl.col("rtt_ms") == rtt_ms) & pl.col("beta").is_between(low, high)
    )
    return largest(_gains(chosen), "gain_percent")


def order(
    table: pl.DataFrame, control: str, queue: str, rtt_ms: float, betas: Sequence[float]
) -> float | None:
    """Spearman's correlation of departed bytes with some betas in the long run."""
    chosen = _late(table, control, queue).filter(
        (pl.col("rtt_ms") == rtt_ms) & pl.col("beta").is_in(betas)
    )
    return scalar(chosen.select(pl.corr("beta", "departed_mb", method="spearman")).item())


def early_excess(table: pl.DataFrame, control: str, queue: str) -> float | None:
    """Mean gain right after slow start less the gain in the long run, percentage points.

    The mean over all RTTs and all betas above the control's own.
    """
    late = _higher(_late(table, control, queue))
    both = _early(table, control, queue).join(late, on=["rtt_ms", "beta"], suffix="_late")
    return scalar((both["gain_percent"] - both["gain_percent_late"]).mean())


def early_gain(table: pl.DataFrame, control: str, queue: str) -> float | None:
    """Mean gain right after slow start over all RTTs and betas above the own, percent."""
    return scalar(_early(table, control, queue)["gain_percent"].mean())


def early_gain_over(
    table: pl.DataFrame, control: str, over: str, queue: str, rtt_ms: float, beta: float
) -> float | None:
    """Mean gain right after slow start of a beta, less another control's, percentage points."""
    one, other = (
        _early(table, name, queue).filter((pl.col("rtt_ms") == rtt_ms) & (pl.col("beta") == beta))[
            "gain_percent"
        ]
        for name in (control, over)
    )
    return scalar((one - other).max()) if len(one) == len(other) == 1 else None


def rtt_excess(table: pl.DataFrame, control: str, queue: str) -> float | None:
    """Gain at the largest RTT less that at the smallest, mean over betas above the own, points."""
    late = _higher(_late(table, control, queue))
    near, far = (
        late.filter(pl.col("rtt_ms") == rtt) for rtt in (late["rtt_ms"].min(), late["rtt_ms"].max())
    )
    if near.equals(far):
        return None
    both = far.join(near, on="beta", suffix="_near")
    return scalar((both["gain_percent"] - both["gain_percent_near"]).mean())


def _of(table: pl.DataFrame, control: str, queue: str) -> pl.DataFrame:
    return table.filter((pl.col("control") == control) & (pl.col("queue") == queue))


def _late(table: pl.DataFrame, control: str, queue: str) -> pl.DataFrame:
    """At the end of the runs."""
    return _of(table, control, queue).filter(pl.col("time_s") == pl.col("time_s").max())


def _gains(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("rtt_ms", "beta", "gain_percent")


def _higher(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("beta") > _own())


def _early(table: pl.DataFrame, control: str, queue: str) -> pl.DataFrame:
    """Per RTT and beta above the own, the mean gain over the time right after slow start."""
    return (
        _higher(_of(table, control, queue))
        .filter(pl.col("time_s") <= EARLY_S)
        .group_by("rtt_ms", "beta")
        .agg(pl.col("gain_percent").mean())
    )
