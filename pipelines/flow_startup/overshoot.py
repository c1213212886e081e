"""Sections 2.4 and 2.5: how far slow start overshoots, and what its reduction leaves."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

RIGHT = 0.9
"""From this share of the bandwidth-delay product on a window is at the correct level."""
MEASURES = {
    "peak_bdp": "Longest queue (BDP)",
    "end_bdp": "Window at the end (BDP)",
    "settled_s": "Right again after (s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, buffer and RTT, of one flow each.

    In bandwidth-delay products: `buffer`, null of an AQM; `peak_bdp`, the longest queue until slow
    start ended; `end_bdp`, the window when it did; `start_bdp`, that when the queue first dropped a
    packet; `after_bdp`, what the sender reduced it to. `settled_s` is the time from there until the
    window was RIGHT, null where it never was.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("queue", "rtt_ms", "buffer")


def _row(run: series.Run) -> dict[str, object]:
    bdp = transients.bdp_packets(run)
    end_ns = int(transients.slow_start_ends(run)["left_ns"][0])
    acks = run.records("acks").sort("time_ns").collect()
    packets = series.forward(run)
    first_drop_ns = packets.select(pl.col("drop_ns").min()).collect().item()
    early = acks.filter(pl.col("time_ns") < end_ns)
    # where the first packets are too many, no ACK came before the drop
    started = early.filter(
        (pl.col("time_ns") <= first_drop_ns) | (pl.col("time_ns") == pl.col("time_ns").first())
    )["cwnd_packets"]
    settled = acks.filter(
        (pl.col("time_ns") > end_ns)
        & (pl.col("ca_state") == "Open")
        & (pl.col("cwnd_packets") >= RIGHT * bdp)
    )
    queue = series.backlog(packets).filter(pl.col("time_ns") <= end_ns)
    buffer = run.axes.get("buffer")
    return {
        "queue": str(run.axes["queue"]),
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "buffer": None if buffer is None else float(str(buffer).removesuffix("bdp")),
        "peak_bdp": _largest(queue["packets"]) / bdp,
        "end_bdp": _largest(early["cwnd_packets"]) / bdp,
        "start_bdp": _largest(started) / bdp,
        "after_bdp": acks.filter(pl.col("time_ns") >= end_ns)["ssthresh_packets"][0] / bdp,
        "settled_s": (settled["time_ns"][0] - end_ns) / 1e9 if len(settled) else None,
    }


def _largest(numbers: pl.Series) -> int:
    largest = numbers.max()
    assert isinstance(largest, int)
    return largest


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What a FIFO's buffer does to the overshoot and to what follows it."""
    fifo = table.filter((pl.col("queue") == "FIFO") & pl.col("buffer").is_not_null())
    shown = ensemble.measures(fifo, MEASURES, ["rtt_ms", "buffer"]).with_columns(
        rtt=transients.rtt_label(fifo)
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("buffer", "value", color="rtt", shape="rtt", linetype="rtt"))
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.facet_wrap("measure", scales="free_y", nrow=1)
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual([*style.LINES, *style.LINES])
        + p9.labs(x="Buffer (BDP)", y="", color="", shape="", linetype="")
    )
    return drawn


def rank_correlation(
    table: pl.DataFrame, column: str, most: bool, wrong: bool = False
) -> float | None:
    """Spearman's between a FIFO's buffer and a column, the least or largest over RTTs; of all
    buffers, or of those that leave a window that is not RIGHT."""
    fifo = table.filter((pl.col("queue") == "FIFO") & pl.col(column).is_not_null())
    if wrong:
        fifo = fifo.filter(pl.col("after_bdp") < RIGHT)
    ranks = fifo.group_by("rtt_ms").agg(rho=pl.corr("buffer", column, method="spearman"))["rho"]
    return scalar(ranks.max() if most else ranks.min())


def reduced_over_start(table: pl.DataFrame, buffer_from: float, most: bool) -> float | None:
    """The window after the reduction over that when the queue first dropped, with a FIFO; the least
    or largest over buffers and RTTs."""
    fifo = table.filter((pl.col("queue") == "FIFO") & (pl.col("buffer") >= buffer_from))
    ratios = fifo["after_bdp"] / fifo["start_bdp"]
    return scalar(ratios.max() if most else ratios.min())


METRICS = (rank_correlation, reduced_over_start)
