"""Sections 3.1 to 3.4: slow start of DCTCP, and how its AQM's step ends it."""

from collections import Counter
from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.results import series, style

OPTIMUM = "FIFO"
DCTCP = "DCTCP"
MEASURES = {"end_bdp": "Window at the end (BDP)", "fct_ratio": "FCT (FIFO: 1)"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per sender, queue and RTT, of one flow each.

    `end_bdp` is the largest window in slow start over the bandwidth-delay product; `left_by` how
    many packets the threshold with which it ended is from half of the window then, null where it
    never ended; `fct_ratio` the completion time over that of the same sender with a FIFO;
    `differing` the share of data packets that did not come at the time at which Reno's came through
    the same queue, null where Reno did not run there.
    """
    arrivals = {_case(run): _arrivals(run) for run in runs}
    rows = pl.DataFrame([_row(run, arrivals) for run in runs], infer_schema_length=None)
    optimum = rows.filter(pl.col("queue") == OPTIMUM).select("sender", "rtt_ms", optimum_s="fct_s")
    return (
        rows.join(optimum, on=["sender", "rtt_ms"], how="left")
        .with_columns(fct_ratio=pl.col("fct_s") / pl.col("optimum_s"))
        .drop("optimum_s")
        .sort("sender", "queue", "rtt_ms")
    )


def _case(run: series.Run) -> tuple[str, str, float]:
    """Sender, queue and RTT in ms."""
    return (
        str(run.axes.get("sender", DCTCP)),
        str(run.axes.get("step", OPTIMUM)),
        run.time_ns("experiment.rtt") / 1e6,
    )


def _arrivals(run: series.Run) -> pl.Series:
    data = series.forward(run).filter(pl.col("payload_bytes") > 0).sort("enqueue_ns")
    return data.select("enqueue_ns").collect()["enqueue_ns"]


def _row(run: series.Run, arrivals: dict[tuple[str, str, float], pl.Series]) -> dict[str, object]:
    sender, queue, rtt_ms = _case(run)
    acks = run.records("acks").sort("time_ns").collect()
    ended = acks.with_columns(before=pl.col("cwnd_packets").shift(1)).filter(
        pl.col("ssthresh_packets").is_not_null()
    )
    early = acks.filter(pl.col("ssthresh_packets").is_null())["cwnd_packets"].max()
    assert isinstance(early, int)  # a flow's first ACKs meet it in slow start
    own, reno = arrivals[sender, queue, rtt_ms], arrivals.get(("Reno", queue, rtt_ms))
    return {
        "sender": sender,
        "queue": queue,
        "rtt_ms": rtt_ms,
        "end_bdp": early / transients.bdp_packets(run),
        "left_by": None if ended.is_empty() else ended["ssthresh_packets"][0] - early / 2,
        "fct_s": transients.completion(run)["fct_s"],
        "differing": None if reno is None else _differing(own, reno),
    }


def _differing(one: pl.Series, other: pl.Series) -> float:
    """The share of times that are not in both; several packets may come at one."""
    both = (Counter(one) & Counter(other)).total()
    return 1 - both / max(len(one), len(other))


def plot(table: pl.DataFrame) -> p9.ggplot:
    """The window at the end of slow start and the completion time against the RTT, a line for each
    step; of replicas the mean."""
    own = table.filter((pl.col("sender") == DCTCP) & (pl.col("queue") != OPTIMUM))
    means = ensemble.measure_means(own, MEASURES, ["queue", "rtt_ms"])
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("rtt_ms", "value", color="queue", shape="queue", linetype="queue"))
        + p9.facet_wrap("measure", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Base RTT (ms)", y="", color="Step", shape="Step", linetype="Step")
    )
    return drawn
