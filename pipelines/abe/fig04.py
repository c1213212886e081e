"""Fig. 4: utilisation of one NewReno flow through CoDel and PIE against RTT, and the model's."""

import itertools
from collections.abc import Sequence
from typing import Any

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import formulas
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

CYCLES = 5  # stated: "the average sending rate over five congestion cycles"

# Congestion signals nearer to each other than so many base round trips are one congestion event:
# the sender answers the first of them after one, and the queue's delay adds less than another.
EVENT_GAP_RTTS = 2

# Back-offs nearer to each other than so many base round trips follow in a row. The one repairs the
# losses of the other meanwhile; a saw-tooth at this RTT and beta takes 50.
ROW_GAP_RTTS = 10

SLOW_START_EVENTS = 1  # its overshoot; the next event is congestion avoidance's first peak


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """Rows of two parts: `steady`, one per queue, beta and RTT, and `start`, one per slow start.

    steady: `utilisation` is the median over every five saw-teeth in turn, `deviation` their
    standard deviation, `buffer_packets` the median of the saw-teeth's largest queues, `model`
    eq. (5) with it. start: the number of `back_offs` in a row that end slow start, and the
    `window_share` that they leave, of the bandwidth-delay product.
    """
    starts = [_start(run) for run in runs if run.axes["experiment"] == "fig04-start"]
    steady = sorted((run for run in runs if run.axes["experiment"] != "fig04-start"), key=condition)
    rows = [_steady(list(same)) for _, same in itertools.groupby(steady, key=condition)]
    return pl.DataFrame([*rows, *starts], infer_schema_length=None)


def condition(run: series.Run) -> tuple[str, float, float]:
    """What the runs of a row have in common; they differ in their seed."""
    return (
        settings.queue(run),
        settings.beta(run, settings.RENO_LOSS),
        settings.rtt_ns(run) / 1e6,
    )


def _steady(runs: Sequence[series.Run]) -> dict[str, Any]:
    teeth = [sawteeth(run) for run in runs]
    fives = pl.concat(
        [
            series.utilisation(own, settings.rate(run), CYCLES)
            for run, own in zip(runs, teeth, strict=True)
        ]
    )
    queue, beta, rtt_ms = condition(runs[0])
    path = settings.path_packets(runs[0])
    buffer = scalar(pl.concat(teeth)["largest_packets"].median())
    return {
        "part": "steady",
        "queue": queue,
        "beta": beta,
        "rtt_ms": rtt_ms,
        "sawteeth": sum(own.height for own in teeth),
        "path_packets": path,
        "buffer_packets": buffer,
        "utilisation": scalar(fives.median()),
        "deviation": scalar(fives.std()),
        "model": None if buffer is None else formulas.utilisation(beta, buffer, path),
    }


def sawteeth(run: series.Run) -> pl.DataFrame:
    samples = series.queue_samples(run)
    drops = series.increments(samples, ["drops"])
    events = series.congestion_events(drops, EVENT_GAP_RTTS * settings.rtt_ns(run))
    return series.sawteeth(samples, events[SLOW_START_EVENTS:])


def _start(run: series.Run) -> dict[str, Any]:
    queue, beta, rtt_ms = condition(run)
    path = settings.path_packets(run)
    first = series.first_in_a_row(
        series.back_offs(run.records("acks")), ROW_GAP_RTTS * settings.rtt_ns(run)
    )
    return {
        "part": "start",
        "queue": queue,
        "beta": beta,
        "rtt_ms": rtt_ms,
        "path_packets": path,
        "seed": run.field("seed"),
        "back_offs": first.height,
        "window_share": first["ssthresh_packets"][-1] / path,
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Points are measured (with the standard deviation), lines are eq. (5)."""
    shown = table.filter(pl.col("part") == "steady").with_columns(
        factor=pl.col("beta").cast(pl.String),
        low=pl.col("utilisation") - pl.col("deviation"),
        high=pl.col("utilisation") + pl.col("deviation"),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("rtt_ms", "utilisation", color="factor"))
        + p9.facet_wrap("queue")
        + p9.geom_line(p9.aes(y="model"))
        + p9.geom_errorbar(p9.aes(ymin="low", ymax="high"), width=6)
        + p9.geom_point(p9.aes(shape="factor"), size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Base RTT (ms)", y="Bottleneck utilisation", color="beta", shape="beta")
    )
    return drawn


def drop_with_rtt(table: pl.DataFrame, queue: str, beta: float) -> float | None:
    """Utilisation at the smallest RTT less that at the largest."""
    chosen = _of(table, "steady", queue).filter(pl.col("beta") == beta).sort("rtt_ms")
    ends = pl.concat([chosen.head(1), chosen.tail(1)])["utilisation"]
    return scalar((ends.shift() - ends).max()) if chosen.height > 1 else None


METRICS = (drop_with_rtt,)


def _of(table: pl.DataFrame, part: str, queue: str) -> pl.DataFrame:
    return table.filter((pl.col("part") == part) & (pl.col("queue") == queue))
