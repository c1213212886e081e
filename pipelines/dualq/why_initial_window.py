"""Why class L waits longer under web load: the initial window of each request's flow."""

from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs, scale_color_manual

from pipelines.dualq import web
from sandglass.papers import ensemble
from sandglass.results import series, style

KEYS = ["initial_window", "rtt_ms"]


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per `initial_window` in packets and `rtt_ms`: class L's 99th percentile of the delay,
    `p99_ms`, and the utilisation, `used_pct`."""
    rows = [
        {"initial_window": int(run.axes["initial_window"]), **web.measured(run)} for run in runs
    ]
    return pl.DataFrame(rows).select(*KEYS, "p99_ms", "used_pct").sort(KEYS)


def plot(table: pl.DataFrame) -> ggplot:
    """The 99th percentile against the round trip, a line per initial window; dotted: 2 ms."""
    shown = ensemble.means(table, KEYS, "p99_ms")
    drawn: ggplot = (
        ggplot(shown, aes("rtt_ms", "p99_ms", color="factor(initial_window)"))
        + geom_hline(yintercept=2, linetype="dotted")
        + geom_line()
        + geom_point()
        + scale_color_manual(style.PALETTE)
        + labs(x="Round trip (ms)", y="L: delay, p99 (ms)", color="Initial window\n(packets)")
    )
    return drawn
