"""Unresponsive datagrams beside five flows of each class: ours and the published statistics."""

import math
from collections.abc import Sequence
from pathlib import Path

import plotnine as p9
import polars as pl

from pipelines.dualq import capture
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

PUBLISHED = Path(__file__).with_name("published-overload.csv")
LEAD_IN_S = 60
LIMIT_PACKETS = 10240  # of CoDel
PAYLOAD_BYTES = 1470
KEY = ("run", "udp_ecn", "udp_mbit")
QUANTITIES = (
    "tput_l_mbit",
    "tput_c_mbit",
    "rate_ratio_l_c",
    "tput_udp_mbit",
    *(f"qdelay_{kind}_{part}_ms" for kind in ("l", "c", "udp") for part in ("mean", "p50", "p99")),
    "mark_l_pct",
    "drop_l_pct",
    "drop_c_pct",
    "mark_udp_pct",
    "drop_udp_pct",
    "util_mean_pct",
    "util_p1_pct",
)
SHOWN = {
    "tput_udp_mbit": "Datagrams",
    "qdelay_l_mean_ms": "L waits",
    "qdelay_c_mean_ms": "C waits",
}
RUNS = {
    "2022-02": "DualPI2, CUBIC",
    "2022-01": "DualPI2, Reno",
    "2021-09": "DualPI2, half gain",
    "2021-10": "PIE",
    "CoDel": "CoDel",
}
LABELS = {"ect1": "with a label", "ect": "with a label", "not_ect": "without"}


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per published run, label, load and quantity: `ours` and `published`.

    Throughputs of L and C are those of one flow.
    """
    rows = []
    for run in runs:
        found = capture.statistics(run, LEAD_IN_S)
        counts = {kind: _count(run, host) for kind, host in capture.CLASSES.items()}
        found |= capture.per_flow(found, counts)
        low, classic = found["tput_l_mbit"], found["tput_c_mbit"]
        found["rate_ratio_l_c"] = low / classic if low and classic else None
        named = {
            "run": str(run.axes["published"]),
            "udp_ecn": str(run.axes["label"]),
            "udp_mbit": int(str(run.axes["load"]).removesuffix("mbit")),
        }
        rows += [{**named, "quantity": name, "ours": found.get(name)} for name in QUANTITIES]
    return (
        pl.DataFrame(rows, schema_overrides={"ours": pl.Float64})
        .join(published(), on=[*KEY, "quantity"], how="left")
        .drop_nulls("ours")
        .sort(*KEY, "quantity")
    )


def _count(run: series.Run, host: str) -> int:
    """How many TCP flows a host sends."""
    flows = run.field("flows")
    return sum(1 for flow in flows if flow["from"] == host and flow["workload"] == "bulk")


def published() -> pl.DataFrame:
    """The published statistics, one row per case and quantity: KEY, `quantity`, `published`."""
    return (
        pl.read_csv(PUBLISHED, infer_schema_length=None)
        .unpivot(QUANTITIES, index=list(KEY), variable_name="quantity", value_name="published")
        .with_columns(pl.col("published").cast(pl.Float64))
    )


def chosen(
    table: pl.DataFrame, run: str, quantity: str, label: str, loads: Sequence[int]
) -> pl.DataFrame:
    """The rows of a quantity in a published run with a label of the datagrams, at some loads."""
    return table.filter(
        pl.col("run") == run,
        pl.col("quantity") == quantity,
        pl.col("udp_ecn") == label,
        pl.col("udp_mbit").is_in(loads),
    )


def least_of_limit(table: pl.DataFrame, run: str, label: str, loads: Sequence[int]) -> float | None:
    """The median delay of the datagrams over the time in which a full buffer of them comes, the
    least over the loads."""
    rows = chosen(table, run, "qdelay_udp_p50_ms", label, loads)
    full_ms = LIMIT_PACKETS * PAYLOAD_BYTES * 8 / (rows["udp_mbit"] * 1000)
    return scalar((rows["ours"] / full_ms).min())


def most_factor(
    table: pl.DataFrame, run: str, quantity: str, label: str, loads: Sequence[int]
) -> float | None:
    """How many times as large as the published value, or as small, ours is: the most over the
    loads."""
    rows = chosen(table, run, quantity, label, loads)
    factor = scalar((rows["ours"] / rows["published"]).log().abs().max())
    return None if factor is None else math.exp(factor)


def coupling_error(table: pl.DataFrame, run: str, label: str, loads: Sequence[int]) -> float | None:
    """The largest relative distance of L's marking from 2 sqrt(C's losses), over the loads."""
    marks = chosen(table, run, "mark_l_pct", label, loads)["ours"] / 100
    drops = chosen(table, run, "drop_c_pct", label, loads)["ours"] / 100
    return scalar((marks / (2 * drops.sqrt()) - 1).abs().max())


METRICS = (least_of_limit, most_factor, coupling_error)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What the datagrams get, and both classes' mean delays, against the load; rings: published."""
    shown = table.filter(pl.col("quantity").is_in([*SHOWN])).with_columns(
        what=pl.col("quantity").replace_strict(SHOWN, return_dtype=pl.Enum([*SHOWN.values()])),
        label=pl.col("udp_ecn").replace_strict(LABELS),
        run=pl.col("run").replace_strict(RUNS, return_dtype=pl.Enum([*RUNS.values()])),
    )
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("udp_mbit", "ours", color="label"))
        + p9.facet_grid("what", "run", scales="free_y")
        + p9.geom_line()
        + p9.geom_point(p9.aes(y="published"), shape="o", fill="none", size=2, na_rm=True)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(
            x="Load of datagrams (Mb/s of payload)", y="ms; datagrams: Mb/s", color="Datagrams"
        )
    )
    return drawn
