"""Section IV-C: whether a congestion event hits one of two flows or both, and what that does."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, rate, RTT and beta_ecn, of the time from the second flow's entry on.

    `events` are those in which at least one of the flows backs off, `both_percent` the share of
    them in which the other does within a round trip. `both_change` is the median factor by which
    the ratio of the windows changes in these, up or down, less 1, and `one_change` that in the
    others; null where there are none. Until the flows share the bottleneck, after `convergence_s`
    (null: they do not), `events_per_s` happen, and `older_share` of their back-offs are the older
    flow's. `start_over_fair` is the later flow's window after its first back-off over the mean of
    both then.
    """
    return pl.DataFrame([_row(run) for run in runs], infer_schema_length=None).sort(
        *PATH, "beta_ecn"
    )


def _row(run: series.Run) -> dict[str, str | float | None]:
    about = settings.conditions(run)
    entry_ns = run.time_ns("experiment.flows.1.start")
    both = back_offs(run.records("acks").collect()).filter(pl.col("time_ns") > entry_ns)
    found = paired(both)
    index = convergence.index_since(run.records("goodput").collect(), entry_ns)
    when = convergence.first(index)
    end_ns = settings.duration_ns(run) if when is None else entry_ns + when * 1e9
    until = found.filter(pl.col("time_ns") <= end_ns)
    own = both.filter(pl.col("time_ns") <= end_ns)
    hit_both = found.filter(pl.col("flows") == 2)
    return {
        "queue": about["queue"],
        "rate_mbit": settings.rate(run) / 1e6,
        "rtt_ms": about["rtt_ms"],
        "beta_ecn": about["beta"],
        "events": found.height,
        "both_percent": scalar(found.select(100 * (pl.col("flows") == 2).mean()).item()),
        "both_change": scalar(hit_both["change"].median()),
        "one_change": scalar(found.filter(pl.col("flows") == 1)["change"].median()),
        "convergence_s": when,
        "events_per_s": until.height / ((end_ns - entry_ns) / 1e9),
        "older_share": scalar((own["flow"] == 1).mean()),
        "start_over_fair": scalar(
            both.filter(pl.col("flow") == 2)
            .head(1)
            .select(start=2 * pl.col("ssthresh") / (pl.col("x") + pl.col("ssthresh")))["start"]
            .max()
        ),
    }


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
    """The size of Spearman's correlation of the convergence time with the older flow's share of the
    back-offs, less that of its correlation with the events per second, over the paths and beta_ecn;
    each against the default."""
    both = _against_default(table)
    if both.is_empty():
        return None
    share, events = (
        scalar(both.select(pl.corr("time", name, method="spearman")).item())
        for name in ("older_share", "events_per_s")
    )
    return None if share is None or events is None else abs(share) - abs(events)


def explained(table: pl.DataFrame, factor: float, unlucky: float, within: float) -> float | None:
    """Of the outliers, which take so many times as long as with the default or less than one over
    that: the share in which the later flow had more than `unlucky` of the back-offs of the slower
    run, or in which its slow start with the default ended `within` that share of the fair window.
    """
    never = float("inf")
    time = pl.col("convergence_s").fill_null(never) / pl.col("convergence_s_usual").fill_null(never)
    slower_share = pl.when(time > 1).then("older_share").otherwise("older_share_usual")
    start = (pl.col("start_over_fair_usual") - 1).abs()
    outliers = _both(table).filter((time > factor) | (time < 1 / factor))
    found = outliers.select((slower_share < 1 - unlucky) | (start <= within)).to_series()
    return scalar(found.fill_null(False).mean())


METRICS = (most_changed, least_changed, apart, share_decides_more, explained)


def _medians(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.group_by("queue", "beta_ecn").agg(pl.col(column).median())


def _both(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the other beta_ecn, with the columns of the default on their paths, `_usual`."""
    default = pl.col("beta_ecn") == settings.DEFAULTS["NewReno"]
    return table.filter(~default).join(table.filter(default), on=PATH, suffix="_usual")


def _against_default(table: pl.DataFrame) -> pl.DataFrame:
    """Of each path and other beta_ecn: `time`, that of the default 1; `older_share` less that of
    the default, and `events_per_s` over its."""
    return (
        _both(table)
        .select(
            time=pl.col("convergence_s") / pl.col("convergence_s_usual"),
            older_share=pl.col("older_share") - pl.col("older_share_usual"),
            events_per_s=pl.col("events_per_s") / pl.col("events_per_s_usual"),
        )
        .drop_nulls()
        .filter(pl.all_horizontal(pl.all().is_finite()))
    )
