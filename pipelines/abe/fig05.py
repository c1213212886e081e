"""Fig. 5: the queue that one CUBIC flow leaves standing in a DropTail buffer, against time."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_hline, geom_line, geom_ribbon, ggplot, labs

from pipelines.abe import settings
from sandglass.experiment import units
from sandglass.papers import formulas
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

STEP_NS = 100_000_000
CUBIC_BETA = 0.7  # stated (II-C)

# Five round trips: drops nearer to each other belong to one congestion event. CUBIC's cycles here
# last about 6 s.
EVENT_GAP_S = 1.0

LABELS = {"0.5bdp": "Buffer 0.5 BDP", "1bdp": "Buffer 1 BDP"}
SHARES = {"0.5bdp": 0.5, "1bdp": 1.0}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per buffer and 100 ms: the queue's least, mean and largest length, and the drops."""
    return pl.concat([_over_time(run) for run in runs])


def _over_time(run: series.Run) -> pl.DataFrame:
    rate = run.rate_bps("experiment.bottleneck.rate")
    rtt = run.time_ns("experiment.rtt")
    duration = run.time_ns("experiment.duration")
    bdp = float(units.bdp_bytes(rate, rtt)) / settings.PACKET_BYTES
    buffer = str(run.axes["buffer"])
    packets = series.forward(run)
    drops = (
        packets.filter(pl.col("drop_ns").is_not_null())
        .group_by(start_ns=pl.col("drop_ns") // STEP_NS * STEP_NS)
        .agg(drops=pl.len().cast(pl.Int64))
        .collect()
    )
    return (
        series.binned(series.backlog(packets), STEP_NS, duration)
        .join(drops, on="start_ns", how="left", maintain_order="left")
        .select(
            buffer=pl.lit(LABELS[buffer]),
            time_s=pl.col("start_ns") / 1e9,
            least_packets="least",
            mean_packets="mean",
            largest_packets="largest",
            drops=pl.col("drops").fill_null(0),
            bdp_packets=pl.lit(bdp),
            buffer_packets=pl.lit(bdp * SHARES[buffer]),
            trough_packets=pl.lit(formulas.trough(CUBIC_BETA, bdp * SHARES[buffer], bdp)),
        )
    )


def plot(table: pl.DataFrame) -> ggplot:
    return (
        ggplot(table, aes("time_s"))
        + facet_wrap("buffer", ncol=1)
        + geom_ribbon(
            aes(ymin="least_packets", ymax="largest_packets"), fill=style.PALETTE[4], alpha=0.6
        )
        + geom_line(aes(y="mean_packets"), color=style.PALETTE[0], size=0.5)
        + geom_hline(aes(yintercept="buffer_packets"), linetype="dashed", color="#666666")
        + geom_hline(aes(yintercept="trough_packets"), linetype="dotted", color="#666666")
        + labs(x="Time (s)", y="Queue length (packets)")
    )


def least_queue(table: pl.DataFrame, buffer: str) -> float | None:
    """The smallest queue in steady state, packets."""
    return scalar(_steady(table, buffer)["least_packets"].min())


def least_delay(table: pl.DataFrame, buffer: str) -> float | None:
    """The smallest queueing delay in steady state, as a share of the base RTT."""
    steady = _steady(table, buffer)
    return scalar((steady["least_packets"] / steady["bdp_packets"]).min())


def mean_delay(table: pl.DataFrame, buffer: str) -> float | None:
    """The mean queueing delay in steady state, as a share of the base RTT."""
    steady = _steady(table, buffer)
    return scalar((steady["mean_packets"] / steady["bdp_packets"]).mean())


METRICS = (least_queue, least_delay, mean_delay)


def _steady(table: pl.DataFrame, buffer: str) -> pl.DataFrame:
    """From the second congestion event on, since the first ends slow start; empty without one."""
    chosen = table.filter(pl.col("buffer") == buffer)
    dropping = chosen.filter(pl.col("drops") > 0)["time_s"]
    events = series.congestion_events(dropping, EVENT_GAP_S)
    return chosen.filter(pl.col("time_s") >= events[1]) if len(events) > 1 else chosen.clear()
