"""Section III-A: how far slow start overshoots, for how the initial window meets path and queue."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig17, settings
from sandglass.experiment import units
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue and base RTT.

    `overshoot_bdp` is by how much the window before the first back-off exceeds what path and queue
    take, in bandwidth-delay products: the queue's limit, or what CoDel's target is. `at_drop_bdp`
    is the same of the window when the first packet was dropped, null where none was.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "rtt_ms")


def _row(run: series.Run) -> dict[str, str | float | None]:
    path = settings.path_packets(run)
    acks = run.records("acks").collect()
    peak = float(fig17.reductions(acks)["cut_from"][0])
    drop_ns = series.forward(run).select(pl.col("drop_ns").min()).collect().item()
    at_drop = None if drop_ns is None else _window(acks, drop_ns)
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
        "at_drop_bdp": None if at_drop is None else (at_drop - path - taken) / path,
    }


def _window(acks: pl.DataFrame, time_ns: int) -> float:
    """The congestion window at a time, in packets."""
    return float(acks.sort("time_ns").filter(pl.col("time_ns") <= time_ns)["cwnd_packets"][-1])


def plot(table: pl.DataFrame) -> ggplot:
    """Overshoot against the RTT, a line per queue."""
    return drawing.panels(
        table,
        {"overshoot_bdp": "Overshoot (BDP)"},
        ("rtt_ms", "Base RTT (ms)"),
        ("queue", "Queue"),
    )
