"""The additive increase in use."""

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot, scale_y_log10

from pipelines.ls_aimd import bars, steady
from sandglass.papers.verdicts import scalar
from sandglass.results import series

HEADERS = 52
"""Derived: of IPv4 and TCP with timestamps; the plan's SMSS is so much below its MTU."""
LAWS = {1448: (256, 512), 8948: (1024, 2048)}
"""Stated: k0 and k1 by SMSS."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run: `increase_bytes` in a round trip, `smss` and their ratio `segments`.

    LS-AIMD's is the mean over ACKs of what the module holds; beside it `stated_bytes`, the mean of
    the thesis's formula for the threshold that it holds. AIMD's is a segment.
    """
    rows: list[dict[str, object]] = []
    for run in runs:
        smss = run.field("experiment.hosts.s1.mtu") - HEADERS
        increase = stated = float(smss)
        if steady.case(run)["sender"] != "AIMD":
            k0, k1 = LAWS[smss]
            c = int(run.field("experiment.hosts.s1.sysctls")["net.ipv4.tcp_lsaimd.c"]) / 128
            formula = c * k0 * (pl.col("threshold_bytes") / k1 + 1).log(2)
            increase, stated = (
                steady.acks(run)
                .select(pl.col("increase_bytes").mean(), formula.mean().alias("stated"))
                .collect()
                .row(0)
            )
        rows.append(
            {
                **steady.case(run),
                "increase_bytes": increase,
                "stated_bytes": stated,
                "smss": smss,
                "segments": increase / smss,
            }
        )
    return steady.ordered(rows)


def plot(table: pl.DataFrame) -> ggplot:
    """The increase in bytes by experiment."""
    return bars.drawn(table, "increase_bytes", "Increase per round trip (bytes)") + scale_y_log10()


def share(table: pl.DataFrame) -> float | None:
    """The largest ratio of the increases with C = 1/128 and with C = 1, over experiments."""
    keys = ["case", "marking"]
    one, other = (
        table.filter(pl.col("sender") == sender).select(*keys, "increase_bytes")
        for sender in steady.SENDERS[1:]
    )
    both = one.join(other, on=keys, suffix="_full")
    return scalar((both["increase_bytes"] / both["increase_bytes_full"]).max())


METRICS = (share,)
