"""Fig. 1 and eq. (3): how long a saw-tooth lasts, how it climbs, and what the link carries
meanwhile."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import drawing, fig02, settings
from sandglass.papers import formulas
from sandglass.papers.verdicts import scalar
from sandglass.results import series

RATIOS = {
    "duration": "Duration",
    "low": "Window after the back-off",
    "slope": "Slope",
    "data": "Data that the link can carry",
}
"""Each over what the report's model says."""
RATE_MBIT = 10.0
"""Stated (caption of Fig. 2)."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per rate, beta and buffer; the columns of RATIOS are medians over the saw-teeth, over
    what the model says.

    A saw-tooth is from one back-off to the next, as the sender has them. `duration` counts the
    sender's round trips, against (1 - beta)(b + delta), `low` the window after the back-off against
    beta (b + delta), `slope` the packets that it grows by in a round trip, against 1, and `data`
    the packets that the link can carry in its time, against eq. (3). `utilisation` and
    `queue_packets` are means over the saw-teeth; `model` is eq. (5).
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("rate_mbit", "beta", "buffer_bdp")


def _row(run: series.Run) -> dict[str, float | None]:
    beta, path = settings.beta(run, settings.RENO_LOSS), settings.path_packets(run)
    buffer = settings.limit_packets(run)
    peak = buffer + path
    acks = run.records("acks").sort("time_ns").collect()
    climbs = teeth(acks, recoveries(acks)[fig02.SLOW_START_EVENTS :])
    within = pl.col("time_ns").is_between(climbs["begin_ns"][0], climbs["end_ns"][-1])
    samples = series.queue_samples(run).filter(within)
    sent = samples["sent_bytes"].cast(pl.Int64)
    seconds = (samples["time_ns"][-1] - samples["time_ns"][0]) / 1e9
    packets_s = settings.rate(run) / 8 / settings.PACKET_BYTES
    lasts_s = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
    medians = climbs.select(
        duration=pl.col("round_trips") / ((1 - beta) * peak),
        low=pl.col("low_packets") / (beta * peak),
        slope=(pl.col("high_packets") - pl.col("low_packets")) / pl.col("round_trips"),
        data=lasts_s * packets_s / (path * (1 - beta) * peak),
    ).median()
    return {
        "rate_mbit": settings.rate(run) / 1e6,
        "beta": beta,
        "buffer_bdp": float(str(run.axes["buffer"]).removesuffix("bdp")),
        "buffer_packets": float(buffer),
        "path_packets": path,
        "teeth": float(climbs.height),
        **medians.row(0, named=True),
        "utilisation": (sent[-1] - sent[0]) * 8 / settings.rate(run) / seconds,
        "queue_packets": scalar(samples["backlog_packets"].mean()),
        "model": formulas.utilisation(beta, buffer, path),
    }


def recoveries(acks: pl.DataFrame) -> pl.Series:
    """When a sender began to repair a loss, ns, of acks in order of time.

    Not where its threshold changes: one saw-tooth may leave the same as the one before.
    """
    repairs = pl.col("ca_state") == "Recovery"
    return acks.filter(repairs & ~repairs.shift(1, fill_value=False))["time_ns"]


def teeth(acks: pl.DataFrame, cuts: pl.Series) -> pl.DataFrame:
    """The saw-teeth between one back-off and the next, of acks in order of time.

    Takes when back-offs were seen, ns. One row per tooth: `begin_ns`, `end_ns`, `round_trips`, as
    many as its time has of the smoothed round-trip time, and `low_packets` and `high_packets`, what
    the back-off reduces the window to and the last one before the next.
    """
    begins = pl.DataFrame({"begin_ns": cuts[:-1], "end_ns": cuts[1:]})
    passed_us = pl.col("time_ns").diff().shift(-1) / 1e3
    return (
        acks.select(
            "time_ns", "cwnd_packets", "ssthresh_packets", trips=passed_us / pl.col("srtt_us")
        )
        .join_asof(begins, left_on="time_ns", right_on="begin_ns")
        .filter(pl.col("time_ns") < pl.col("end_ns"))
        .group_by("begin_ns", "end_ns", maintain_order=True)
        .agg(
            round_trips=pl.col("trips").sum(),
            low_packets=pl.col("ssthresh_packets").cast(pl.Float64).last(),
            high_packets=pl.col("cwnd_packets").cast(pl.Float64).last(),
        )
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Each of RATIOS against the buffer, a line per beta, at the report's rate."""
    shown = table.filter(pl.col("rate_mbit") == RATE_MBIT)
    return drawing.panels(shown, RATIOS, ("buffer_bdp", "Buffer (BDP)"), ("beta", "beta"))
