"""Mixed round trips, 40 Mb/s: ours and the published statistics of each of the 72 cases."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipelines.dualq import capture
from sandglass.papers.verdicts import scalar
from sandglass.results import series

PUBLISHED = Path(__file__).with_name("published-mixed-rtt.csv")
LEAD_IN_S = 15
KEY = ("aqm", "sender_c", "rtt_l_ms", "rtt_c_ms")
QUANTITIES = (
    "rate_ratio_l_c",
    *(f"qdelay_{kind}_{part}_ms" for kind in "lc" for part in ("mean", "p25", "p50", "p99")),
    "mark_l_pct",
    "drop_l_pct",
    "mark_c_pct",
    "drop_c_pct",
    "util_mean_pct",
    "util_p1_pct",
)
AQMS = {"dualpi2": "DualPI2", "pie": "PIE", "fq_codel": "FQ-CoDel"}
ALONE = "alone"


def case(run: series.Run) -> dict[str, str | int | None]:
    """The columns that name a run; `sender_c` is alone where class L is, and `rtt_c_ms` null."""
    kind, _, aqm = str(run.axes["experiment"]).partition("-")
    both = kind == "mixed"
    return {
        "aqm": aqm,
        "sender_c": str(run.axes["sender_c"]) if both else ALONE,
        "rtt_l_ms": _ms(run.axes["rtt_l"]),
        "rtt_c_ms": _ms(run.axes["rtt_c"]) if both else None,
    }


def _ms(text: object) -> int:
    return int(str(text).removesuffix("ms"))


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per case and quantity: `ours`, and `published`, the mean where it has two runs.

    Class L alone was published twice, in the sets with CUBIC and with Reno.
    """
    rows = []
    for run in runs:
        named, found = case(run), capture.statistics(run, LEAD_IN_S)
        if named["sender_c"] != ALONE:
            low, classic = found["tput_l_mbit"], found["tput_c_mbit"]
            found["rate_ratio_l_c"] = low / classic if low and classic else None
        rows += [{**named, "quantity": name, "ours": found.get(name)} for name in QUANTITIES]
    ours = pl.DataFrame(rows, schema_overrides={"rtt_c_ms": pl.Int64, "ours": pl.Float64})
    found_there = published()
    return (
        ours.join(found_there, on=[*KEY, "quantity"], how="left", nulls_equal=True)
        .drop_nulls("ours")
        .sort(*KEY, "quantity", nulls_last=False)
    )


def published() -> pl.DataFrame:
    """The published statistics, one row per case and quantity: KEY, `quantity`, `published`."""
    return (
        pl.read_csv(PUBLISHED, infer_schema_length=None)
        .with_columns(sender_c=pl.col("sender_c").fill_null(ALONE))
        .unpivot(QUANTITIES, index=list(KEY), variable_name="quantity", value_name="published")
        .group_by(*KEY, "quantity")
        .agg(pl.col("published").cast(pl.Float64).mean())
    )


def chosen(
    table: pl.DataFrame, aqm: str, quantity: str, sender_c: Sequence[str] = ("cubic", "reno")
) -> pl.DataFrame:
    """The rows of a quantity with an AQM and with these senders of class C."""
    return table.filter(
        pl.col("aqm") == aqm, pl.col("quantity") == quantity, pl.col("sender_c").is_in(sender_c)
    )


def within_factor(
    table: pl.DataFrame,
    aqm: str,
    quantity: str,
    factor: float,
    sender_c: Sequence[str] = ("cubic", "reno"),
) -> float | None:
    """The share of cases whose value is within a factor of the published one."""
    rows = chosen(table, aqm, quantity, sender_c).drop_nulls("published")
    quotient = rows["ours"] / rows["published"]
    return scalar(((quotient <= factor) & (quotient >= 1 / factor)).mean())


def points_within(table: pl.DataFrame, percent: float, factor: float) -> float | None:
    """The share of DualPI2's cases with both classes in which L's and C's mean and 99th percentile
    are within so many percent, and the rates' ratio within a factor, of the published ones."""
    delays = [f"qdelay_{kind}_{part}_ms" for kind in "lc" for part in ("mean", "p99")]
    wrong = (
        pl.when(pl.col("quantity") == "rate_ratio_l_c")
        .then((pl.col("ours") / pl.col("published")).log().abs() > pl.lit(factor).log())
        .otherwise((pl.col("ours") / pl.col("published") - 1).abs() > percent / 100)
    )
    cases = (
        table.filter(
            pl.col("aqm") == "dualpi2",
            pl.col("sender_c") != ALONE,
            pl.col("quantity").is_in([*delays, "rate_ratio_l_c"]),
        )
        .group_by(KEY)
        .agg(good=~wrong.any())
    )
    return scalar(cases["good"].mean())


def most(
    table: pl.DataFrame, aqm: str, quantity: str, sender_c: Sequence[str] = ("cubic", "reno")
) -> float | None:
    """The largest value over the cases."""
    return scalar(chosen(table, aqm, quantity, sender_c)["ours"].max())


def least_growth(table: pl.DataFrame, aqm: str) -> float | None:
    """The least step of the rates' ratio from one round trip of class C to the next longer one, as
    a quotient, over senders and round trips of class L."""
    rows = chosen(table, aqm, "rate_ratio_l_c").sort("rtt_c_ms")
    steps = rows.select(
        step=(pl.col("ours") / pl.col("ours").shift(1)).over("sender_c", "rtt_l_ms")
    )
    return scalar(steps["step"].min())
