"""Fig. 3: how often packets are marked and dropped at each length of the queue."""

from collections.abc import Callable, Sequence

import numpy as np
import plotnine as p9
import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.results import series, style

CONFIDENCE = 0.99
BISECTIONS = 40
NOT_ECT, CE = 0, 3
KINDS = {"drop": "Reno: drop", "mark": "DCTCP: mark"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per configuration, RED and length of the queue that packets met.

    Of the `packets` that met it those `signalled`, their `share`, its exact binomial interval of
    99 % (`low`, `high`), and the `configured` probability from the running qdisc's options.
    """
    return pl.concat([_levels(run, kind) for run in runs for kind in KINDS])


def _levels(run: series.Run, kind: str) -> pl.DataFrame:
    """The averages' weight is 1: each packet's probability is that of the queue that it met."""
    (options,) = [
        queue["options"]
        for queue in run.field("observed.qdiscs.r1")
        if queue["kind"] == "dualred" and queue["dev"] == run.field("observed.qdiscs.r1.0.dev")
    ]
    capable = pl.col("ecn_in") != NOT_ECT
    signal = pl.col("ecn_out") == CE if kind == "mark" else pl.col("drop_ns").is_not_null()
    levels = (
        series.forward(run)
        .filter(capable if kind == "mark" else ~capable)
        .filter(pl.col("dequeue_ns").is_not_null() | (pl.col("drop") == "aqm_enqueue"))
        .group_by("queue_bytes")
        .agg(packets=pl.len(), signalled=signal.sum())
        .sort("queue_bytes")
        .collect()
    )
    found = [
        (
            queue / sharing.bdp_bytes(run),
            packets,
            signalled,
            signalled / packets,
            *interval(signalled, packets),
            configured(options, kind, queue),
        )
        for queue, packets, signalled in levels.iter_rows()
    ]
    names = ["queue_bdp", "packets", "signalled", "share", "low", "high", "configured"]
    return pl.DataFrame(found, schema=names, orient="row").select(
        pl.lit(run.axes["marks"]).alias("marks"), pl.lit(kind).alias("kind"), pl.all()
    )


def interval(successes: int, trials: int) -> tuple[float, float]:
    """The exact (Clopper-Pearson) confidence interval of a probability: with either end, what was
    found or more extreme has half of what the confidence leaves."""
    tail = (1 - CONFIDENCE) / 2
    low = _falls_to(1 - tail, lambda p: at_most(successes - 1, trials, p)) if successes else 0.0
    high = _falls_to(tail, lambda p: at_most(successes, trials, p)) if successes < trials else 1.0
    return low, high


def at_most(successes: int, trials: int, probability: float) -> float:
    """The chance of so many successes or fewer; `probability` is neither 0 nor 1."""
    number = np.arange(1, successes + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log((trials - number + 1) / number))])
    number = np.arange(successes + 1)
    logs = ways + number * np.log(probability) + (trials - number) * np.log1p(-probability)
    return float(np.exp(logs).sum())


def _falls_to(value: float, function: Callable[[float], float]) -> float:
    """Where a function that falls from 1 to 0 between 0 and 1 has a value."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > value else (low, middle)
    return (low + high) / 2


def configured(options: dict[str, float], kind: str, queue: int) -> float:
    """RED's probability, 1 from the maximum threshold on."""
    low, high = options[f"{kind}_min"], options[f"{kind}_max"]
    if queue >= high:
        return 1.0
    return options[f"{kind}_probability"] * max(queue - low, 0) / max(high - low, 1)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """Points with their intervals over the configured line, a panel each."""
    shown = table.with_columns(kind=pl.col("kind").replace_strict(KINDS))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("queue_bdp", "share", color="kind"))
        + p9.facet_grid("kind", "marks", scales="free_y")
        + p9.geom_line(p9.aes(y="configured"), color="#666666")
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), size=0.3, show_legend=False)
        + p9.geom_point(size=0.7, show_legend=False)
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Queue that a packet meets (BDP)", y="Probability")
    )
    return drawn
