"""ABE's figures of why others differ: their metrics, on tables worked out by hand."""

import functools

import polars as pl
import pytest

from pipelines.abe import (
    why_codel_interval,
    why_codel_target,
    why_convergence,
    why_delayed_ack,
    why_index,
    why_initial_window,
    why_late,
    why_pie_delay,
    why_saturation,
    why_standing_queue,
    why_step,
    why_tail,
)
from tests.pipeline.synthetic import measured, value


def test_why_codel_interval_metrics() -> None:
    table = pl.DataFrame(
        [
            (100.0, 100.0, 0.5, 0.0, 9.0),
            (100.0, 100.0, 0.7, 8.0, 9.7),
            (100.0, 400.0, 0.5, 0.0, 9.0),
            (100.0, 400.0, 0.7, 3.0, 8.0),
            (500.0, 400.0, 0.7, 16.0, 9.9),
        ],
        schema=[
            "interval_ms",
            "rtt_ms",
            "beta",
            "gain_percent",
            "departed_mb",
        ],
        orient="row",
    ).with_columns(control=pl.lit("NewReno"), queue=pl.lit("CoDel"), time_s=pl.lit(300.0))
    gain = functools.partial(
        measured, why_codel_interval, "gain", table, control="NewReno", rtt_ms=400, beta=0.7
    )
    assert gain(interval_ms=100) == 3
    assert gain(interval_ms=500) == 16
    assert why_codel_interval.rtt_excess(table, 100) == pytest.approx(-5)
    assert why_codel_interval.order(table, 100, "NewReno", 400) == pytest.approx(-1)


def test_why_delayed_ack_metrics() -> None:
    table = pl.DataFrame(
        {"receiver": ["delays its ACKs", "answers each packet"], "gain_percent": [9.0, 16.0]}
    ).with_columns(
        control=pl.lit("NewReno"),
        queue=pl.lit("PIE"),
        rtt_ms=pl.lit(400.0),
        beta=pl.lit(0.7),
        time_s=pl.lit(300.0),
    )
    assert measured(why_delayed_ack, "gain", table, receiver="delays its ACKs", beta=0.7) == 9
    lowered = functools.partial(
        measured,
        why_delayed_ack,
        "lowered",
        table,
        by="delays its ACKs",
        over="answers each packet",
    )
    assert lowered(beta=0.7) == 7
    assert lowered(beta=0.8) is None


def test_why_initial_window_metrics() -> None:
    table = pl.DataFrame(
        {
            "rtt_ms": [160.0, 240.0],
            "beta": 0.5,
            "initial_window": 8,
            "back_offs": [3, 2],
            "left_bdp": [0.5, 0.3],
        }
    )
    assert measured(why_initial_window, "back_offs", table, initial_window=8, beta=0.5) == 3
    assert measured(
        why_initial_window, "luckier_by", table, initial_window=8, beta=0.5
    ) == pytest.approx(0.2)
    assert (
        measured(why_initial_window, "luckier_by", table.head(1), initial_window=8, beta=0.5)
        is None
    )


def test_why_codel_target_metrics() -> None:
    table = pl.DataFrame(
        {"target_ms": [5.0, 5.0, 26.0], "share": [0.97, 0.92, 0.99], "model": [0.98, 0.9, 1.0]}
    )
    assert measured(why_codel_target, "least_share", table, target_ms=5) == pytest.approx(0.92)
    assert measured(why_codel_target, "model_error", table, target_ms=5) == pytest.approx(0.02)


def test_why_codel_target_compares_targets() -> None:
    table = pl.DataFrame(
        [
            ("with", 20.0, 5.0, 19.0, 6.0),
            ("with", 20.0, 26.0, 20.0, 20.0),
            ("with", 60.0, 5.0, 18.0, 8.0),
            ("with", 60.0, 26.0, 20.0, 16.0),
            ("without", 60.0, 5.0, 16.0, 4.0),
            ("without", 60.0, 26.0, 20.0, 16.0),
        ],
        schema=["ecn", "rtt_ms", "target_ms", "throughput_mbit", "queue_delay_p95_ms"],
        orient="row",
    )
    assert measured(
        why_codel_target, "delay_over", table, target_ms=5, over_ms=26
    ) == pytest.approx(0.5)
    assert value(why_codel_target.lost(table, 5, 26, 60, True)) == pytest.approx(0.2)
    assert value(why_codel_target.lost(table, 5, 26, 60, False)) == pytest.approx(0.1)
    assert why_codel_target.lost(table, 5, 26, 80, False) is None


def test_why_standing_queue_compares_gains() -> None:
    rows = [(2.0, 0.5, 10.0), (2.0, 0.8, 12.0), (5.0, 0.5, 10.0), (5.0, 0.8, 11.0)]
    table = pl.DataFrame(
        rows, schema=["target_ms", "beta", "throughput_mbit"], orient="row"
    ).with_columns(rtt_ms=pl.lit(20.0))
    assert value(why_standing_queue.gains_more(table, 0.8, 0.5, 2, 5)) == pytest.approx(0.1)
    assert why_standing_queue.gains_more(table, 0.9, 0.5, 2, 5) is None


def test_why_convergence_reads_the_index_in_other_ways() -> None:
    indices = pl.DataFrame(
        {"time_s": [0.2, 0.9, 1.5, 2.5, 3.5, 4.5], "index": [0.96, 0.9, 0.97, 0.9, 0.95, 0.99]}
    )
    assert why_convergence.each_second(indices) == 2
    assert why_convergence.for_good(indices) == 3.5
    assert why_convergence.for_good(indices.tail(2)) == 3.5
    assert why_convergence.for_good(indices.head(4)) is None


def test_why_convergence_takes_the_change_that_comes_nearest() -> None:
    rows = [
        ("as it is", "PIE", 9.0, 9.0),
        ("as it is", "PIE", 8.0, 8.0),
        ("no HyStart", "PIE", 0.5, 0.5),
        ("no HyStart", "CoDel", 1.2, 1.2),
        ("initial window 3", "PIE", None, None),
        ("initial window 3", "PIE", 1.5, 1.5),
    ]
    table = pl.DataFrame(
        rows, schema=["changed", "queue", "convergence_s", "ratio"], orient="row"
    ).with_columns(control=pl.lit("CUBIC"), beta_ecn=pl.lit(0.9), default=pl.lit(0.7))
    assert value(why_convergence.most_slower(table, "CUBIC", 0.9)) == 1
    assert value(why_convergence.most_faster(table, "CUBIC", 0.9, "PIE")) == 1
    assert value(why_convergence.least_faster(table, "CUBIC", 0.9)) == 0
    assert value(why_convergence.least_harmed(table, "CUBIC", 0.9, 0.1)) == 0.5
    assert value(why_convergence.least_never(table, "CUBIC")) == 0
    assert why_convergence.least_never(table, "NewReno") is None


def test_why_index_tells_readings_apart() -> None:
    rows = [
        ("CUBIC", "index first", "PIE", 0.5, 0.5),
        ("CUBIC", "index for good", "PIE", 2.0, 2.0),
        ("CUBIC", "index for good", "CoDel", 1.05, 1.05),
        ("NewReno", "index for good", "PIE", 0.5, 0.5),
    ]
    table = pl.DataFrame(
        rows, schema=["control", "reading", "queue", "convergence_s", "ratio"], orient="row"
    ).with_columns(beta_ecn=pl.lit(0.5), default=pl.lit(0.7))
    assert why_index.slower(table, "CUBIC", "index first", 0.5) == 0
    assert why_index.slower(table, "CUBIC", "index for good", 0.5) == 1
    assert why_index.slower(table, "CUBIC", "index for good", 0.5, 0.1) == 0.5
    assert why_index.faster(table, "CUBIC", "index for good", 0.5) == 0
    assert why_index.faster(table, "NewReno", "index for good", 0.5, "PIE") == 1
    assert why_index.faster(table, "NewReno", "index for good", 0.5, "CoDel") is None
    assert set(why_index.READINGS) == {"index first", "index once a second", "index for good"}


MS = 1_000_000


def test_cuts_within_two_round_trips_are_one_event() -> None:
    """A cut of 100 to 80 and then to 64 leaves 0.64, one alone 0.8."""
    infinite = None
    acks = pl.DataFrame(
        [
            (0, 100, infinite, "Open"),
            (1, 100, 80, "CWR"),
            (50, 80, 80, "CWR"),
            (101, 80, 80, "Open"),
            (102, 80, 64, "CWR"),
            (150, 64, 64, "CWR"),
            (200, 64, 64, "Open"),
            (900, 100, 64, "Open"),
            (901, 100, 80, "CWR"),
            (950, 80, 80, "Open"),
        ],
        schema={
            "time_ns": pl.Int64,
            "cwnd_packets": pl.Int64,
            "ssthresh_packets": pl.Int64,
            "ca_state": pl.String,
        },
        orient="row",
    ).with_columns(pl.col("time_ns") * MS)
    found = why_step.cuts(acks, 100 * MS)
    assert found["time_ns"].to_list() == [1 * MS, 901 * MS]
    assert found["left"].to_list() == pytest.approx([0.64, 0.8])


def test_a_cut_follows_another_with_no_ack_between() -> None:
    """Linux may leave and enter CWR at one ACK, which tells of it by its ssthresh alone."""
    acks = pl.DataFrame(
        [(0, 100, 200, "Open"), (1, 100, 80, "CWR"), (101, 80, 64, "CWR")],
        schema=["time_ns", "cwnd_packets", "ssthresh_packets", "ca_state"],
        orient="row",
    ).with_columns(pl.col("time_ns") * MS)
    assert why_step.cuts(acks, 100 * MS)["left"].to_list() == pytest.approx([0.64])


def test_why_step_compares_parts_and_markings() -> None:
    table = pl.DataFrame(
        [
            ("step 5 ms", "at once", "second half", 0.5, 10.0, 1.0, 0.5),
            ("step 5 ms", "at once", "second half", 0.8, 12.0, 2.0, 0.8),
            ("step 5 ms", "Linux's", "second half", 0.8, 11.0, 2.0, 0.64),
            ("CoDel", "at once", "second half", 0.8, 16.0, 1.0, 0.8),
        ],
        schema=[*why_step.KEYS, "throughput_mbit", "delay_ms", "left"],
        orient="row",
    )
    late = {"cut": "at once", "part": "second half"}
    assert why_step.gain(table, "step 5 ms", beta=0.8, over=0.5, **late) == pytest.approx(0.2)
    assert why_step.gain(table, "CoDel", beta=0.8, over=0.5, **late) is None
    assert why_step.step_over_codel(table, "throughput_mbit", beta=0.8, **late) == 0.75
    assert why_step.step_over_codel(table, "delay_ms", beta=0.8, **late) == 2
    assert why_step.left(table, "step 5 ms", "Linux's", "second half", 0.8) == 0.64
    late_step = {"marking": "step 5 ms", "part": "second half"}
    assert why_step.at_once(table, "left", beta=0.8, **late_step) == pytest.approx(1.25)
    assert why_step.at_once(table, "left", beta=0.5, **late_step) is None


def test_why_saturation_is_of_one_way() -> None:
    table = pl.DataFrame(
        [("8 MB", 0.75, 18.0), ("8 MB", 0.95, 24.0), ("2.5 Mb/s", 0.75, 18.0)],
        schema=["varied", "beta_ecn", "gain_percent"],
        orient="row",
    ).with_columns(queue=pl.lit("PIE"), rtt_ms=pl.lit(400.0))
    assert value(why_saturation.saturation(table, "8 MB", 0.75)) == pytest.approx(0.75)
    assert value(why_saturation.saturation(table, "2.5 Mb/s", 0.75)) == 1
    assert why_saturation.saturation(table, "as it is", 0.75) is None


def test_why_late_counts_what_never_converges_as_late() -> None:
    table = pl.DataFrame({"control": "CUBIC", "convergence_s": [3.0, 61.0, None, 299.0]})
    assert why_late.never(table, "CUBIC", 60) == 75
    assert why_late.never(table, "CUBIC", 300) == 25
    assert why_late.never(table, "NewReno", 60) is None


def test_why_pie_delay_takes_a_percentile() -> None:
    table = pl.DataFrame({"varied": "both", "percentile": [90, 95], "delay_ms": [19.0, 25.0]})
    assert measured(why_pie_delay, "percentile", table, varied="both", percent=90) == 19
    assert measured(why_pie_delay, "percentile", table, varied="as it is", percent=90) is None


def test_why_tail_compares_gains() -> None:
    table = pl.DataFrame(
        [
            (0.5, 1.0, 20.0, 0.3),
            (0.5, 8.0, 16.0, 0.2),
            (0.95, 1.0, 100.0, 1.0),
            (0.95, 8.0, 10.0, 1.0),
        ],
        schema=["beta", "gains", "tail_ms", "early_share"],
        orient="row",
    )
    assert measured(why_tail, "tail_ratio", table, beta=0.5, gains=8, over=1) == pytest.approx(0.8)
    assert measured(why_tail, "tail_ratio", table, beta=0.95, gains=8, over=1) == pytest.approx(0.1)
    assert measured(why_tail, "tail_ratio", table, beta=0.5, gains=4, over=1) is None
    assert measured(why_tail, "early", table, beta=0.5, gains=1) == 0.3
