"""Section 3.1, equation (5): when mainline's ARED adjusts its maximum drop probability."""

import json
from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_hline, geom_line, ggplot, labs

from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

LEAST, MOST = 0.01, 0.5
"""Until max_p is beyond these it is adjusted: MAX_P_MIN and MAX_P_MAX of include/net/red.h."""
SECOND_NS = 1_000_000_000


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per time, `time_s`, that tc(8) was asked: `max_p`, and the `lowest` and `highest`
    average queue since it was asked before; `low` and `high` are the ends of the target region by
    equation (5), the middle fifth between the thresholds. Queues are in packets."""
    (run,) = runs
    told = asked(run)
    seen = (
        averages(run, told["weight"][0])
        .join_asof(told.select("at_ns", asked_ns="at_ns"), on="at_ns", strategy="forward")
        .group_by("asked_ns")
        .agg(lowest=pl.col("average").min(), highest=pl.col("average").max())
    )
    span = pl.col("high") - pl.col("low")
    return (
        told.join(seen, left_on="at_ns", right_on="asked_ns")
        .sort("at_ns")
        .select(
            "max_p",
            "lowest",
            "highest",
            time_s=pl.col("at_ns") / SECOND_NS,
            low=pl.col("low") + 0.4 * span,
            high=pl.col("low") + 0.6 * span,
        )
    )


def asked(run: series.Run) -> pl.DataFrame:
    """What tc(8) told of RED at each time, `at_ns`, that it was asked: `max_p`, the thresholds
    `low` and `high` in packets, and the `weight` of a new queue length."""
    lines = (run.directory / "command-1.txt").read_text().splitlines()
    size = _packet(run)
    rows = []
    for clock_ns, told in zip(lines[::2], lines[1::2], strict=False):  # it is stopped at any time
        [queue] = [each["options"] for each in json.loads(told) if each["kind"] == "red"]
        at_ns = int(clock_ns) - int(lines[0])
        thresholds = (queue["min"] / size, queue["max"] / size)
        rows.append((at_ns, queue["probability"], *thresholds, 2.0 ** -queue["ewma"]))
    return pl.DataFrame(rows, schema=["at_ns", "max_p", "low", "high", "weight"], orient="row")


def averages(run: series.Run, weight: float) -> pl.DataFrame:
    """Of each packet, by its arrival `at_ns`, the `average` queue in packets, by equation (1), and
    whether it was `dropped`.

    While the queue is empty mainline lets its average decay over time, equation (4), so this is
    mainline's from when the queue has grown to where it is empty again.
    """
    return (
        series.forward(run)
        .select(
            at_ns="enqueue_ns",
            met=pl.col("queue_bytes") / _packet(run),
            dropped=pl.col("drop_ns").is_not_null(),
        )
        .sort("at_ns")
        .select(
            "at_ns",
            "dropped",
            average=pl.col("met").ewm_mean(alpha=weight, adjust=False),
        )
        .collect()
    )


def _packet(run: series.Run) -> int:
    """Bytes of a packet, by which experiment files give RED's thresholds."""
    found: int = run.field("experiment.bottleneck.queue.avpkt")
    return found


def plot(table: pl.DataFrame) -> ggplot:
    """The average queue, with the target region between dotted lines, and max_p, over time."""
    queue, probability = "Average queue (packets)", "max_p"
    shown = pl.concat(
        [
            table.select("time_s", value="highest", panel=pl.lit(queue)),
            table.select("time_s", value="max_p", panel=pl.lit(probability)),
        ]
    )
    ends = (
        table.head(1).unpivot(["low", "high"], value_name="end").with_columns(panel=pl.lit(queue))
    )
    drawn: ggplot = (
        ggplot(shown, aes("time_s", "value"))
        + facet_wrap("panel", scales="free_y", ncol=1)
        + geom_hline(aes(yintercept="end"), ends, linetype="dotted", color="#666666")
        + geom_line(color=style.PALETTE[0])
        + labs(x="Time (s)", y="")
    )
    return drawn


def _updates(table: pl.DataFrame) -> pl.DataFrame:
    """The rows whose max_p is another than the one before, with its `change`."""
    return table.with_columns(change=pl.col("max_p").diff()).filter(pl.col("change") != 0)


def rises_above(table: pl.DataFrame) -> float | None:
    """Share of max_p's rises with an average above the target region since it was asked before."""
    rises = _updates(table).filter(pl.col("change") > 0)
    return scalar((rises["highest"] > rises["high"]).mean())


def falls_below(table: pl.DataFrame) -> float | None:
    """Share of max_p's falls with an average below the target region since it was asked before."""
    falls = _updates(table).filter(pl.col("change") < 0)
    return scalar((falls["lowest"] < falls["low"]).mean())


def longest_wait(table: pl.DataFrame) -> float | None:
    """The longest time in seconds that max_p stayed as it was while the average was on one side of
    the target region and max_p could go on; None when it never was there."""
    above = (pl.col("lowest") > pl.col("high")) & (pl.col("max_p") <= MOST)
    below = (pl.col("highest") < pl.col("low")) & (pl.col("max_p") >= LEAST)
    side = pl.when(above).then(1).when(below).then(-1).otherwise(0)
    spells = table.with_columns(
        side=side, spell=pl.struct(side, "max_p").rle_id(), step=pl.col("time_s").diff()
    ).filter(pl.col("side") != 0)
    waits = spells.group_by("spell").agg(pl.col("step").sum())
    return scalar(waits["step"].max())


METRICS = (rises_above, falls_below, longest_wait)
