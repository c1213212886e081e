"""Section IV-C: whether a congestion event hits one of two flows or both, and what that does."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from plotnine import ggplot

from pipelines.abe import convergence, drawing, settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, largest, least, scalar
from sandglass.results import series

PATH = ["queue", "rate_mbit", "rtt_ms"]
MEASURES = {
    "both_percent": "Events that hit both flows (%)",
    "both_change": "X/Y changes by, both hit",
    "one_change": "X/Y changes by, one hit",
}
REDUCING = ("CWR", "Recovery", "Loss")


class Contest(NamedTuple):
    """Two flows from the second's entry on."""

    path: tuple[str, float, float]
    """By the columns of PATH."""
    beta_ecn: float
    back_offs: pl.DataFrame
    entry_ns: int
    convergence_s: float | None
    shared_ns: float
    """Until they share the bottleneck, or the end."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate, RTT and beta_ecn, of the time from the second flow's entry on.

    `events` are those in which at least one of the flows backs off, `both_percent` the share of
    them in which the other does within a round trip. `both_change` is the median factor by which
    the ratio of the windows changes in these, up or down, less 1, and `one_change` that in the
    others; null where there are none. The flows share the bottleneck after `convergence_s` (null:
    they do not), until when `older_share` of the back-offs are the older flow's. Until they do with
    every beta_ecn of the path, `horizon_events` happen, and `horizon_older_share` of the back-offs
    are the older flow's. `start_over_fair` is the later flow's window after its first back-off over
    the mean of both then.
    """
    contests = [_contest(run) for run in runs]
    horizons_ns: dict[tuple[str, float, float], float] = defaultdict(float)
    for each in contests:
        horizons_ns[each.path] = max(horizons_ns[each.path], each.shared_ns)
    rows = [_row(each, horizons_ns[each.path]) for each in contests]
    return pl.DataFrame(rows, infer_schema_length=None).sort(*PATH, "beta_ecn")


def _contest(run: series.Run) -> Contest:
    about = settings.conditions(run)
    entry_ns = run.time_ns("experiment.flows.1.start")
    both = back_offs(run.records("acks").collect()).filter(pl.col("time_ns") > entry_ns)
    when = convergence.first(convergence.index_since(run.records("goodput").collect(), entry_ns))
    return Contest(
        path=(str(about["queue"]), settings.rate(run) / 1e6, float(about["rtt_ms"])),
        beta_ecn=float(about["beta"]),
        back_offs=both,
        entry_ns=entry_ns,
        convergence_s=when,
        shared_ns=settings.duration_ns(run) - entry_ns if when is None else when * 1e9,
    )


def _row(contest: Contest, horizon_ns: float) -> dict[str, str | float | None]:
    found = paired(contest.back_offs)
    hit_both = pl.col("flows") == 2
    return {
        **dict(zip(PATH, contest.path, strict=True)),
        "beta_ecn": contest.beta_ecn,
        "events": found.height,
        "both_percent": scalar(found.select(100 * hit_both.mean()).item()),
        "both_change": scalar(found.filter(hit_both)["change"].median()),
        "one_change": scalar(found.filter(~hit_both)["change"].median()),
        "convergence_s": contest.convergence_s,
        "older_share": _older_share(contest, contest.shared_ns),
        "horizon_events": found.filter(pl.col("time_ns") <= contest.entry_ns + horizon_ns).height,
        "horizon_older_share": _older_share(contest, horizon_ns),
        "start_over_fair": scalar(
            contest.back_offs.filter(pl.col("flow") == 2)
            .head(1)
            .select(start=2 * pl.col("ssthresh") / (pl.col("x") + pl.col("ssthresh")))["start"]
            .max()
        ),
    }


def _older_share(contest: Contest, until_ns: float) -> float | None:
    own = contest.back_offs.filter(pl.col("time_ns") <= contest.entry_ns + until_ns)
    return scalar((own["flow"] == 1).mean())


def back_offs(acks: pl.DataFrame) -> pl.DataFrame:
    """The back-offs of two flows, in order: `time_ns`, `flow`, `ssthresh`, `srtt_ns`, and the
    windows of both before it, `x` the older flow's and `y` the other's.

    A flow backs off where its slow-start threshold changes, or where it begins to reduce to the
    very threshold that it had.
    """
    windows = (
        acks.pivot("flow", on_columns=[1, 2], index="time_ns", values="cwnd_packets")
        .sort("time_ns")
        .select("time_ns", pl.col("1", "2").forward_fill().shift(1))
        .rename({"1": "x", "2": "y"})
    )
    reducing = pl.col("ca_state").cast(pl.String).is_in(REDUCING)
    begins = reducing & ~reducing.shift(1).over("flow")
    threshold = pl.col("ssthresh_packets")
    moves = threshold.is_not_null() & threshold.ne_missing(threshold.shift(1).over("flow"))
    return (
        acks.sort("time_ns", "flow")
        .filter((begins | moves).fill_null(False))
        .select(
            "time_ns",
            "flow",
            ssthresh=threshold.cast(pl.Float64),
            srtt_ns=pl.col("srtt_us").cast(pl.Int64) * 1000,
        )
        .join(windows, on="time_ns", how="left", maintain_order="left")
        .drop_nulls()
    )


def paired(back_offs: pl.DataFrame) -> pl.DataFrame:
    """Events: `time_ns` of the first back-off, how many `flows` back off, and the `change`: by what
    factor the ratio of the windows is another one afterwards, up or down, less 1.

    The other flow is hit too if it backs off within the smoothed round trip. Afterwards the window
    of a flow that backs off is what it reduces it to, its slow-start threshold.
    """
    rows: list[tuple[int, int, float]] = []
    left = deque(back_offs.iter_rows(named=True))
    while left:
        first = left.popleft()
        after = {1: float(first["x"]), 2: float(first["y"])} | {first["flow"]: first["ssthresh"]}
        other = _hit_too(first, left)
        if other is not None:
            left.remove(other)
            after[other["flow"]] = other["ssthresh"]
        ratio = (after[1] / after[2]) / (first["x"] / first["y"])
        rows.append((first["time_ns"], 1 if other is None else 2, max(ratio, 1 / ratio) - 1))
    schema = {"time_ns": pl.Int64, "flows": pl.Int64, "change": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _hit_too(first: Mapping[str, Any], later: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The other flow's next back-off, where it comes within the round trip of the first."""
    for each in later:
        if each["time_ns"] > first["time_ns"] + first["srtt_ns"]:
            return None
        if each["flow"] != first["flow"]:
            return each
    return None


def plot(table: pl.DataFrame) -> ggplot:
    """How many events hit both flows, and what either kind does to the ratio of the windows, by
    beta_ecn; medians over the paths, a line per AQM."""
    case = [ensemble.REPLICA, "queue", "beta_ecn"]
    numbered = ensemble.numbered(table)
    medians = numbered.group_by(case, maintain_order=True).agg(pl.col(*MEASURES).median())
    x, line = ("beta_ecn", "beta_ecn"), ("queue", "AQM")
    return drawing.panels(medians, MEASURES, x, line)


def most_changed(table: pl.DataFrame, column: str) -> Extreme | None:
    """A change of the ratio of the windows, medians over the paths, the largest over AQMs and
    beta_ecn."""
    return largest(_medians(table, column), column)


def least_changed(table: pl.DataFrame, column: str) -> Extreme | None:
    """The same, the least."""
    return least(_medians(table, column), column)


def apart(table: pl.DataFrame) -> Extreme | None:
    """How far the shares of events that hit both flows are apart by beta_ecn, in percentage points
    of the means over the paths; the larger of both AQMs."""
    means = table.group_by("queue", "beta_ecn").agg(pl.col("both_percent").mean())
    ranges = means.group_by("queue").agg(
        apart=pl.col("both_percent").max() - pl.col("both_percent").min()
    )
    return largest(ranges, "apart")


def share_decides_more(table: pl.DataFrame) -> float | None:
    """How strongly the convergence time falls with the older flow's share of the back-offs, by
    Spearman's correlation, less the size of its correlation with the number of events, over the
    paths and beta_ecn; each against the default, over the same time."""
    both = _against_default(table)
    if both.is_empty():
        return None
    share, events = (
        scalar(both.select(pl.corr("time", name, method="spearman")).item())
        for name in ("older_share", "events")
    )
    return None if share is None or events is None else -share - abs(events)


def more_unlucky(table: pl.DataFrame, factor: float, unlucky: float) -> float | None:
    """Of the runs that take more than so many times as long as with the default, in how many the
    later flow has more than a share of the back-offs, less that of all others; percentage
    points."""
    found = _both(table).select(out=_time() > factor, why=_unlucky(unlucky))
    return _more_often(found)


def more_right_starts(table: pl.DataFrame, factor: float, within: float) -> float | None:
    """Of the paths on which every other beta_ecn takes more than so many times as long as the
    default, in how many the default's slow start ends within a share of the fair window, less that
    of all other paths; percentage points."""
    found = (
        _both(table)
        .group_by(PATH)
        .agg(out=(_time() > factor).all(), why=_right_start(within).first())
    )
    return _more_often(found)


def more_explained(
    table: pl.DataFrame, factor: float, unlucky: float, within: float
) -> float | None:
    """Of the runs that take more than so many times as long as with the default, how many have one
    of the two causes, less that of all others; percentage points."""
    found = _both(table).select(out=_time() > factor, why=_unlucky(unlucky) | _right_start(within))
    return _more_often(found)


METRICS = (
    most_changed,
    least_changed,
    apart,
    share_decides_more,
    more_explained,
    more_unlucky,
    more_right_starts,
)


def _medians(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.group_by("queue", "beta_ecn").agg(pl.col(column).median())


def _both(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the other beta_ecn, with the columns of the default on their paths, `_usual`."""
    default = pl.col("beta_ecn") == settings.DEFAULTS["NewReno"]
    return table.filter(~default).join(table.filter(default), on=PATH, suffix="_usual")


def _time() -> pl.Expr:
    """The convergence time over that with the default, where either may never come; 1 where
    neither does."""
    own, usual = (
        pl.col(name).fill_null(float("inf")) for name in ("convergence_s", "convergence_s_usual")
    )
    return (own / usual).fill_nan(1.0)


def _unlucky(share: float) -> pl.Expr:
    return (pl.col("older_share") < 1 - share).fill_null(False)


def _right_start(within: float) -> pl.Expr:
    return ((pl.col("start_over_fair_usual") - 1).abs() <= within).fill_null(False)


def _more_often(found: pl.DataFrame) -> float | None:
    """The share of rows with `why` among those that are `out`, less that among the others, in
    percentage points."""
    out, others = (scalar(found.filter(out=each)["why"].mean()) for each in (True, False))
    return None if out is None or others is None else 100 * (out - others)


def _against_default(table: pl.DataFrame) -> pl.DataFrame:
    """Of each path and other beta_ecn: `time`, that of the default 1; and over the same time
    `older_share` less that of the default, and `events` over its."""
    return (
        _both(table)
        .select(
            time=pl.col("convergence_s") / pl.col("convergence_s_usual"),
            older_share=pl.col("horizon_older_share") - pl.col("horizon_older_share_usual"),
            events=pl.col("horizon_events") / pl.col("horizon_events_usual"),
        )
        .drop_nulls()
        .filter(pl.all_horizontal(pl.all().is_finite()))
    )
