"""Section 1.4, Publication III: PIE's departure-rate estimator on slow links."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.flow_startup import drawing, transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

MEASURES = {
    "rising": "Updates that raise the probability (%)",
    "early": "Early drops",
    "delay_ms": "Mean queueing delay (ms)",
}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per rate and `sample`, over how many bytes the rate of departure is measured.

    Of samples of the queue while it holds packets, `rising` is the share in percent at which the
    probability was above that of the sample before; `early` drops are those by chance; `delay_ms`
    the mean wait.
    """
    return pl.DataFrame([_row(run) for run in runs]).sort("sample", "rate_mbit")


def _row(run: series.Run) -> dict[str, object]:
    samples = series.queue_samples(run)
    busy = samples.with_columns(rising=pl.col("prob").diff() > 0).filter(
        pl.col("backlog_packets") > 0
    )
    last = samples.tail(1)
    return {
        "sample": str(run.axes["sample"]),
        "rate_mbit": transients.rate_mbit(run),
        "rising": 100 * (scalar(busy["rising"].mean()) or 0.0),
        "early": int(last["dropped"].item()) - int(last["overlimit"].item()),
        "delay_ms": transients.waits(run)["delay_ms"],
    }


def plot(table: pl.DataFrame) -> ggplot:
    """Measures against the rate, a line per sample."""
    shown = drawing.measures(table, "rate_mbit", "sample", MEASURES)
    return drawing.lines(shown, "Link (Mb/s)", "", log_x=True)
