"""ABE's figures of what the report's text says: their metrics, on tables worked out by hand."""

import polars as pl
import pytest

from pipelines.abe import delays, rule, short_flow
from tests.pipeline.synthetic import value


def test_short_flow_metrics() -> None:
    table = pl.DataFrame(
        [(0.5, 1, 2, 3.0), (0.5, 2, 5, 3.0), (0.9, 1, 8, 2.0), (0.9, 2, 10, 2.5)],
        schema=["beta_ecn", "seed", "cuts", "fct_s"],
        orient="row",
    )
    assert short_flow.of(table, "cuts", 0.5) == [2, 5]
    assert short_flow.less(table, "fct_s", 0.9, 0.5) == [1, 0.5]
    assert short_flow.over(table, "cuts", 0.9, 0.5) == [4, 2]


def test_delays_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CoDel", 100.0, 0.5, 0.0, 3.0, 9.0),
            ("CoDel", 400.0, 0.5, 0.0, 4.0, 9.0),
            ("PIE", 100.0, 0.5, 1.0, 9.0, 5.0),
            ("PIE", 100.0, 0.5, 100.0, 12.0, 20.0),
            ("PIE", 100.0, 0.5, 200.0, 30.0, 15.0),
        ],
        schema=["queue", "rtt_ms", "beta", "burst_ms", "mean_ms", "tail_ms"],
        orient="row",
    )
    assert value(delays.mean_delay(table, "CoDel", 0.5)) == 4
    assert value(delays.mean_delay(table, "PIE", 0.5)) == 12
    assert delays.burst_trend(table, 100) == pytest.approx(0.5)
    assert delays.burst_trend(table.with_columns(tail_ms=pl.lit(5.0)), 100) == 0
    assert value(delays.heavier_tail(table, 100)) == 11
    assert delays.heavier_tail(table.head(2), 100) is None


def test_rule_metrics() -> None:
    table = pl.DataFrame(
        [
            ("off", "ABE", 1, 1.0, None),
            ("on", "ABE", 1, 0.8, None),
            ("off", "short", 21, 1.0, 2.0),
            ("off", "short", 22, 1.0, 4.0),
            ("on", "short", 21, 1.0, 3.0),
            ("on", "short", 22, 1.0, 4.0),
        ],
        schema=["rule", "group", "flow", "goodput_mbit", "fct_s"],
        orient="row",
    )
    assert rule.on_over_off(table, "ABE", "goodput_mbit") == pytest.approx(0.8)
    assert rule.on_over_off(table, "short", "fct_s") == pytest.approx((1.5 + 1) / 2)
