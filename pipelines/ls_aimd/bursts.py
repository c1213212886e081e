"""Bursts of delta segments in place of paced ones, with receivers that delay ACKs."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import segments, steady, utilisation
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, least
from sandglass.results import series, style

PACED = 1
"""Segments that leave at once where they are paced."""
PANELS = {"p95_us": "Delay, p95 (us)", "utilisation": "Utilisation"}
KEYS = ["case", "sender"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `case`, `sender`, `delta`, the segments that leave at once after a wait, and
    `step`, the queue from which it marks, in targets. Of the second half: `p95_us`, the 95th
    percentile of the queueing delay; `utilisation` as in utilisation.py; `marked`, the share of
    segments that are; `window`, the mean window in segments as ACKs find it, and `small`, how often
    it is below two; `round_trip_us`, the round trip that this window makes at a flow's rate, and
    `path_us`, the path's: a segment's wait, its transmission, the base RTT."""
    return steady.ordered(_row(run) for run in runs).sort(*KEYS, "delta", "step")


def _row(run: series.Run) -> dict[str, object]:
    delay_ns = steady.packets(run).select(pl.col("sojourn_ns").quantile(0.95)).collect().item()
    return {
        **steady.case(run),
        "delta": int(run.axes["delta"]),
        "step": int(run.axes["step"]),
        "p95_us": delay_ns / 1e3,
        "utilisation": utilisation.utilisation(run),
        **_windows(run),
    }


def _windows(run: series.Run) -> dict[str, float | None]:
    begin, end = steady.interval_ns(run)
    sent = (
        steady.packets(run)
        .filter(pl.col("payload_bytes") > 0)
        .select(
            count=pl.len(),
            size=pl.col("payload_bytes").max(),
            path_us=segments.path_ns(run).mean() / 1e3,
            marked=(pl.col("ecn_out") == segments.CE).mean(),
        )
        .collect()
        .row(0, named=True)
    )
    windows = segments.acks(run).select("time_ns", window=pl.col("window_bytes") / sent["size"])
    window, small = (
        windows.filter(pl.col("time_ns").is_between(begin, end, closed="left"))
        .select(pl.col("window").mean(), small=(pl.col("window") < 2).mean())
        .row(0)
    )
    between_us = (end - begin) / 1e3 * steady.flows(run) / sent["count"]
    return {
        "marked": sent["marked"],
        "window": window,
        "small": small,
        "round_trip_us": window * between_us,
        "path_us": sent["path_us"],
    }


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Delay and utilisation against delta, a column per experiment."""
    deeper = pl.when(pl.col("step") > 1).then(pl.lit(", step at delta targets"))
    shown = ensemble.measures(
        table.with_columns(sender=pl.col("sender") + deeper.otherwise(pl.lit(""))),
        PANELS,
        [*KEYS, "delta"],
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("delta", "value", color="sender", shape="sender"))
        + p9.facet_grid("measure", "case", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(size=2)
        + p9.scale_x_continuous(breaks=sorted(set(table["delta"])))
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(x="Segments that leave at once, delta", y="", color="", shape="")
    )
    return drawn


def _at_target(table: pl.DataFrame, sender: str | None) -> pl.DataFrame:
    """The rows of a step at the target, of a sender or of all."""
    own = table.filter(step=1)
    return own if sender is None else own.filter(sender=sender)


def least_over_paced(table: pl.DataFrame, sender: str | None = None) -> Extreme | None:
    """The 95th percentile of the delay with bursts over that of the paced sender, the least over
    experiments, senders and deltas."""
    own = _at_target(table, sender)
    paced, bursts = own.filter(delta=PACED), own.filter(pl.col("delta") > PACED)
    both = bursts.join(paced, on=KEYS, suffix="_paced", maintain_order="left")
    over = pl.col("p95_us") / pl.col("p95_us_paced")
    return least(both.select(*KEYS, "delta", over=over), "over")


def least_growth(table: pl.DataFrame, delta_from: int, sender: str | None = None) -> Extreme | None:
    """Spearman's correlation of the 95th percentile of the delay with delta, from one on, the
    least over experiments and senders; that of the paced sender is delta's 1."""
    growth = (
        _at_target(table, sender)
        .filter(pl.col("delta") >= delta_from)
        .group_by(KEYS, maintain_order=True)
        .agg(rho=pl.corr("delta", "p95_us", method="spearman").fill_nan(None))
    )
    return least(growth, "rho")


def least_gain(table: pl.DataFrame) -> Extreme | None:
    """The utilisation with a step at delta targets over that with one at the target, the least over
    experiments, senders and deltas."""
    keys = [*KEYS, "delta"]
    deeper = table.filter(pl.col("step") > 1)
    both = deeper.join(table.filter(step=1), on=keys, suffix="_target", maintain_order="left")
    gain = pl.col("utilisation") / pl.col("utilisation_target")
    return least(both.select(*keys, gain=gain), "gain")


METRICS = (least_over_paced, least_growth, least_gain)
