"""Section III-A: how far slow start overshoots, for how the initial window meets path and queue."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig17, settings
from sandglass.experiment import units
from sandglass.papers.verdicts import Extreme, largest, least
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and base RTT.

    `overshoot_bdp` is by how much the window before the first back-off exceeds what path and queue
    take, in bandwidth-delay products: the queue's limit, or what CoDel's target is.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "rtt_ms")


def _row(run: series.Run) -> dict[str, str | float]:
    path = settings.path_packets(run)
    peak = float(fig17.reductions(run.records("acks").collect())["cut_from"][0])
    options = run.field("experiment.bottleneck.queue")
    if options["kind"] == "codel":
        target_s = units.parse_time(options["target"]) / 1e9
        taken = target_s * settings.rate(run) / 8 / settings.PACKET_BYTES
    else:
        taken = settings.limit_packets(run)
    return {
        "queue": str(run.axes["queue"]),
        "rtt_ms": settings.rtt_ns(run) / 1e6,
        "overshoot_bdp": (peak - path - taken) / path,
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Overshoot against the RTT, a line per queue."""
    return drawing.panels(
        table,
        {"overshoot_bdp": "Overshoot (BDP)"},
        ("rtt_ms", "Base RTT (ms)"),
        ("queue", "Queue"),
    )


def smallest(table: pl.DataFrame, queue: str) -> Extreme | None:
    """The least overshoot over the RTTs, BDP."""
    return least(_of(table, queue), "overshoot_bdp")


def greatest(table: pl.DataFrame, queue: str) -> Extreme | None:
    """The largest overshoot over the RTTs, BDP."""
    return largest(_of(table, queue), "overshoot_bdp")


METRICS = (smallest, greatest)


def _of(table: pl.DataFrame, queue: str) -> pl.DataFrame:
    own = table.filter(pl.col("queue") == queue)
    return own.select("rtt_ms", "overshoot_bdp")
