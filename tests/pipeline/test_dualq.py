"""The evaluation's own way to measure, and the statistics that it published."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.dualq import capture, mixed, overload

QUANTILES = [f"qdelay_{kind}_{part}_ms" for kind in "lc" for part in ("p25", "p50", "p99")]


def coded(delay_ms: float) -> float:
    return float(pl.select(capture.coded(pl.lit(delay_ms))).item())


@given(st.floats(min_value=0, max_value=130_000))
def test_a_delay_is_rounded_down_by_less_than_a_code(delay_ms: float) -> None:
    step = max(capture.TICK_MS, delay_ms / 2 ** (capture.MANTISSA_BITS - 1))
    assert delay_ms - step <= coded(delay_ms) <= delay_ms * (1 + 1e-12)


@given(st.floats(min_value=0, max_value=130_000))
def test_a_code_stays_what_it_is(delay_ms: float) -> None:
    once = coded(delay_ms)
    assert coded(once * (1 + 1e-12)) == pytest.approx(once)


@pytest.mark.parametrize("read", [mixed.published, overload.published])
def test_the_published_quantiles_are_codes(read: Callable[[], pl.DataFrame]) -> None:
    """So the published delays were read back from just this code."""
    values = read().filter(pl.col("quantity").is_in(QUANTILES)).drop_nulls()["published"]
    assert len(values) > 50
    # cut off after three digits; a mean of two published runs, of class L alone, need not be one
    single = [value for value in values if 0 <= coded(value + 1e-3) - value < 1e-3]
    assert len(single) >= 0.95 * len(values)


def test_there_are_72_published_cases_and_one_row_of_a_quantity_each() -> None:
    table = mixed.published().filter(quantity="util_mean_pct")
    assert table.select(mixed.KEY).is_unique().all()
    # class L alone stands twice among the 72, with CUBIC's set and with Reno's
    assert len(table) == 72 - 6


def points(ours: list[float], published: list[float]) -> pl.DataFrame:
    """A table of one case with DualPI2: ratio, then mean and p99 of L and of C."""
    names = ["rate_ratio_l_c", *(f"qdelay_{k}_{p}_ms" for k in "lc" for p in ("mean", "p99"))]
    return pl.DataFrame(
        {
            "aqm": "dualpi2",
            "sender_c": "cubic",
            "rtt_l_ms": 5,
            "rtt_c_ms": 10,
            "quantity": names,
            "ours": [float(value) for value in ours],
            "published": published,
        }
    )


@pytest.mark.parametrize(
    ("ours", "share"),
    [
        ([1.4, 1.19, 0.81, 1, 1], 1),
        ([1.6, 1, 1, 1, 1], 0),
        ([0.6, 1, 1, 1, 1], 0),
        ([1, 1.21, 1, 1, 1], 0),
        ([1, 1, 1, 1, 0.79], 0),
    ],
)
def test_a_point_agrees_if_all_of_it_does(ours: list[float], share: float) -> None:
    assert mixed.points_within(points(ours, [1.0] * 5), 20, 1.5) == share
