"""Class L under highly dynamic load: a flow of each class and web load of both."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_hline, geom_line, geom_point, ggplot, labs

from pipelines.dualq import capture, equal_rtt
from sandglass.experiment import units
from sandglass.papers import ensemble
from sandglass.results import series, style

KEYS = ["rate_mbit", "rtt_ms", "load"]
QUANTITIES = ["p99_ms", "loss_pct", "used_pct"]


def measured(run: series.Run) -> dict[str, float | None]:
    """A run's `rtt_ms`; class L's 99th percentile of the delay, `p99_ms`, and loss, `loss_pct`;
    the utilisation, `used_pct`."""
    found = capture.statistics(run, equal_rtt.LEAD_IN_S)
    return {
        "rtt_ms": units.parse_time(str(run.axes["rtt"])) / 1e6,
        "p99_ms": found["qdelay_l_p99_ms"],
        "loss_pct": found["drop_l_pct"],
        "used_pct": found["util_mean_pct"],
    }


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `rate_mbit`, `rtt_ms` and web `load`: class L's 99th percentile of the delay,
    `p99_ms`, and loss, `loss_pct`, of long flows and web alike, and the utilisation, `used_pct`."""
    rows = [
        {
            "rate_mbit": run.rate_bps("experiment.bottleneck.rate") / 1e6,
            "load": str(run.axes["load"]).split()[0],
            **measured(run),
        }
        for run in runs
    ]
    return pl.DataFrame(rows).select(*KEYS, *QUANTITIES).sort(KEYS)


def plot(table: pl.DataFrame) -> ggplot:
    """Class L's 99th percentile against the round trip, a panel per load; dotted: 2 ms."""
    shown = ensemble.means(table, KEYS, "p99_ms").with_columns(
        panel=pl.format("{} Mb/s, {}", pl.col("rate_mbit").cast(pl.Int64), "load")
    )
    drawn: ggplot = (
        ggplot(shown, aes("rtt_ms", "p99_ms"))
        + facet_wrap("panel")
        + geom_hline(yintercept=2, linetype="dotted")
        + geom_line(color=style.PALETTE[0])
        + geom_point(color=style.PALETTE[0])
        + labs(x="Round trip (ms)", y="L: delay, p99 (ms)")
    )
    return drawn
