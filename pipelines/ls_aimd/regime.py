"""Which networks have fewer than a segment for each sender: RTT, senders, MTU, target."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import overview, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `path`: `fair_window`, W_s at the target in segments; `window`, the mean of the
    senders' in the second half; `delay`, the mean queueing delay over the target."""
    rows = []
    for run in runs:
        target = steady.target_us(run)
        delay_ns = steady.packets(run).select(pl.col("sojourn_ns").mean()).collect().item()
        window = steady.acks(run).select(pl.col("cwnd_packets").mean()).collect().item()
        rows.append(
            {
                "path": str(run.axes["path"]),
                "fair_window": fair_window(run, target),
                "window": window,
                "delay": delay_ns / 1e3 / target,
            }
        )
    return pl.DataFrame(rows)


def fair_window(run: series.Run, wait_us: float) -> float:
    """Segments of each flow when packets wait that long: the rate times the round trip, over flows
    and frames."""
    rtt_s = (steady.base_rtt_us(run) + wait_us) / 1e6
    frame = run.field("experiment.hosts.s1.mtu") + overview.FRAMING
    return float(steady.rate_bps(run) * rtt_s / 8 / steady.flows(run) / frame)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Delay over the target against the fair window; dotted: the target."""
    names = table.group_by("path", maintain_order=True).first()
    drawn: p9.ggplot = (
        p9.ggplot(table, p9.aes("fair_window", "delay"))
        + p9.geom_hline(yintercept=1, linetype="dotted")
        + p9.geom_point(p9.aes(color="window < 2.5"), size=1.6)
        + p9.geom_text(p9.aes(label="path"), data=names, size=6, ha="left", nudge_x=0.03)
        + p9.scale_x_log10(expand=(0.05, 0, 0.35, 0))
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE, labels=["larger", "two segments"])
        + p9.labs(x="Fair window (segments)", y="Queueing delay / target", color="Window")
    )
    return drawn


def window(table: pl.DataFrame, path: str) -> float | None:
    """The senders' mean window on a path."""
    return scalar(table.filter(path=path)["window"].max())


METRICS = (window,)
