"""Section 3.1: equations (1), (3) and (4) of RED and PI2's square, from the running qdiscs."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from plotnine import aes, facet_wrap, geom_abline, geom_point, ggplot, labs

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

AVERAGE, DROPS, IDLE, SQUARE, SHARE = (
    "Average, eq. (1)",
    "Packets between drops, eq. (3)",
    "Decay in idle times, eq. (4)",
    "Probability (PI2)",
    "Share dropped in 1 s (PI2)",
)
EXPERIMENTS = {"fig31": "red", "laws-idle": "idle", "laws-pi2": "pi2"}
SHORTEST_IDLE = 10
"""Packets that the link could have sent in an idle time that is looked at."""
SECOND_NS = 1_000_000_000


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `law` and sample, drop, idle time or second: what was `found`, and `exact`.

    Averages are in packets. Of a drop of RED's, `low` and `found` are the probabilities that as
    many packets had come since the drop before without the last one, and with it, by equation (3)
    and the average that each met; `exact` is the drop's rank among these; `longest` is the number
    of packets that had passed times the least initial probability that one of them met. Null of the
    others.
    """
    parts = []
    for run in runs:
        kind = EXPERIMENTS[str(run.axes["experiment"])]
        if kind == "red":
            parts += [_averages(run), _gaps(run)]
        else:
            parts += [_idle_times(run)] if kind == "idle" else _squares(run)
    return pl.concat(parts, how="diagonal")


def _met(run: series.Run) -> pl.DataFrame:
    """What each arrival met, by time: `at_ns`, `queue` in packets, and whether it was `dropped`."""
    return (
        series.forward(run)
        .select(
            at_ns="enqueue_ns",
            queue=pl.col("queue_packets").cast(pl.Float64),
            dropped=pl.col("drop_ns").is_not_null(),
        )
        .sort("at_ns")
        .collect()
    )


def _after_idle(run: series.Run) -> tuple[float, pl.DataFrame, pl.DataFrame]:
    """A sample's average after which the queue never was empty, and arrivals and samples since."""
    met = _met(run)
    idle_ns = scalar(met.filter(pl.col("queue") == 0)["at_ns"].max()) or 0.0
    samples = series.queue_samples(run).filter(pl.col("time_ns") > idle_ns)
    start_ns = int(samples["time_ns"][0])
    return (
        float(samples["avg"][0]),
        met.filter(pl.col("at_ns") > start_ns),
        samples.filter(pl.col("time_ns") > start_ns).select("time_ns", "avg"),
    )


def _weighted(first: float, queue: pl.Series, weight: float) -> pl.Series:
    """Equation (1): the averages after each queue length that an arrival met."""
    lengths = pl.concat([pl.Series([first]), queue])
    return lengths.ewm_mean(alpha=weight, adjust=False)[1:]


def _averages(run: series.Run) -> pl.DataFrame:
    first, met, samples = _after_idle(run)
    weight = run.field("experiment.bottleneck.queue.weight")
    averages = met.select("at_ns", exact=_weighted(first, met["queue"], weight))
    return (
        samples.join_asof(averages, left_on="time_ns", right_on="at_ns")
        .drop_nulls("exact")
        .gather_every(20)
        .select(law=pl.lit(AVERAGE), found=pl.col("avg").cast(pl.Float64), exact="exact")
    )


def _gaps(run: series.Run) -> pl.DataFrame:
    first, met, _ = _after_idle(run)
    queue = run.field("experiment.bottleneck.queue")
    low, high, most = queue["min"], queue["max"], queue["probability"]
    average = _weighted(first, met["queue"], queue["weight"])
    initial = (most * (average - low) / (high - low)).to_numpy()
    dropped = met["dropped"].to_numpy()
    rows, known = [], False  # nobody saw where the first distance began
    survived, came, least = 1.0, 0, 1.0
    for probability, lost in zip(initial, dropped, strict=True):
        inside = 0 < probability < most
        if inside:
            final = probability / max(1 - came * probability, probability)  # at most one
            before, survived = survived, survived * (1 - final)
            came, least = came + 1, min(least, probability)
            if lost and known:
                rows.append((1 - before, 1 - survived, (came - 1) * least))
        if lost or not inside:
            known, survived, came, least = inside, 1.0, 0, 1.0
    gaps = pl.DataFrame(rows, schema=["low", "found", "longest"], orient="row").sort("found")
    return gaps.select(
        law=pl.lit(DROPS),
        found="found",
        exact=(pl.int_range(pl.len()) + 0.5) / pl.len(),
        low="low",
        longest="longest",
    )


def _idle_times(run: series.Run) -> pl.DataFrame:
    weight = run.field("experiment.bottleneck.queue.weight")
    packet_ns = transients.PACKET_BYTES * 8e9 / run.rate_bps("experiment.bottleneck.rate")
    met = _met(run)
    arrivals, lengths = met["at_ns"].to_numpy(), met["queue"]
    samples = series.queue_samples(run).select("time_ns", "avg").to_numpy()
    left = (series.forward(run).select("dequeue_ns").drop_nulls().sort("dequeue_ns").collect())[
        "dequeue_ns"
    ].to_numpy()
    rows = []
    for index in np.flatnonzero(met["queue"].to_numpy() == 0):
        at_ns = arrivals[index]
        # what comes while the link idles and is dropped ends the idle time, too
        busy_ns = max(left[np.searchsorted(left, at_ns) - 1] + packet_ns, arrivals[index - 1])
        idle_ns = at_ns - busy_ns
        phantoms = int(idle_ns // packet_ns)
        after = int(np.searchsorted(samples[:, 0], at_ns, side="right"))
        seen = index > 0 and 0 < after < len(samples)
        if not seen or phantoms < SHORTEST_IDLE or samples[after - 1, 1] < 1:
            continue
        end = int(np.searchsorted(arrivals, samples[after, 0], side="right"))
        rest = lengths[int(index) : end]
        came = float(_weighted(0.0, rest, weight)[-1])
        kept = (samples[after, 1] - came) / (1 - weight) ** len(rest) / samples[after - 1, 1]
        rows.append((IDLE, kept, (1 - weight) ** phantoms))
    return pl.DataFrame(
        rows,
        schema={"law": pl.String, "found": pl.Float64, "exact": pl.Float64},
        orient="row",
    )


def _squares(run: series.Run) -> list[pl.DataFrame]:
    samples = series.queue_samples(run).with_columns(exact=pl.col("pseudo_prob") ** 2)
    squares = samples.gather_every(20).select(law=pl.lit(SQUARE), found="prob", exact="exact")
    expected = samples.group_by(second=pl.col("time_ns") // SECOND_NS).agg(pl.col("exact").mean())
    shares = (
        _met(run)
        .group_by(second=pl.col("at_ns") // SECOND_NS)
        .agg(found=pl.col("dropped").mean())
        .join(expected, on="second")
        .sort("second")
        .select(law=pl.lit(SHARE), found="found", exact="exact")
    )
    return [squares, shares]


def plot(table: pl.DataFrame) -> ggplot:
    """What was found against what the law says, a panel per law; the line is where they agree."""
    drawn: ggplot = (
        ggplot(table, aes("exact", "found"))
        + facet_wrap("law", scales="free")
        + geom_abline(intercept=0, slope=1, linetype="dotted", color="#666666")
        + geom_point(color=style.PALETTE[0], size=0.6)
        + labs(x="By the law", y="Found")
    )
    return drawn


def distance_over_quantile(table: pl.DataFrame) -> float | None:
    """Kolmogorov's distance of the distances between drops from equation (3), over its 99 %
    quantile.

    A drop counts as spread evenly over the probabilities of its number of packets, which without
    more drops than that are continuous (Czado, Gneiting, Held 2009).
    """
    drops = table.filter(pl.col("law") == DROPS)
    if drops.is_empty():
        return None
    at = np.linspace(0, 1, 1001)
    low, high = drops["low"].to_numpy()[:, None], drops["found"].to_numpy()[:, None]
    spread = np.clip((at - low) / (high - low), 0, 1).mean(axis=0)
    return float(np.abs(spread - at).max() * np.sqrt(drops.height) / 1.628)


METRICS = (distance_over_quantile,)
