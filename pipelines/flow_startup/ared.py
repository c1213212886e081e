"""Section 3.1, equation (5): when mainline's ARED adjusts its maximum drop probability."""

import json
from collections.abc import Sequence
from typing import Any

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
    asked = maximum_probabilities(run)
    seen = (
        averages(run)
        .join_asof(asked.select("at_ns", asked_ns="at_ns"), on="at_ns", strategy="forward")
        .group_by("asked_ns")
        .agg(lowest=pl.col("average").min(), highest=pl.col("average").max())
    )
    low, high = thresholds(run)
    return (
        asked.join(seen, left_on="at_ns", right_on="asked_ns")
        .sort("at_ns")
        .select(
            "max_p",
            "lowest",
            "highest",
            time_s=pl.col("at_ns") / SECOND_NS,
            low=low + 0.4 * (high - low),
            high=low + 0.6 * (high - low),
        )
    )


def thresholds(run: series.Run) -> tuple[float, float]:
    """RED's minimum and maximum threshold, in packets."""
    _, queue = _asked(run)[0]
    return queue["min"] / _packet(run), queue["max"] / _packet(run)


def averages(run: series.Run) -> pl.DataFrame:
    """Of each packet, by its arrival `at_ns`, the `average` queue in packets, by equation (1), and
    whether it was `dropped`.

    While the queue is empty mainline lets its average decay over time, equation (4), so this is
    mainline's from when the queue has grown to where it is empty again.
    """
    _, queue = _asked(run)[0]
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
            average=pl.col("met").ewm_mean(alpha=2.0 ** -queue["ewma"], adjust=False),
        )
        .collect()
    )


def maximum_probabilities(run: series.Run) -> pl.DataFrame:
    """`max_p` at each time, `at_ns`, that tc(8) was asked."""
    asked = _asked(run)
    start_ns, _ = asked[0]
    rows = [(at_ns - start_ns, queue["probability"]) for at_ns, queue in asked]
    return pl.DataFrame(rows, schema=["at_ns", "max_p"], orient="row")


def _packet(run: series.Run) -> int:
    """Bytes of a packet, by which experiment files give RED's thresholds."""
    found: int = run.field("experiment.bottleneck.queue.avpkt")
    return found


def _asked(run: series.Run) -> list[tuple[int, dict[str, Any]]]:
    """Of each time, in ns of the lab's clock, what tc(8) told of RED's options."""
    lines = (run.directory / "command-1.txt").read_text().splitlines()
    return [
        (int(at_ns), next(each["options"] for each in json.loads(told) if each["kind"] == "red"))
        for at_ns, told in zip(lines[::2], lines[1::2], strict=False)  # it is stopped at any time
    ]


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
