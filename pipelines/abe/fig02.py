"""Fig. 2: throughput of one NewReno flow through DropTail against its buffer, and the model's."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.abe import settings
from sandglass.papers import formulas
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

# Drops nearer to each other than so many base round trips belong to one congestion event: the
# sender answers the first of them after one.
EVENT_GAP_RTTS = 2

SLOW_START_EVENTS = 2  # its overshoot, and the saw-tooth that begins while that is repaired

CURVE_POINTS = 80


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: utilisation over its whole saw-teeth, and that of eq. (5)."""
    return pl.DataFrame([_row(run) for run in runs]).sort("rate_mbit", "beta", "buffer_packets")


def _row(run: series.Run) -> dict[str, float | None]:
    rate = settings.rate(run)
    samples = series.queue_samples(run)
    drops = series.increments(samples, ["drops"])
    events = series.congestion_events(drops, EVENT_GAP_RTTS * settings.rtt_ns(run))
    teeth = series.sawteeth(samples, events[SLOW_START_EVENTS:])
    beta = settings.beta(run, settings.RENO_LOSS)
    buffer, path = settings.limit_packets(run), settings.path_packets(run)
    return {
        "rate_mbit": rate / 1e6,
        "beta": beta,
        "buffer_packets": float(buffer),
        "path_packets": path,
        "sawteeth": float(teeth.height),
        "utilisation": scalar(series.utilisation(teeth, rate, max(1, teeth.height)).mean()),
        "model": formulas.utilisation(beta, buffer, path),
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Points are measured, lines are eq. (6); other rates than the figure's stay in the table."""
    shown = _at(table, 10).with_columns(
        throughput_mbit=pl.col("rate_mbit") * pl.col("utilisation"), factor=_label("beta")
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("buffer_packets", "throughput_mbit", color="factor"))
        + p9.geom_vline(p9.aes(xintercept="path_packets"), linetype="dotted", color="#666666")
        + p9.geom_line(p9.aes(y="model_mbit"), data=_curves(shown))
        + p9.geom_point(p9.aes(shape="factor"), size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Buffer (packets)", y="Throughput (Mb/s)", color="beta", shape="beta")
    )
    return drawn


def _curves(shown: pl.DataFrame) -> pl.DataFrame:
    """Eq. (6) from no buffer to the largest that was measured, for each beta."""
    largest = scalar(shown["buffer_packets"].max()) or 0.0
    buffers = [largest * step / CURVE_POINTS for step in range(CURVE_POINTS + 1)]
    return pl.DataFrame(
        [
            {
                "factor": factor,
                "buffer_packets": buffer,
                "model_mbit": formulas.throughput(rate, beta, buffer, path),
            }
            for factor, beta, rate, path in shown.select(
                "factor", "beta", "rate_mbit", "path_packets"
            )
            .unique(maintain_order=True)
            .iter_rows()
            for buffer in buffers
        ]
    )


def _label(column: str) -> pl.Expr:
    return pl.col(column).round(2).cast(pl.String)


def _at(table: pl.DataFrame, rate_mbit: float) -> pl.DataFrame:
    return table.filter(pl.col("rate_mbit") == rate_mbit)
