"""Sections 3.1 to 3.3: what RED's settings do in a load transient."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, largest
from sandglass.results import series, style

RED, ADAPTIVE, FIXED, TUNED, MISTUNED = (
    "RED",
    "mainline's, adaptive",
    "mainline's",
    "HRED, tuned",
    "HRED, tuned to 100 ms",
)
ARED = {True: ADAPTIVE, False: FIXED}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, its `weight` and `max_p` (null of those that derive them), number of flows
    and RTT, of one run each.

    `fct_s` is the mean completion time, `peak_ms` the longest wait of packets whose flow was in
    slow start, `soon` what the AQM dropped within 300 ms from its first drop on, `forced` what was
    dropped for want of room or because the average was above the maximum threshold, null of
    mainline's.
    """
    return pl.DataFrame([_row(run) for run in runs], infer_schema_length=None).sort(
        "queue", "weight", "max_p", "flows", "rtt_ms"
    )


def _row(run: series.Run) -> dict[str, object]:
    queue = run.field("experiment.bottleneck.queue")
    last = series.queue_samples(run).tail(1)
    forced = None
    if "forced" in last.columns:
        forced = int(last["forced"].item()) + int(last["overlimit"].item())
    return {
        "queue": _name(run),
        "weight": queue.get("weight"),
        "max_p": queue.get("probability"),
        "flows": run.field("experiment.flows.0.count"),
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "fct_s": transients.completion(run)["fct_s"],
        "peak_ms": transients.longest_wait_ms(run),
        "soon": transients.losses(run)["soon"],
        "forced": forced,
    }


def _name(run: series.Run) -> str:
    match str(run.axes["experiment"]):
        case "pub2-red":
            return RED
        case "red-mainline":
            return ARED[bool(run.axes["adaptive"])]
        case _:
            return str(run.axes["tuning"])


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Completion time against the weight, a line per maximum probability, of RED; of replicas the
    mean."""
    own = ensemble.numbered(table).filter(pl.col("queue") == RED)
    means = ensemble.means(own, ["weight", "max_p", "flows"], "fct_s").with_columns(
        max_p=pl.col("max_p").cast(pl.String), panel=transients.flow_label(own, "flows")
    )
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("weight", "fct_s", color="max_p", shape="max_p", linetype="max_p"))
        + p9.facet_wrap("panel")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(
            x="Weight of a new queue length",
            y="Completion time (s)",
            color="max_p",
            shape="max_p",
            linetype="max_p",
        )
    )
    return drawn


def adaptive_off(table: pl.DataFrame, column: str) -> Extreme | None:
    """How far a column with the adaptive RED is from that with the same RED, as a share of it, the
    largest over numbers of flows."""
    case = ["flows", "rtt_ms"]
    one, other = (
        table.filter((pl.col("queue") == name) & (pl.col("flows") > 0)).select(*case, column)
        for name in (ADAPTIVE, FIXED)
    )
    both = one.join(other, on=case, suffix="_over")
    off = both.select(*case, off=pl.col(column) / pl.col(f"{column}_over") - 1)
    return farthest(off.fill_nan(0.0), "off")


def forced(table: pl.DataFrame, queue: str, rtt_to: float) -> Extreme | None:
    """Packets that HRED dropped because it was too late, the largest over numbers of flows and RTTs
    up to one."""
    own = table.filter((pl.col("queue") == queue) & (pl.col("rtt_ms") <= rtt_to))
    return largest(own.select("flows", "rtt_ms", "forced"), "forced")


METRICS = (adaptive_off, forced)
