"""Section IV-D: what beta_ecn saves a short flow, where its size grows with the RTT."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import completion, drawing, settings
from sandglass.papers import ensemble
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per replica, queue and base RTT: `saved_rtts`, how many base RTTs a flow with
    beta_ecn 0.9 completes sooner than with 0.5, mean over the seeds of a block."""
    rows = pl.concat([_flows(run) for run in runs])
    keys = ["queue", "rtt_ms", "seed"]
    low, high = (rows.filter(pl.col("beta") == beta) for beta in (0.5, 0.9))
    return (
        high.join(low, on=keys, suffix="_low")
        .with_columns(completion.block(pl.col("seed")).over("queue", "rtt_ms").alias("replica"))
        .group_by("queue", "rtt_ms", ensemble.REPLICA)
        .agg(
            saved_rtts=((pl.col("fct_s_low") - pl.col("fct_s")) * 1e3 / pl.col("rtt_ms")).mean(),
        )
        .sort("queue", "rtt_ms", ensemble.REPLICA)
        .select("queue", "rtt_ms", "saved_rtts", ensemble.REPLICA)
    )


def _flows(run: series.Run) -> pl.DataFrame:
    flows = run.records("flows").select("seed", "fct_s").collect()
    return flows.with_columns(
        queue=pl.lit(settings.queue(run)),
        rtt_ms=pl.lit(settings.rtt_ns(run) / 1e6),
        beta=pl.lit(settings.beta_ecn(run)),
    )


def plot(table: pl.DataFrame) -> ggplot:
    """Round trips that are saved against the RTT, a line per AQM."""
    return drawing.panels(
        table,
        {"saved_rtts": "Sooner by (base RTTs)"},
        ("rtt_ms", "Base RTT (ms)"),
        ("queue", "AQM"),
    )
