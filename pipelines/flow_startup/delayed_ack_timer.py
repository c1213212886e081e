"""Section 2.3: slow start with delayed ACKs whose timer is long or short beside the RTT."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import aes, geom_hline, geom_line, geom_point, ggplot, labs, scale_x_log10

from pipelines.flow_startup import transients
from sandglass.papers.verdicts import scalar
from sandglass.results import series

ROUND_FROM = 3
"""By then the receiver has sent its 16 quick ACKs."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per RTT: `growth`, the geometric mean of packets sent in a round trip over those of
    the one before, from ROUND_FROM to the first that brings half of the receiver's window."""
    return pl.DataFrame([_row(run) for run in runs]).sort("rtt_ms")


def _row(run: series.Run) -> dict[str, float]:
    host = run.field("experiment.hosts.d1")
    # Linux offers half of the memory as window
    half = int(str(host["sysctls"]["net.ipv4.tcp_rmem"]).split()[-1]) / 4 / (host["mtu"] - 52)
    counts = transients.rounds(run).group_by("round").agg(packets=pl.len()).sort("round")
    late = counts.filter(pl.col("round") >= ROUND_FROM)["packets"]
    steps = int((late >= half).arg_max() or 0)
    assert steps  # slow start comes to half of the window
    return {
        "rtt_ms": run.time_ns("experiment.rtt") / 1e6,
        "growth": math.pow(late[steps] / late[0], 1 / steps),
    }


def plot(table: pl.DataFrame) -> ggplot:
    """The growth against the RTT; dotted what delayed ACKs give at least and at most."""
    drawn: ggplot = (
        ggplot(table, aes("rtt_ms", "growth"))
        + geom_hline(yintercept=[1.5, 2], linetype="dotted", color="#666666")
        + geom_line()
        + geom_point(size=1.8)
        + scale_x_log10()
        + labs(x="Base RTT (ms)", y="Growth per round trip")
    )
    return drawn


def extreme_growth(table: pl.DataFrame, most: bool) -> float | None:
    """The growth, the least or largest over RTTs."""
    return scalar(table["growth"].max() if most else table["growth"].min())


def spread(table: pl.DataFrame) -> float | None:
    """The largest growth less the least."""
    least, most = (extreme_growth(table, largest) for largest in (False, True))
    return None if least is None or most is None else most - least


METRICS = (extreme_growth, spread)
