"""Figs. 12 to 19 of ABE: their reduction of runs and their metrics, worked out by hand."""

import functools
from math import log

import polars as pl
import pytest

from pipelines.abe import (
    completion,
    convergence,
    fig12,
    fig14,
    fig16,
    fig17,
    fig18,
    fig19,
    fig19_short,
    friendliness,
    more_flows,
    remaining_betas,
    testbed_convergence,
)
from tests.pipeline.synthetic import measured, value

STEP_NS = 10_000_000


def goodput(*flows: list[tuple[int, int]]) -> pl.DataFrame:
    """The goodput record of flows given as (time in ns, bytes so far)."""
    rows = [(at, number, size) for number, flow in enumerate(flows, 1) for at, size in flow]
    schema = {"time_ns": pl.Int64, "flow": pl.UInt16, "bytes": pl.UInt64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("time_ns")


def test_convergence_counts_bytes_from_the_entry_on() -> None:
    """Flow 1 sends 10 a step after 1000 before; flow 2 sends 20 a step from the 5th on.

    After k steps Jain's index is (30 k - 40)^2 / (2 (100 k^2 + (20 k - 80)^2)) with flow 2 four
    steps late: 0.934 at k = 6 and 0.966 at k = 7.
    """
    entry_ns = 100 * STEP_NS
    first = [((100 + k) * STEP_NS, 1000 + 10 * k) for k in range(31)]
    second = [((100 + k) * STEP_NS, 20 * (k - 4)) for k in range(5, 31)]
    index = [(30 * k - 80) ** 2 / (2 * (100 * k**2 + (20 * k - 80) ** 2)) for k in range(5, 31)]
    steps = 5 + next(i for i, value in enumerate(index) if value >= 0.95)
    found = convergence.first(convergence.index_since(goodput(first, second), entry_ns))
    assert found == pytest.approx(steps * STEP_NS / 1e9)


def test_a_flow_that_gets_nothing_through_has_no_share() -> None:
    first = [(k * STEP_NS, 1000 * k) for k in range(50)]
    found = convergence.index_since(goodput(first), 20 * STEP_NS)
    assert found["index"].to_list() == [0.5] * 29


def test_the_index_of_three_flows_ends_with_the_next_entry() -> None:
    """Flows 1 and 2 have sent 900 each before flow 3 enters; a fourth comes 30 steps later."""
    flows = [[(k * STEP_NS, 90 * k) for k in range(60)] for _ in range(2)]
    third = [((10 + k) * STEP_NS, 30 * k) for k in range(1, 50)]
    fourth = [((40 + k) * STEP_NS, 9000 * k) for k in range(1, 20)]
    found = convergence.index_since(goodput(*flows, third, fourth), 10 * STEP_NS, 3, 40 * STEP_NS)
    assert found["time_s"].max() == pytest.approx(30 * STEP_NS / 1e9)
    assert found["index"].to_list() == pytest.approx([210**2 / (3 * (90**2 * 2 + 30**2))] * 30)


def test_what_runs_of_ten_share_with_runs_of_four_counts_once() -> None:
    assert list(more_flows.counted(4)) == [2, 3, 4]
    assert list(more_flows.counted(10)) == [5, 6, 7, 8, 9, 10]


def test_entries_are_compared_with_the_default_at_the_same_entry() -> None:
    """What comes with neither is as late with both."""
    times = [(2, 8.0, 4.0), (3, 2.0, 4.0), (4, None, 4.0), (5, None, None), (6, 9.0, None)]
    rows = [
        (control, entry, 0.9, default, *both)
        for control, default in (("CUBIC", 0.7), ("NewReno", 0.5))
        for entry, *both in times
    ]
    names = ["control", "entry", "beta_ecn", "default", "convergence_s", "usual_s"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        flows=4, reading=pl.lit("first")
    )
    assert value(more_flows.most_slower(table, 4, 0.1)) == pytest.approx(2 / 5)
    assert value(more_flows.most_faster(table, 4, 0.1)) == pytest.approx(2 / 5)
    assert more_flows.most_slower(table, 10, 0.1) is None
    assert more_flows.most_slower(table, 4, 0.1, beta_to=0.8) is None


def test_medians_are_compared_with_their_neighbours() -> None:
    medians = {0.5: 1.0, 0.55: 1.0, 0.6: 1.0, 0.65: 1.3, 0.7: 1.44, 0.9: 2.0, 0.95: 3.0}
    table = pl.DataFrame(
        [
            ("NewReno", "PIE", beta, ratio * by)
            for beta, ratio in medians.items()
            for by in (0, 1, 2)
        ],
        schema=["control", "queue", "beta_ecn", "ratio"],
        orient="row",
    ).with_columns(convergence_s=pl.lit(1.0), rtt_ms=pl.lit(40.0))
    longer = table.with_columns(rtt_ms=pl.lit(160.0), ratio=pl.lit(7.0))
    both = pl.concat([table, longer])
    found = remaining_betas.off_neighbours(both, "NewReno", [0.55, 0.65, 0.95], (0, 40))
    assert found is not None
    assert {key[1]: off for key, off in found.values.items() if key[-1] == 1} == pytest.approx(
        {55: 0, 65: 1.3 / 1.2 - 1, 95: 0.5}
    )


def bed(*rows: tuple[float, float, float | None]) -> pl.DataFrame:
    """CUBIC's runs through PIE: RTT (ms), beta_ecn, time (s)."""
    usual = {rtt_ms: time_s for rtt_ms, beta, time_s in rows if beta == 0.7}
    path = {"control": "CUBIC", "queue": "PIE", "rate_mbit": 5.0, "default": 0.7}
    return pl.DataFrame(
        [
            path
            | {"rtt_ms": rtt_ms, "beta_ecn": beta, "convergence_s": time_s}
            | {"ratio": time_s and base_s and time_s / base_s}
            for rtt_ms, beta, time_s in rows
            for base_s in [usual[rtt_ms]]
        ],
        schema_overrides={"convergence_s": pl.Float64, "ratio": pl.Float64},
    )


BED = bed(
    *[(10, 0.7, 0.4), (20, 0.7, 5.0), (40, 0.7, 15.0), (60, 0.7, None)],
    *[(10, 0.5, None), (20, 0.5, 4.0), (40, 0.5, 18.0), (60, 0.5, 1.0)],
    *[(10, 0.9, 0.2), (20, 0.9, 0.4), (40, 0.9, None), (60, 0.9, None)],
)


def test_a_path_on_which_neither_converges_counts_as_slower() -> None:
    """As in Figs. 12 and 13."""
    assert testbed_convergence.slower(BED, "CUBIC", 0.5) == pytest.approx(2 / 4)
    assert testbed_convergence.faster(BED, "CUBIC", 0.5) == pytest.approx(2 / 4)
    assert testbed_convergence.faster(BED, "CUBIC", 0.5, "CoDel") is None
    assert testbed_convergence.slower(BED, "NewReno", 0.5) is None
    assert value(testbed_convergence.most_harmed(BED, "CUBIC", 0.1)) == pytest.approx(2 / 4)
    assert value(testbed_convergence.least_faster(BED, "CUBIC")) == pytest.approx(2 / 4)
    assert measured(testbed_convergence, "never", BED, control="CUBIC") == pytest.approx(
        4 / 12 * 100
    )
    assert measured(
        testbed_convergence, "least_ratio", BED, control="CUBIC", beta=0.5
    ) == pytest.approx(0.8)
    assert measured(testbed_convergence, "tail", BED, control="CUBIC") == pytest.approx(1.2 / 0.65)


def test_paths_that_cross_in_slow_start_count_apart() -> None:
    """That of 10 ms by the default, that of 20 with 0.9."""
    assert testbed_convergence.faster(BED, "CUBIC", 0.5, "", 0.5) == pytest.approx(2 / 3)
    assert testbed_convergence.slower(BED, "CUBIC", 0.5, 0.5) == pytest.approx(1 / 3)
    assert value(testbed_convergence.most_faster(BED, "CUBIC", 0.5)) == pytest.approx(2 / 3)
    assert value(testbed_convergence.most_harmed(BED, "CUBIC", 0.1, 0.5)) == 1


def test_the_default_is_not_compared_with_itself() -> None:
    rows = [(0.7, 1.0), (0.8, 0.5), (0.8, 0.9), (0.8, 2.0)]
    table = pl.DataFrame(rows, schema=["beta_ecn", "ratio"], orient="row").with_columns(
        convergence_s=pl.lit(1.0), default=pl.lit(0.7)
    )
    assert value(convergence.least_faster(table)) == pytest.approx(2 / 3)
    assert value(convergence.most_harmed(table, 0.1)) == pytest.approx(1 / 3)


def test_convergence_may_never_come() -> None:
    first = [(k * STEP_NS, 1000 * k) for k in range(50)]
    second = [(k * STEP_NS, k) for k in range(20, 50)]
    indices = convergence.index_since(goodput(first, second), 20 * STEP_NS)
    assert convergence.first(indices) is None


RATIOS = pl.DataFrame(
    [
        ("CoDel", 0.5, 1.0, 1.0),
        ("PIE", 0.5, 2.0, 1.0),
        ("CoDel", 0.7, 0.5, 0.5),
        ("PIE", 0.7, 2.4, 1.2),
        ("CoDel", 0.9, 9.0, 9.0),
        ("PIE", 0.9, None, None),
    ],
    schema=["queue", "beta_ecn", "convergence_s", "ratio"],
    orient="row",
).with_columns(default=pl.lit(0.5))


def test_convergence_metrics() -> None:
    assert convergence.never(RATIOS) == pytest.approx(100 / 6)
    assert convergence.faster(RATIOS, 0.7) == pytest.approx(0.5)
    assert convergence.faster(RATIOS, 0.7, "PIE") == 0
    assert convergence.slower(RATIOS, 0.9) == 1  # one that never converges is slower
    assert value(convergence.most_faster(RATIOS)) == pytest.approx(0.5)
    assert value(convergence.least_faster(RATIOS)) == 0
    assert value(convergence.most_harmed(RATIOS, 0.1)) == 1
    assert measured(fig12, "tail", RATIOS) == pytest.approx(9 / 1.2)


def test_a_path_is_faster_when_only_the_default_never_converges() -> None:
    table = RATIOS.with_columns(
        convergence_s=pl.when(pl.col("beta_ecn") > 0.5, pl.col("queue") == "PIE")
        .then(3.0)
        .otherwise("convergence_s"),
        ratio=pl.when(pl.col("queue") == "PIE").then(None).otherwise("ratio"),
    )
    assert convergence.faster(table, 0.9, "PIE") == 1
    assert convergence.slower(table, 0.9, queue="PIE") == 0
    assert convergence.slower(table, 0.9) == pytest.approx(0.5)  # the one through CoDel
    shown = convergence.plot(table).data
    assert isinstance(shown, pl.DataFrame)
    assert shown.filter(pl.col("beta_ecn") == 0.9)["queue"].to_list() == ["CoDel"]


def test_throughput_ratio_is_per_flow_and_after_the_cut() -> None:
    late = 3 * 10**9
    flows = [
        [(10**9, 500), (late, 500 + 300)],  # ECN: 300 after the cut
        [(10**9, 900), (late, 900 + 100)],
        [(10**9, 900), (late, 900 + 200)],
    ]
    assert friendliness.throughput_ratio(goodput(*flows), [1, 2]) == pytest.approx(300 / 150)


def test_friendliness_metrics() -> None:
    rows = [
        (queue, rtt, beta, ratio * (1.1 if queue == "PIE" else 1))
        for queue in ("CoDel", "PIE")
        for rtt, beta, ratio in [
            (20.0, 0.7, 1.0),
            (20.0, 0.85, 1.6),
            (20.0, 0.9, 2.0),
            (80.0, 0.7, 1.2),
            (80.0, 0.85, 2.4),
            (80.0, 0.9, 2.2),
        ]
    ]
    table = pl.DataFrame(rows, schema=["queue", "rtt_ms", "beta_ecn", "ratio"], orient="row")
    assert measured(fig14, "largest_mean", table, queue="CoDel", beta=0.9) == pytest.approx(2.2)
    assert measured(fig14, "mean", table, queue="CoDel", beta=0.85) == pytest.approx(2.0)
    above = log(1.6) + log(2.4)
    assert friendliness.distance_below(table, "CoDel", 0.85) == pytest.approx(log(1.2) / above)
    # A half at one RTT and two at another are not as close as one at both.
    either_way = pl.when(rtt_ms=20.0).then(0.5).otherwise(2.0)
    far = table.with_columns(ratio=pl.when(beta_ecn=0.7).then(either_way).otherwise("ratio"))
    assert friendliness.distance_below(far, "CoDel", 0.85) == pytest.approx(2 * log(2) / above)
    assert friendliness.distance_below(table, "CoDel", 0.7) is None
    assert value(friendliness.trend(table, "CoDel")) == pytest.approx(0.5)  # 80 ms: ranks 1, 3, 2
    assert friendliness.difference(table) == pytest.approx(0.1 / 1.05)


GAINS = pl.DataFrame(
    [
        ("CoDel", 500.0, 100.0, 0.5, 0.0),
        ("CoDel", 500.0, 100.0, 0.9, -0.4),
        ("CoDel", 1000.0, 200.0, 0.75, 8.0),
        ("CoDel", 1000.0, 200.0, 0.9, 2.0),
        ("PIE", 500.0, 100.0, 0.75, 0.2),
        ("PIE", 500.0, 100.0, 0.9, 0.4),
        ("PIE", 1000.0, 200.0, 0.75, 3.0),
        ("PIE", 1000.0, 200.0, 0.9, 3.2),
    ],
    schema=["queue", "size_kb", "rtt_ms", "beta_ecn", "gain_percent"],
    orient="row",
)


def test_completion_metrics() -> None:
    assert measured(fig18, "least_gain", GAINS, queue="CoDel") == pytest.approx(-0.4)
    assert measured(fig18, "least_gain", GAINS, queue="PIE") == pytest.approx(0.2)
    larger = GAINS.with_columns(pl.col("gain_percent") - pl.col("size_kb") / 500 + 2)
    assert value(completion.least_mean_gain(larger, "size_kb", "CoDel", 700)) == pytest.approx(5.0)
    assert value(completion.least_mean_gain(larger, "size_kb", "CoDel", 0)) == pytest.approx(0.6)
    assert value(completion.least_mean_gain(larger, "size_kb", "PIE", 1000)) is None
    assert value(completion.largest_effect(GAINS, "size_kb", 700)) == pytest.approx(0.4)
    assert fig16.codel_over_pie(GAINS, 2000) == pytest.approx((8 + 2 - 0.4) / 3 - 6.8 / 4)
    assert value(fig18.saturation(GAINS, "PIE", 0.75)) == pytest.approx(0.5)
    assert value(fig18.better_pie(GAINS)) == pytest.approx(3.1 - 5.0)


@pytest.mark.parametrize(("seeds", "blocks"), [(1000, [100] * 10), (25, [3, 2] * 5), (5, [1] * 5)])
def test_a_run_s_seeds_make_ten_replicas(seeds: int, blocks: list[int]) -> None:
    table = pl.DataFrame({"seed": range(7, 7 + seeds)})
    found = table.group_by(replica=completion.block(pl.col("seed"))).len().sort("replica")
    assert found["len"].to_list() == blocks
    assert found["replica"][0] == 1


def test_reductions_are_changes_of_ssthresh() -> None:
    acks = pl.DataFrame(
        {
            "time_ns": [1, 2, 3, 4, 5],
            "cwnd_packets": [10, 200, 190, 100, 101],
            "ssthresh_packets": [None, None, 100, 100, 50],
        }
    )
    assert fig17.reductions(acks).rows() == [(3, 200, 100), (5, 100, 50)]


def test_fig17_has_a_number_of_each_seed() -> None:
    rows = [
        ("PIE", beta, seed, time, cuts, start, end, fct - beta)
        for beta in (0.5, 0.9)
        for seed in range(1, 11)
        for time, cuts, start, end, fct in [
            (0.0, 0, None, None, 3.0),
            (1.0, 1, 200 + 10 * seed, 100, 3.0),
            (1.5, 1, 100, 50 + seed, 3.0),
        ]
    ]
    columns = ["queue", "beta_ecn", "seed", "time_s", "cuts", "cut_from", "cut_to", "fct_s"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    assert fig17.cuts(table, "PIE", 0.5) == [2] * 10
    assert fig17.cut_from(table, "PIE", 0.5) == list(range(210, 301, 10))
    assert fig17.cut_to(table, "PIE", 0.9) == list(range(51, 61))
    assert fig17.sooner_ms(table, "PIE", 0.9, 0.5) == pytest.approx([400] * 10)
    assert fig17.cuts(table, "CoDel", 0.9) == []


def test_fig17_compares_overshoots() -> None:
    """CoDel's flow is cut at 1 s from 200 packets, PIE's at 1.2 and 1.4 s from 300 and 500."""
    rows = [
        (queue, 0.9, seed, time, int(time == cut), window, 90, 3.0)
        for queue, seed, cut, window in (
            ("CoDel", 1, 1.0, 200),
            ("PIE", 1, 1.2, 300),
            ("PIE", 2, 1.4, 500),
        )
        for time in (0.0, 1.0, 1.2, 1.4)
    ]
    columns = ["queue", "beta_ecn", "seed", "time_s", "cuts", "cut_from"]
    table = pl.DataFrame(rows, schema=[*columns, "cut_to", "fct_s"], orient="row")
    assert fig17.overshoot_ratio(table, "CoDel", "PIE", 0.9) == pytest.approx([2 / 3, 2 / 5])
    assert fig17.first_cut_ratio(table, "CoDel", "PIE", 0.9) == pytest.approx([1 / 1.2, 1 / 1.4])


def test_fig19_metrics() -> None:
    rows = [
        (part, beta, second, beta * 20 if second % 2 else 0.0, beta * part_delay, beta, beta)
        for part, part_delay in (("a", 20.0), ("b", 40.0))
        for beta in (0.5, 0.9)
        for second in range(30)
    ]
    columns = ["part", "beta_ecn", "time_s", "probability_percent", "delay_ms"]
    columns += ["drops_percent", "signalled_percent"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    seconds_above = functools.partial(
        measured, fig19, "seconds_above", table, beta_above=0.7, percent=11
    )
    assert seconds_above(part="a") == pytest.approx(50)
    assert measured(fig19, "slow_start_peak", table, part="a", beta=0.5) == pytest.approx(10)
    assert measured(fig19, "most_seconds_above", table, part="b", percent=10) == pytest.approx(50)
    assert measured(fig19, "most_seconds_above", table, part="b", percent=18) == 0
    assert value(fig19.high_delay(table, "a")) == pytest.approx(18)
    assert measured(fig19, "start_delay", table, part="b") == pytest.approx(36)
    assert measured(fig19, "delay_trend", table, part="b") == pytest.approx(1)
    assert fig19.delay_increase(table, "b") == pytest.approx(1.8)
    assert measured(fig19, "signal_increase", table, part="a") == pytest.approx(1)
    assert measured(fig19, "drop_trend", table, part="b") == pytest.approx(1)
    assert seconds_above(part="absent") is None


def test_fig19_compares_its_parts() -> None:
    rows = [
        (part, beta, second, delay if second >= 10 else 999.0)
        for part, beta, delay in (
            ("(a) rule off", 0.5, 20.0),
            ("(b) rule on", 0.5, 19.0),
            ("(a) rule off", 0.9, 20.0),
            ("(b) rule on", 0.9, 30.0),
        )
        for second in (5, 15)
    ]
    table = pl.DataFrame(rows, schema=["part", "beta_ecn", "time_s", "delay_ms"], orient="row")
    assert value(fig19.delay_ratio(table)) == pytest.approx(0.95)
    assert value(fig19.delay_ratio(table.filter(pl.col("part") == "(a) rule off"))) is None


def test_the_short_flows_of_fig19() -> None:
    rows = [
        (rule, beta, size, fct)
        for beta in (0.5, 0.9)
        for size, off, on in ((50.0, 1.0, 1.2), (500.0, 4.0, 4.0 * (1 + beta)))
        for rule, fct in (("off", off), ("on", on))
    ]
    table = pl.DataFrame(rows, schema=["rule", "beta_ecn", "size_kb", "fct_s"], orient="row")
    assert measured(fig19_short, "ratio", table) == pytest.approx((1.2 + 1.5 + 1.2 + 1.9) / 4)
    assert measured(fig19_short, "ratio", table.filter(beta_ecn=0.9)) == pytest.approx(
        (1.2 + 1.9) / 2
    )
    assert measured(fig19_short, "ratio", table.filter(rule="on")) is None


def test_the_largest_of_splits_is_above_the_mean_over_them() -> None:
    rows = [("CoDel", "1:9", 20.0, 0.9, 1.0), ("CoDel", "9:1", 20.0, 0.9, 3.0)]
    rows += [("CoDel", "9:1", 20.0, 0.9, 4.0), ("CoDel", "9:1", 80.0, 0.9, 2.0)]
    table = pl.DataFrame(
        rows, schema=["queue", "split", "rtt_ms", "beta_ecn", "ratio"], orient="row"
    )
    assert measured(fig14, "largest_of_splits", table, queue="CoDel", beta=0.9) == pytest.approx(
        3.5
    )
    assert measured(fig14, "largest_of_splits", table, queue="PIE", beta=0.9) is None


def test_the_least_ratio_leaves_out_what_never_converges() -> None:
    table = pl.DataFrame({"beta_ecn": [0.5, 0.5, 0.9], "ratio": [0.4, None, 0.1]})
    assert measured(fig12, "least_ratio", table, beta=0.5) == pytest.approx(0.4)
    assert measured(fig12, "least_ratio", table, beta=0.7) is None
