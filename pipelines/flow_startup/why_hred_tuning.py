"""Why HRED tuned to 100 ms is neither late nor harmful: what other tunings do."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, pub2
from sandglass.papers import ensemble
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MEASURES = {
    "forced": "Overflows and cuts",
    "early": "Early drops",
    "fct_s": "Completion time (s)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `rtt_ms` of the path and `tuned_ms`, the RTT that HRED is told.

    `forced` are packets that found the buffer full or were cut, `early` those dropped by chance,
    and `fct_s` is the mean completion time.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("rtt_ms", "tuned_ms")


def _row(run: series.Run) -> dict[str, object]:
    own = pub2.table([run]).row(0, named=True)
    return {
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "tuned_ms": run.time_ns("experiment.bottleneck.queue.rtt") / 1e6,
        "forced": own["overflow"] + own["cut"],
        "early": own["early"],
        "fct_s": own["fct_s"],
    }


def plot(table: pl.DataFrame) -> ggplot:
    """The measures against what HRED is tuned to, a line per RTT of the path."""
    named = table.with_columns(line=pl.format("RTT {} ms", pl.col("rtt_ms").cast(pl.Int64)))
    shown = drawing.measures(named, "tuned_ms", "line", MEASURES)
    return drawing.lines(shown, "HRED is tuned to (ms)", "", log_x=True)


def rises(table: pl.DataFrame, column: str, rtt_ms: float) -> float | None:
    """The rank correlation of a column with what HRED is tuned to."""
    own = table.filter(rtt_ms=rtt_ms)
    if own["tuned_ms"].n_unique() < 2:
        return None
    means = ensemble.means(own, ["tuned_ms"], column)
    return scalar(means.select(pl.corr("tuned_ms", column, method="spearman")).item())


METRICS = (rises,)
