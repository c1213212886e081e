"""What the figures on load transients measure in a run."""

from collections.abc import Callable, Sequence

import plotnine as p9
import polars as pl

from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style

PACKET_BYTES = 1514  # a full packet as the shaper counts it, with its Ethernet header


def rate_mbit(run: series.Run) -> float:
    """The bottleneck's rate."""
    return run.rate_bps("experiment.bottleneck.rate") / 1e6


def of_each_rate(
    runs: Sequence[series.Run], table: Callable[[Sequence[series.Run]], pl.DataFrame]
) -> pl.DataFrame:
    """A figure's table of the runs of each rate of the link, and a column `rate_mbit`."""
    rates = sorted({rate_mbit(run) for run in runs})
    return pl.concat(
        table([run for run in runs if rate_mbit(run) == rate]).with_columns(rate_mbit=pl.lit(rate))
        for rate in rates
    )


def peak_margin(
    waits: pl.DataFrame, at_ms: float, rtt_from: float, rtt_to: float
) -> Extreme | None:
    """`peak_ms` at one `rtt_ms` over that at those outside of a range, the least.

    It is the geometric mean over what else varies. Above 1 the longest is within the range.
    """
    means = waits.group_by("rtt_ms").agg(wait=pl.col("peak_ms").log().mean().exp())
    at = means.filter(pl.col("rtt_ms") == at_ms).select(at="wait")
    outside = means.filter(~pl.col("rtt_ms").is_between(rtt_from, rtt_to)).join(at, how="cross")
    return least(outside.select("rtt_ms", ratio=pl.col("at") / pl.col("wait")), "ratio")


def buffer_packets(run: series.Run) -> int:
    """The bottleneck's buffer."""
    return units.in_packets(
        units.parse_length(run.field("experiment.bottleneck.queue.limit")),
        rate_bps=run.rate_bps("experiment.bottleneck.rate"),
        rtt_ns=run.time_ns("experiment.rtt"),
        packet_bytes=PACKET_BYTES,
    )


def rounds(run: series.Run) -> pl.DataFrame:
    """The data packets of a run with one flow, in order: `enqueue_ns`, `time_ms` since the first,
    and `round`, the whole base round trips since then."""
    rtt_ms = run.time_ns("experiment.rtt") / 1e6
    data = (
        series.forward(run)
        .filter(pl.col("payload_bytes") > 0)
        .sort("enqueue_ns")
        .select("enqueue_ns")
        .collect()
    )
    since = (pl.col("enqueue_ns") - pl.col("enqueue_ns").first()) / 1e6
    return data.with_columns(time_ms=since).with_columns(
        # what a round brings comes a little later than a round trip after the round before
        round=((pl.col("time_ms") + 1e-6) // rtt_ms).cast(pl.Int64)
    )


def bdp_packets(run: series.Run) -> float:
    """The path's bandwidth-delay product."""
    rtt_ms = run.time_ns("experiment.rtt") / 1e6
    return rate_mbit(run) * 1e3 * rtt_ms / 8 / PACKET_BYTES


def queue_changes(run: series.Run) -> pl.DataFrame:
    """One row per change of the queue in a run with one flow.

    `time_ms` since the first packet, the queue's `packets`, the `round` trip, its `window` (data
    packets that came in it), and the path's `bdp` in packets.
    """
    data = rounds(run)
    windows = data.group_by("round").agg(window=pl.len())
    start_ns = int(data["enqueue_ns"][0])
    rtt_ms = run.time_ns("experiment.rtt") / 1e6
    changes = series.backlog(series.forward(run)).filter(pl.col("time_ns") >= start_ns)
    return (
        changes.select(time_ms=(pl.col("time_ns") - start_ns) / 1e6, packets="packets")
        .with_columns(
            round=(pl.col("time_ms") // rtt_ms).cast(pl.Int64), bdp=pl.lit(bdp_packets(run))
        )
        .join(windows, on="round", how="left")
        .sort("time_ms")
    )


def queue_rounds(changes: pl.DataFrame) -> pl.DataFrame:
    """Per round trip: its `window`, longest queue `peak` and shortest `least`, and `bdp`."""
    return (
        changes.group_by("round")
        .agg(
            pl.col("window", "bdp").first(),
            peak=pl.col("packets").max(),
            least=pl.col("packets").min(),
        )
        .sort("round")
    )


def slow_start_ends(run: series.Run) -> pl.DataFrame:
    """When each sender left slow start: `sport`, `dport`, `left_ns`, of those that did.

    A sender leaves it when it first sets its slow-start threshold, and not before.
    """
    acks = run.records("acks").filter(pl.col("ssthresh_packets").is_not_null())
    return acks.group_by("sport", "dport").agg(left_ns=pl.col("time_ns").min()).collect()


def longest_wait_ms(run: series.Run) -> float:
    """The longest wait in the queue of packets that came while their flow was in slow start, ms.

    Samples of flows in congestion avoidance are kept out, as in the publications.
    """
    data = series.forward(run).filter(pl.col("sojourn_ns").is_not_null()).collect()
    ends = slow_start_ends(run)
    early = data.join(ends, on=["sport", "dport"], how="left").filter(
        pl.col("left_ns").is_null() | (pl.col("enqueue_ns") <= pl.col("left_ns"))
    )
    longest = early["sojourn_ns"].max()
    assert isinstance(longest, int)  # a flow's first packets are in slow start
    return longest / 1e6


def completion(run: series.Run) -> dict[str, float]:
    """The flows' completion times: their mean `fct_s`, and `slowest_s`."""
    times = run.records("flows").select("fct_s").collect()["fct_s"]
    mean, slowest = times.mean(), times.max()
    assert isinstance(mean, float)
    assert isinstance(slowest, float)
    return {"fct_s": mean, "slowest_s": slowest}


SOON_NS = 300_000_000  # three base round trips of 100 ms
AQM = ("aqm_enqueue", "aqm_dequeue")
"""Why a packet was dropped, when the AQM did it."""


def losses(run: series.Run) -> dict[str, int]:
    """What the bottleneck dropped: `lost`; of these `in_a_row` right after another one, in order of
    arrival. Of what the AQM dropped, not the full buffer, `soon` within SOON_NS of the first."""
    arrivals = series.forward(run).sort("enqueue_ns").select("drop_ns", "drop").collect()
    dropped = arrivals["drop_ns"].is_not_null()
    signals = arrivals.filter(pl.col("drop").is_in(AQM))["drop_ns"]
    first = signals.min()
    soon = signals <= first + SOON_NS if isinstance(first, int) else signals.is_not_null()
    return {
        "lost": int(dropped.sum()),
        "in_a_row": int((dropped & dropped.shift(1, fill_value=False)).sum()),
        "soon": int(soon.sum()),
    }


def waits(run: series.Run) -> dict[str, float]:
    """Of all packets that left the queue: mean wait `delay_ms`, 95th percentile `high_ms`."""
    sojourn = series.forward(run).select("sojourn_ns").drop_nulls().collect()["sojourn_ns"]
    mean, high = sojourn.mean(), sojourn.quantile(0.95)
    assert isinstance(mean, float)
    assert isinstance(high, float)
    return {"delay_ms": mean / 1e6, "high_ms": high / 1e6}


def timeouts(run: series.Run) -> int:
    """Retransmission timeouts of all flows."""
    return int(run.records("flows").select(pl.col("rtos").sum()).collect().item())


def flow_label(table: pl.DataFrame, column: str) -> pl.Expr:
    """A number of flows as a panel names it, such as '4 flows', in the order of the numbers."""
    numbers = table[column].unique().sort()
    names = {number: f"{number} flow{'s' if number > 1 else ''}" for number in numbers}
    return pl.col(column).replace_strict(names, return_dtype=pl.Enum(list(names.values())))


def buffer_label(table: pl.DataFrame) -> pl.Expr:
    """The column `buffer`, packets, as a panel names it, in the order of the sizes."""
    names = {size: f"{size} packets" for size in table["buffer"].unique().sort()}
    return pl.col("buffer").replace_strict(names, return_dtype=pl.Enum(list(names.values())))


def rtt_label(table: pl.DataFrame) -> pl.Expr:
    """The column `rtt_ms` as a panel or legend names it, in the order of the RTTs."""
    names = {rtt: f"RTT {rtt:g} ms" for rtt in table["rtt_ms"].unique().sort()}
    return pl.col("rtt_ms").replace_strict(names, return_dtype=pl.Enum(list(names.values())))


def against_rtt(shown: pl.DataFrame) -> p9.ggplot:
    """The column `value` against `rtt_ms`, both by their logarithms, a line per `queue`; of
    replicas, which are alike in all other columns, the mean with its interval."""
    point = [name for name in shown.columns if name not in ("value", ensemble.REPLICA)]
    means = ensemble.means(shown, point, "value").with_columns(
        # an interval that reaches 0 ends at the panel's edge
        pl.col("low").clip(lower_bound=pl.col("value").min())
    )
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("rtt_ms", "value", color="queue", shape="queue", linetype="queue"))
        + ensemble.band(means, "queue")
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual([*style.LINES, *style.LINES])
        + p9.labs(x="Base RTT (ms)", y="", color="", fill="", shape="", linetype="")
    )
    return drawn
