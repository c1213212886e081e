"""Sections IV-B and IV-D: short flows of NewReno and CUBIC, on paths whose RTTs differ."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import completion, drawing, settings
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest, least
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per replica, congestion control, queue, size and beta_ecn: `fct_s`, the mean
    completion time over the seeds of a block, and `gain_percent`, by how much it is below that with
    the control's own beta."""
    rows = pl.concat([_blocks(run) for run in runs])
    keys = ["control", "queue", "size_kb", ensemble.REPLICA]
    own = pl.col("control").replace_strict(settings.DEFAULTS, return_dtype=pl.Float64)
    usual = rows.filter(pl.col("beta") == own).select(*keys, usual_s="fct_s")
    return (
        rows.join(usual, on=keys)
        .with_columns(gain_percent=(1 - pl.col("fct_s") / pl.col("usual_s")) * 100)
        .drop("usual_s")
        .sort("control", "queue", "size_kb", "beta", ensemble.REPLICA)
    )


def _blocks(run: series.Run) -> pl.DataFrame:
    """The mean of each block of a run's seeds."""
    return completion.block_means(run, "fct_s").select(
        control=pl.lit(settings.control(run).name),
        queue=pl.lit(settings.queue(run)),
        size_kb=pl.lit(units.parse_size(run.field("experiment.flows.0.size")) / 1e3),
        beta=pl.lit(settings.beta_ecn(run)),
        fct_s="fct_s",
        **{ensemble.REPLICA: pl.col(ensemble.REPLICA)},
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Gain against size, a panel per control and AQM, a line per beta_ecn above the own."""
    return drawing.panels(
        _higher(table),
        {"gain_percent": "Reduction of FCT (%)"},
        ("size_kb", "Flow size (kB)"),
        ("beta", "beta_ecn"),
        apart=["control", "queue"],
    )


def least_gain(table: pl.DataFrame, control: str, queue: str, above_kb: float) -> Extreme | None:
    """The least gain at sizes above a bound, percent, each the mean of the larger beta_ecn."""
    own = _higher(table).filter(
        pl.col("control") == control, pl.col("queue") == queue, pl.col("size_kb") > above_kb
    )
    return least(own.group_by("size_kb").agg(pl.col("gain_percent").mean()), "gain_percent")


def largest_effect(table: pl.DataFrame, control: str, below_kb: float) -> Extreme | None:
    """The largest gain or loss at sizes below a bound, percent."""
    own = _higher(table).filter(pl.col("control") == control, pl.col("size_kb") < below_kb)
    return farthest(own.select("queue", "size_kb", "beta", "gain_percent"), "gain_percent")


def more_with(
    table: pl.DataFrame, control: str, queue: str, than: str, below_kb: float
) -> float | None:
    """What one AQM gains more than another, in percent, mean over sizes below a bound."""
    own = _higher(table).filter(pl.col("control") == control, pl.col("size_kb") < below_kb)
    means = dict(own.group_by("queue").agg(pl.col("gain_percent").mean()).iter_rows())
    return means[queue] - means[than] if {queue, than} <= means.keys() else None


METRICS = (least_gain, largest_effect, more_with)


def _higher(table: pl.DataFrame) -> pl.DataFrame:
    """With a larger beta_ecn than the control's own."""
    own = pl.col("control").replace_strict(settings.DEFAULTS, return_dtype=pl.Float64)
    return table.filter(pl.col("beta") > own)
