"""Section III-A: how long the queue of slow start's overshoot lasts."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, sawtooth, settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per base RTT and beta_ecn.

    `round_trips` is how many the sender counts from its first back-off until a packet arrives that
    waits less than CoDel's target.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("rtt_ms", "beta")


def _row(run: series.Run) -> dict[str, float]:
    acks = run.records("acks").sort("time_ns").collect()
    first_ns = series.back_offs(acks.lazy())["time_ns"][0]
    target_ns = units.parse_time(run.field("experiment.bottleneck.queue.target"))
    short = (
        series.forward(run)
        .filter(pl.col("enqueue_ns") > first_ns, pl.col("sojourn_ns") < target_ns)
        .select(pl.col("enqueue_ns").min())
        .collect()
        .item()
    )
    spell = sawtooth.teeth(acks, pl.Series([first_ns, short]))
    return {
        "rtt_ms": settings.rtt_ns(run) / 1e6,
        "beta": settings.beta_ecn(run),
        "round_trips": float(spell["round_trips"][0]),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Round trips against beta_ecn, a line per base RTT."""
    return drawing.panels(
        table.with_columns(rtt=settings.rtt_label(table)),
        {"round_trips": "Round trips until the queue is short"},
        ("beta", "beta_ecn"),
        ("rtt", "Base RTT"),
    )


def longer(table: pl.DataFrame, beta: float, than: float) -> Extreme | None:
    """How many round trips more the queue lasts with one beta_ecn than with another; the least over
    the RTTs."""
    one, other = (_of(table, each) for each in (beta, than))
    both = one.join(other, on="rtt_ms", suffix="_than")
    more = pl.col("round_trips") - pl.col("round_trips_than")
    return least(both.select("rtt_ms", more=more), "more")


def most(table: pl.DataFrame, beta: float) -> Extreme | None:
    """How many round trips the queue lasts; the most over the RTTs."""
    return largest(_of(table, beta), "round_trips")


METRICS = (longer, most)


def _of(table: pl.DataFrame, beta: float) -> pl.DataFrame:
    own = table.filter((pl.col("beta") - beta).abs() < 1e-9)
    return own.select("rtt_ms", "round_trips")
