"""Publication II: how HRED, recommended RED and Taildrop lose packets in load transients."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.flow_startup import transients
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style

CASE = ["buffer", "flows"]
QUEUES = {"pub2-hred": "HRED", "pub2-red": "Recommended RED", "pub2-fifo": "Taildrop"}
SHOWN = {
    "overflow": "Overflow",
    "cut": "Cut",
    "early": "Early",
    "in_a_row": "In a row",
    "rtos": "RTOs",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per queue, buffer (in packets) and number of flows.

    Packets lost because the buffer was full (`overflow`), because the average was above the maximum
    threshold (`cut`) and by chance (`early`); of all lost, those right after another (`in_a_row`);
    `rtos`; `delay_ms`, `high_ms` and `fct_s` as in `transients`.
    """
    rows = [
        {
            "queue": QUEUES[str(run.axes["experiment"])],
            "buffer": transients.buffer_packets(run),
            "flows": run.field("experiment.flows.0.count"),
            **_reasons(run),
            **transients.losses(run),
            "rtos": transients.timeouts(run),
            **transients.waits(run),
            **transients.completion(run),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).sort("queue", *CASE)


def _reasons(run: series.Run) -> dict[str, int]:
    """Why packets were dropped, by the qdisc's own counters; a FIFO has one reason."""
    last = series.queue_samples(run).tail(1)
    if "forced" not in last.columns:
        return {"overflow": last["drops"].item(), "cut": 0, "early": 0}
    return {
        "overflow": last["overlimit"].item(),
        "cut": last["forced"].item(),
        "early": last["early"].item(),
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Packets lost against the number of flows: a row per reason, a panel per buffer."""
    shown = ensemble.measures(table, SHOWN, ["queue", *CASE]).with_columns(
        panel=transients.buffer_label(table)
    )
    means = ensemble.means(shown, ["queue", "flows", "measure", "panel"], "value")
    drawn: p9.ggplot = (
        p9.ggplot(means, p9.aes("flows", "value", color="queue", shape="queue", linetype="queue"))
        + ensemble.band(means, "queue")
        + p9.facet_grid("measure", "panel", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=1.8)
        + p9.scale_x_log10(breaks=[1, 2, 4, 8, 16])
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_fill_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.scale_linetype_manual(style.LINES)
        + p9.labs(x="Parallel flows", y="", color="", fill="", shape="", linetype="")
    )
    return drawn


def least_of(
    table: pl.DataFrame, queue: str, column: str, cases: Sequence[tuple[int, int]]
) -> Extreme | None:
    """The smallest value of a column over cases, which are buffers in packets with a number of
    flows."""
    those = pl.DataFrame(cases, schema=table.select(CASE).schema, orient="row")
    chosen = table.filter(queue=queue).join(those, on=CASE, how="semi")
    return least(chosen.select(*CASE, column), column)


METRICS = (least_of,)
