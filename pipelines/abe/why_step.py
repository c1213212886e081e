"""Why ABE gains little through a step: its slow start ends early, and a mark cuts twice."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

PARTS = {"first 90 s": (0.0, 90.0), "second half": (450.0, 900.0)}
"""Of a run, s. Those of step_marking last 90."""
KEYS = ["marking", "cut", "part", "beta"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `marking`, `cut` (how the sender makes it), `part` of the run and `beta`.

    `throughput_mbit` is what left the bottleneck, `delay_ms` the 95th percentile of the wait, and
    `left` the share of the window that a cut leaves together with those of the next round trip, in
    the median over the cuts of the part that none comes before in the round trip before; null
    without one.
    """
    return pl.DataFrame(
        [row for run in runs for row in _rows(run)],
        schema_overrides={"left": pl.Float64},
    ).sort(KEYS)


def _rows(run: series.Run) -> list[dict[str, object]]:
    packets = series.forward(run).select("dequeue_ns", "sojourn_ns", "size_bytes").collect()
    whole = cuts(run.records("acks").collect(), settings.rtt_ns(run))
    found = []
    for part, (start_s, end_s) in PARTS.items():
        own = packets.filter((pl.col("dequeue_ns") / 1e9).is_between(start_s, end_s))
        left = whole.filter((pl.col("time_ns") / 1e9).is_between(start_s, end_s))["left"]
        found.append(
            {
                "marking": str(run.axes["marking"]),
                "cut": str(run.axes["cut"]),
                "part": part,
                "beta": settings.beta_ecn(run),
                "throughput_mbit": float(own["size_bytes"].sum()) * 8 / (end_s - start_s) / 1e6,
                "delay_ms": (scalar(own["sojourn_ns"].quantile(0.95)) or 0.0) / 1e6,
                "left": scalar(left.median()),
            }
        )
    return found


def cuts(acks: pl.DataFrame, rtt_ns: float) -> pl.DataFrame:
    """The congestion events of a flow: `time_ns`, and `left`, the window that the last of the cuts
    within two round trips leaves over that before the first.

    A cut is where the sender enters CWR, at the first ACK that finds it there.
    """
    ordered = acks.sort("time_ns").select(
        "time_ns",
        before=pl.col("cwnd_packets").shift(1),
        to="ssthresh_packets",
        # of two cuts in a row the second's ssthresh is lower, with no ACK in another state between
        enters=(pl.col("ca_state") == "CWR")
        & (
            (pl.col("ca_state").shift(1) != "CWR")
            | (pl.col("ssthresh_packets") < pl.col("ssthresh_packets").shift(1))
        ),
    )
    each = ordered.filter(pl.col("enters").fill_null(value=False))
    first = (pl.col("time_ns") - pl.col("time_ns").shift(1)).fill_null(2 * rtt_ns) >= 2 * rtt_ns
    return (
        each.with_columns(event=first.cum_sum())
        .group_by("event", maintain_order=True)
        .agg(pl.col("time_ns").first(), left=pl.col("to").last() / pl.col("before").first())
        .select("time_ns", "left")
    )


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Throughput by marking, a bar per beta_ecn, a row per part and a column per way to cut."""
    means = ensemble.means(table, KEYS, "throughput_mbit").with_columns(
        beta=pl.col("beta").cast(pl.String)
    )
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("marking", "throughput_mbit", fill="beta"))
        + p9.facet_grid("part", "cut")
        + p9.geom_col(position=p9.position_dodge(width=0.8), width=0.7)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.labs(x="", y="Throughput (Mb/s)", fill="beta_ecn")
    )
    return drawn


def gain(
    table: pl.DataFrame, marking: str, cut: str, part: str, beta: float, over: float
) -> float | None:
    """What a beta_ecn adds to the throughput of another, as a share."""
    own = table.filter(marking=marking, cut=cut, part=part)
    return _ratio(own, ("beta", beta), ("beta", over), "throughput_mbit", less=1)


def step_over_codel(
    table: pl.DataFrame, column: str, cut: str, part: str, beta: float
) -> float | None:
    """A column with the step over that with CoDel."""
    own = table.filter(beta=beta, cut=cut, part=part)
    return _ratio(own, ("marking", "step 5 ms"), ("marking", "CoDel"), column)


def left(table: pl.DataFrame, marking: str, cut: str, part: str, beta: float) -> float | None:
    """The share of the window that an event leaves, the median over replicas."""
    own = table.filter(beta=beta, marking=marking, cut=cut, part=part)
    return scalar(own["left"].median())


def at_once(table: pl.DataFrame, column: str, marking: str, part: str, beta: float) -> float | None:
    """A column with cuts at once over that with Linux's."""
    own = table.filter(beta=beta, marking=marking, part=part)
    return _ratio(own, ("cut", "at once"), ("cut", "Linux's"), column)


METRICS = (at_once, gain, left, step_over_codel)


def _ratio(
    own: pl.DataFrame,
    one: tuple[str, float | str],
    other: tuple[str, float | str],
    column: str,
    less: float = 0,
) -> float | None:
    """The mean of a column where a key has one value over that where it has another."""
    means = [scalar(own.filter(pl.col(key) == value)[column].mean()) for key, value in (one, other)]
    if means[0] is None or not means[1]:
        return None
    return means[0] / means[1] - less
