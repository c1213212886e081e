"""The evaluation's own way to measure, and the statistics that it published."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.dualq import (
    capture,
    mixed,
    overload,
    web,
    why_bursts,
    why_codel_fades,
    why_initial_window,
)
from pipelines.dualq.workloads import requests
from sandglass.papers import grid
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured

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


def test_all_published_cases_of_overload_are_run() -> None:
    """CoDel's are not published."""
    figures = ("overload", "overload_half_gain")
    axes = [point.labels for each in figures for point in grid.points("dualq", each, "paper")]
    run = [(str(each["published"]), each["label"], each["load"]) for each in axes]
    cases = overload.published().select(overload.KEY).unique()
    assert len(cases) == 40
    assert sorted(case for case in run if case[0] != "CoDel") == sorted(
        (name, label, f"{load}mbit") for name, label, load in cases.rows()
    )


def test_what_datagrams_get_is_compared_with_its_own_set() -> None:
    rows = [
        ("2021-09", "ect", 50, 52.0, 51.4),
        ("2021-09", "ect", 70, 70.0, 72.0),
        ("2021-09", "not_ect", 70, 60.0, 69.4),
        ("2022-01", "ect", 70, 50.0, 72.0),
    ]
    table = frame([*overload.KEY, "ours", "published"], *rows).with_columns(
        quantity=pl.lit("tput_udp_mbit")
    )
    found = measured(
        overload,
        "most_difference",
        table,
        run="2021-09",
        quantity="tput_udp_mbit",
        label="ect",
        loads=[50, 70],
    )
    assert found == pytest.approx(2)
    found = overload.most_factor(table, "2021-09", "tput_udp_mbit", "not_ect", [50, 70])
    assert found == pytest.approx(69.4 / 60)


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


def frame(columns: list[str], *rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=columns, orient="row")


def captured(directory: Path, *packets: tuple[int, str, int, int], **axes: Any) -> Run:
    """A run of packets by second, source, protocol and bytes; each waits 1 ms and is marked."""
    pl.DataFrame(
        [
            ("bottleneck", "forward", src, protocol, second * 10**9, size, 10**6, 3, None)
            for second, src, protocol, size in packets
        ],
        schema={
            "bottleneck": pl.String,
            "direction": pl.String,
            "src": pl.String,
            "protocol": pl.UInt8,
            "dequeue_ns": pl.Int64,
            "size_bytes": pl.UInt32,
            "sojourn_ns": pl.Int64,
            "ecn_out": pl.UInt8,
            "drop_ns": pl.Int64,
        },
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    made = document()
    made["experiment"] |= {"duration": "160s", "bottleneck": {"rate": "40mbit"}}
    return Run(directory, axes, made)


def test_web_sizes_are_the_evaluations() -> None:
    """Its median, 90th and 99th percentile within 10 %, and the mean within 5."""
    sizes = pl.Series([requests.size(1, f"{number}") for number in range(20_000)])
    assert sizes.is_between(1000, 1_000_000).all()
    for share, stated in ((0.5, 2150), (0.9, 12_600), (0.99, 141_000)):
        assert sizes.quantile(share) == pytest.approx(stated, rel=0.1)
    assert requests.mean() == pytest.approx(9100, rel=0.05)
    assert sizes.mean() == pytest.approx(requests.mean(), rel=0.1)


def test_web_load(tmp_path: Path) -> None:
    sent = [(60 + second, "s1", 6, 5_000_000) for second in range(100)]
    (row,) = web.table([captured(tmp_path, *sent, rtt="10ms", load="heavy 40")]).to_dicts()
    assert (row["rate_mbit"], row["rtt_ms"], row["load"]) == (40, 10, "heavy")
    assert (row["p99_ms"], row["loss_pct"], row["used_pct"]) == (coded(1), 0, 100)
    table = frame([*web.KEYS, "p99_ms"], (40.0, 5.0, "heavy", 1.0), (40.0, 10.0, "heavy", 1.5))
    assert measured(web, "most", table, quantity="p99_ms") == 1.5
    assert measured(web, "least", table, quantity="p99_ms") == 1


def test_initial_windows(tmp_path: Path) -> None:
    run = captured(tmp_path, (70, "s1", 6, 5_000_000), initial_window="3", rtt="10ms")
    columns = ["initial_window", "rtt_ms", "p99_ms", "used_pct"]
    made = why_initial_window.table([run])
    assert made.columns == columns
    assert made.row(0)[:3] == (3, 10, coded(1))
    table = frame(columns, (1, 10.0, 1.0, 90.0), (1, 20.0, 2.0, 80.0), (10, 10.0, 3.0, 70.0))
    assert measured(why_initial_window, "most", table, quantity="p99_ms", initial_window=1) == 2
    assert measured(why_initial_window, "least", table, quantity="used_pct", initial_window=1) == 80


def test_bursts(tmp_path: Path) -> None:
    run = captured(tmp_path, (20, "s1", 6, 1514), bursts="one by one", rtt_c="100ms")
    assert why_bursts.table([run]).rows() == [("one by one", 100, coded(1))]
    table = frame(
        ["bursts", "rtt_c_ms", "p50_ms"], ("a", 5.0, 0.2), ("a", 10.0, 0.3), ("b", 5.0, 1)
    )
    assert measured(why_bursts, "most", table, bursts="a") == 0.3


def test_windows_of_datagrams(tmp_path: Path) -> None:
    """The second before the capture is not in it, nor is TCP."""
    sent = [(second, "s1", 17, 50_000_000 // 8) for second in (59, 60, 109, 110)]
    table = why_codel_fades.table([captured(tmp_path, *sent, (61, "s1", 6, 1514))])
    assert table.rows() == [(60, 2), (110, 1)]
    assert measured(why_codel_fades, "least", table, since_s=60, until_s=110) == 1
    assert measured(why_codel_fades, "least", table, since_s=60, until_s=60) == 2
