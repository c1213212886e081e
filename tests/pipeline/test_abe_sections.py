"""ABE's figures of what the report's text says: their metrics, on tables worked out by hand."""

import polars as pl
import pytest

from pipelines.abe import backoffs, delays, rule, sawtooth, short_flow, without_ecn
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
            ("off", "ABE", 1, 1.0),
            ("off", "ABE", 2, 3.0),
            ("on", "ABE", 1, 0.8),
            ("on", "ABE", 2, 2.4),
            ("off", "short", 21, 1.0),
        ],
        schema=["rule", "group", "flow", "goodput_mbit"],
        orient="row",
    )
    assert rule.on_over_off(table, "ABE") == pytest.approx(0.8)
    assert rule.on_over_off(table, "short") is None


def acks(rows: list[tuple[int, int, int, str]]) -> pl.DataFrame:
    """Acknowledgements of (ms, window, threshold, state), with a round trip of 100 ms."""
    columns = ["ms", "cwnd_packets", "ssthresh_packets", "ca_state"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    return table.select(pl.exclude("ms"), time_ns=pl.col("ms") * 1_000_000, srtt_us=pl.lit(100_000))


def test_backoffs_metrics() -> None:
    table = pl.DataFrame(
        [
            ("CUBIC", "marks", 0.7, 20.0, 0.69, None),
            ("CUBIC", "marks", 0.9, 20.0, 0.905, 0.9),
            ("CUBIC", "losses", 0.9, 20.0, 0.71, 0.7),
            ("CUBIC", "losses", 0.7, 1.0, 0.5, 0.6),
            ("CUBIC", "losses", 0.9, 1.0, 0.5, 0.8),
        ],
        schema=["sender", "signal", "beta", "rate_mbit", "share", "first_share"],
        orient="row",
    )
    assert value(backoffs.off(table, "CUBIC", "marks")) == pytest.approx(0.01)
    assert value(backoffs.off(table, "CUBIC", "losses")) == pytest.approx(0.01)
    assert backoffs.first(table, "CUBIC", "losses") == pytest.approx(0.6)
    assert backoffs.first(table, "CUBIC", "marks") is None


def test_without_ecn_counts_what_differs_from_regular() -> None:
    table = pl.DataFrame(
        {
            "sender": "NewReno",
            "lacking": "path",
            "beta": ["0.5", "0.95", "regular"],
            "differing": [0, 3, 9],
        }
    )
    assert value(without_ecn.most_differing(table)) == 3


def test_sawtooth_is_from_one_recovery_to_the_next() -> None:
    record = acks(
        [
            (0, 99, 50, "Open"),
            (100, 99, 50, "Recovery"),
            (200, 48, 50, "Recovery"),
            (300, 50, 50, "Open"),
            (900, 56, 50, "Open"),
            (1000, 56, 28, "Recovery"),
            (1100, 28, 28, "Open"),
        ]
    )
    begins = sawtooth.recoveries(record)
    assert begins.to_list() == [100_000_000, 1_000_000_000]
    tooth = sawtooth.teeth(record, begins).row(0, named=True)
    assert tooth["round_trips"] == pytest.approx(9)
    assert (tooth["low_packets"], tooth["high_packets"]) == (50, 56)


def test_sawtooth_metrics() -> None:
    table = pl.DataFrame(
        [
            (0.5, 0.1, 0.8, 1.1, 0.8, 1.0),
            (0.5, 1.0, 1.0, 3.0, 0.99, 50.0),
            (0.5, 2.0, 1.0, 3.0, 1.0, 90.0),
            (0.9, 0.1, 0.9, 0.7, 0.9, 2.0),
        ],
        schema=["beta", "buffer_bdp", "model", "slope", "utilisation", "queue_packets"],
        orient="row",
    )
    assert value(sawtooth.off(table, "slope")) == pytest.approx(0.3)
    assert value(sawtooth.least_utilisation(table, 0.5, 1)) == pytest.approx(0.99)
    assert sawtooth.queue_trend(table, 0.5, 1) == pytest.approx(1)
