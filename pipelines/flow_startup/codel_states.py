"""Sections 3.1 and 3.2: when CoDel drops, and for how long, in a load transient."""

import math
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, largest, least
from sandglass.results import series, style

OWN = "aqm_dequeue"
"""Why a packet was dropped, when CoDel did it."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per drop of CoDel's own, of one run for each number of `flows`.

    `state` numbers the dropping states, which a packet that waited less than the target ends, and
    `count` the drops in one. `since_ms` is the time since the state's first drop, `gap_ms` until
    its next one, null of the last. `above_ms` is the time for which no packet had waited less than
    the target, of a state's first drop, null of others. Of the first state, in which CoDel counts
    from one, `law_ms` is equation (9) and `newton_ms` what the kernel makes of it; else null.
    """
    rows = pl.concat([_drops(run) for run in runs])
    return rows.sort("flows", "state", "count")


def _drops(run: series.Run) -> pl.DataFrame:
    queue = run.field("experiment.bottleneck.queue")
    target_ns, interval_ns = (units.parse_time(queue[key]) for key in ("target", "interval"))
    events = (
        series.forward(run)
        .filter(pl.col("dequeue_ns").is_not_null() | (pl.col("drop") == OWN))
        .select(
            "enqueue_ns",
            at_ns=pl.coalesce("dequeue_ns", "drop_ns"),
            dropped=pl.col("dequeue_ns").is_null(),
        )
        # a drop comes before the packet that leaves in its place
        .sort("at_ns", "dropped", descending=[False, True])
        .collect()
        .with_columns(
            below=~pl.col("dropped") & (pl.col("at_ns") - pl.col("enqueue_ns") < target_ns)
        )
        .with_columns(
            spell=pl.col("below").cum_sum(),
            below_ns=pl.when("below").then("at_ns").forward_fill(),
            above_ns=pl.when(~pl.col("below")).then("at_ns"),
        )
        .with_columns(first_ns=pl.col("above_ns").min().over("spell"))
    )
    drops = (
        events.filter("dropped")
        .with_columns(
            state=pl.col("spell").rank("dense").cast(pl.Int64),
            count=pl.int_range(1, pl.len() + 1).over("spell"),
        )
        .with_columns(
            since_ms=(pl.col("at_ns") - pl.col("at_ns").first().over("spell")) / 1e6,
            gap_ms=(pl.col("at_ns").shift(-1).over("spell") - pl.col("at_ns")) / 1e6,
            above_ms=pl.when(pl.col("count") == 1).then(
                (pl.col("at_ns") - pl.col("first_ns")) / 1e6
            ),
        )
    )
    laws = pl.DataFrame(
        {
            "count": range(1, drops.height + 1),
            "law_ms": [interval_ns / 1e6 / math.sqrt(n + 1) for n in range(drops.height)],
            "newton_ms": _newton(drops.height, interval_ns / 1e6),
        },
        schema={"count": pl.Int64, "law_ms": pl.Float64, "newton_ms": pl.Float64},
    ).with_columns(state=pl.lit(1, pl.Int64))
    return drops.join(laws, on=["state", "count"], how="left").select(
        flows=pl.lit(run.field("experiment.flows.0.count")),
        state="state",
        count="count",
        since_ms="since_ms",
        gap_ms="gap_ms",
        above_ms="above_ms",
        law_ms="law_ms",
        newton_ms="newton_ms",
    )


def _newton(counts: int, interval_ms: float) -> list[float]:
    """The interval over the kernel's root of each count: a step of Newton's method for each, from
    that of the count before (include/net/codel_impl.h)."""
    inverse, times = 1.0, []
    for count in range(1, counts + 1):
        if count > 1:
            inverse *= (3 - count * inverse**2) / 2
        times.append(interval_ms * inverse)
    return times


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Time between drops of the first state against their number, a panel per number of flows; the
    line is equation (9)."""
    first = ensemble.numbered(table).filter(pl.col("state") == 1)
    shown = first.with_columns(panel=transients.flow_label(first, "flows"))
    drawn: p9.ggplot = (
        p9.ggplot(shown.drop_nulls("gap_ms"), p9.aes("count"))
        + p9.facet_wrap("panel", scales="free_x")
        + p9.geom_line(p9.aes(y="law_ms"), linetype="dotted", color="#666666")
        + p9.geom_point(p9.aes(y="gap_ms"), color=style.PALETTE[0], size=1.2)
        + p9.scale_y_log10()
        + p9.labs(x="Drops in the dropping state", y="Time until the next (ms)")
    )
    return drawn


def above(table: pl.DataFrame, most: bool) -> Extreme | None:
    """How long packets had waited for the target or longer when CoDel began to drop, ms: the least
    or largest over dropping states and numbers of flows."""
    states = table.drop_nulls("above_ms").group_by("flows")
    of_flows = states.agg(pl.col("above_ms").max() if most else pl.col("above_ms").min())
    return (largest if most else least)(of_flows, "above_ms")


def gap_off(table: pl.DataFrame, law: str) -> Extreme | None:
    """How far the time between two drops of the first state is from a law's, ms, the largest."""
    off = table.select("flows", off=pl.col("gap_ms") - pl.col(law)).drop_nulls()
    worst = off.group_by("flows").agg(pl.col("off").sort_by(pl.col("off").abs()).last())
    return farthest(worst, "off")


def lasting(table: pl.DataFrame, flows: int, over: int) -> float | None:
    """The first dropping state's time, first drop to last, with so many flows over others."""
    lasted = dict(_lasting(table).rows())
    return lasted[flows] / lasted[over] if lasted.get(flows) and lasted.get(over) else None


METRICS = (above, gap_off, lasting)


def _lasting(table: pl.DataFrame) -> pl.DataFrame:
    first = table.filter(pl.col("state") == 1)
    return first.group_by("flows").agg(pl.col("since_ms").max()).sort("flows")
