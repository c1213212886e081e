"""What the thesis's chapters 3 and 4 have in words alone: metrics worked out by hand."""

import functools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.flow_startup import (
    ack_losses,
    ared,
    codel_states,
    dctcp_startup,
    fig32_ared,
    first_window,
    halving,
    head_marks,
    interactive,
    laws,
    predict_bounds,
    predict_targets,
    pub4,
    queue_shares,
    red_losses,
    red_settings,
    short_starts,
    signals,
    why_hred_tuning,
    why_pacing,
    why_pie_late,
    why_red_resent,
    why_signals,
)
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured, packets, value

MS = 10**6
KEPT = "Predict, rate kept"
CE = 3


def transient(directory: Path, experiment: str) -> Run:
    """Two flows, RTT 100 ms, 10 Mb/s; the first is marked at 210 ms, hears of it at 361 ms and
    leaves slow start at 10 packets. The second, which never leaves, waits least."""
    directory.mkdir(parents=True)
    arrivals = [
        (1, 0, 0, 2),
        (1, 120, 10, 2),
        (1, 180, 20, 2),
        (1, 210, 50, CE),
        (1, 300, 60, 2),
        (1, 310, 60, CE),
        (1, 350, 90, 2),
        (2, 0, 1, 2),
        (2, 110, 2, 2),
        (2, 220, 9, 2),
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", 80, flow, at * MS, (at + wait) * MS, wait * MS, 1250, 2, out)
            for flow, at, wait, out in arrivals
        ],
        schema=[
            "bottleneck", "direction", "sport", "dport", "enqueue_ns",
            "dequeue_ns", "sojourn_ns", "size_bytes", "ecn_in", "ecn_out",
        ],
        orient="row",
    ).write_parquet(directory / "packets.parquet")  # fmt: skip
    acks = [(1, 100, 10, None), (1, 361, 40, None), (1, 380, 20, 20), (2, 200, 30, None)]
    pl.DataFrame(
        [(80, flow, at * MS, window, threshold) for flow, at, window, threshold in acks],
        schema={
            "sport": pl.Int64,
            "dport": pl.Int64,
            "time_ns": pl.Int64,
            "cwnd_packets": pl.UInt32,
            "ssthresh_packets": pl.UInt32,
        },
        orient="row",
    ).write_parquet(directory / "acks.parquet")
    content: dict[str, Any] = document()
    content["experiment"] |= {"rtt": "100ms", "flows": [{"count": 2}]}
    return Run(directory, {"experiment": experiment, "senders": "unpaced"}, content)


def test_a_mark_its_response_and_what_comes_between(tmp_path: Path) -> None:
    """A packet takes 1 ms of the link, which carries 100 of them in an RTT."""
    row = signals.table([transient(tmp_path / "run", "pub4-predict")]).row(0, named=True)
    share = 100e-3 * 10e6 / 8 / 1514 / 2
    assert row["end_share"] == pytest.approx(35 / share)  # 40 and 30 packets
    assert row["after_share"] == pytest.approx(20 / share)
    assert row["load"] == pytest.approx(0.03)  # at 120, 180 and 210 ms
    assert row["response"] == pytest.approx(151 / 151)
    assert row["growth"] == pytest.approx(4 / 4)
    assert row["best_ms"] == 9
    assert row["best_rho"] == pytest.approx(1)
    assert row["unseen"] is None  # two flows


def test_codel_marks_at_the_head(tmp_path: Path) -> None:
    """The mark of 210 ms is of 260 ms then, and its packet does not wait any more."""
    row = signals.table([transient(tmp_path / "run", "pub4-codel")]).row(0, named=True)
    assert row["response"] == pytest.approx(101 / 101)
    assert row["growth"] == pytest.approx(3 / 3)


def test_samples_of_the_last_round_trip_that_does_not_fill_the_link(tmp_path: Path) -> None:
    """A link of 9 packets in 90 ms gets 3 and then 12. The samples are at 0, 15,
    30, 45, 60 and 75 ms, and packets wait from 10 to 20 and from 70 to 80 ms."""
    rows = [(10, 20), (70, 80)] + [(91 + at, 120) for at in range(12)]
    packets([(at * MS, left * MS, None) for at, left in [(0, 0), *rows]]).with_columns(
        payload_bytes=pl.lit(1448)
    ).write_parquet(tmp_path / "packets.parquet")
    content: dict[str, Any] = document()
    content["experiment"] |= {"rtt": "90ms", "flows": [{"count": 1}]}
    content["experiment"]["bottleneck"]["rate"] = f"{9 * 1514 * 8 / 90:.6f}kbit"
    found = signals._samples(Run(tmp_path, {}, content))
    assert found["unseen"] == pytest.approx(4 / 6)
    assert found["window_bdp"] == pytest.approx(3 / 9)


def loads() -> pl.DataFrame:
    return pl.DataFrame(
        [
            (KEPT, "unpaced", 1, 50.0, 0.6, 1.0, 2.0),
            (KEPT, "unpaced", 1, 200.0, 0.8, 0.97, 1.5),
            (KEPT, "spread", 1, 200.0, 0.4, 1.01, 1.8),
            (KEPT, "unpaced", 4, 200.0, 1.9, 2.0, 0.1),
        ],
        schema=["queue", "senders", "flows", "rtt_ms", "load", "response", "growth"],
        orient="row",
    ).with_columns(best_ms=pl.col("rtt_ms") / 10, unseen=1 - pl.col("load"))


def test_signals_of_one_flow() -> None:
    assert measured(signals, "most_load", loads(), queue=KEPT) == 0.8
    assert measured(signals, "typical_load", loads(), queue=KEPT) == pytest.approx(0.6)
    assert value(signals.response_off(loads(), KEPT)) == pytest.approx(0.03)
    assert measured(signals, "least_growth", loads(), queue=KEPT) == 1.5
    assert measured(signals, "least_growth", loads(), queue="CoDel") is None
    least_unseen = functools.partial(measured, signals, "least_unseen", loads(), queue=KEPT)
    assert least_unseen(senders="unpaced", rtt_from=50) == pytest.approx(0.2)
    assert least_unseen(senders="spread", rtt_from=300) is None


def test_signals_of_several_flows() -> None:
    typical = functools.partial(
        measured, signals, "typical", loads(), queue=KEPT, column="load", rtt_from=100
    )
    assert typical() == pytest.approx(1.35)
    assert typical(flows_from=2) == 1.9
    assert measured(signals, "least_best", loads(), queue=KEPT, flows_from=1) == 5


def test_why_signals_takes_a_variant_apart() -> None:
    table = (
        loads()
        .with_columns(variant=pl.lit("4 MB"), after_share=pl.col("load") * 2)
        .with_columns(growth=pl.when(pl.col("rtt_ms") > 50).then("growth"))
    )
    assert value(why_signals.largest_of(table, "4 MB", KEPT, "load")) == 0.8
    assert value(why_signals.least_of(table, "4 MB", KEPT, "growth")) == 1.5
    assert value(why_signals.least_of(table, "4 MB", KEPT, "load", rtt_from=100)) == 0.4
    assert why_signals.least_of(table, "1 MB", KEPT, "load") is None
    assert why_signals.typical(table, "4 MB", KEPT, "after_share", "unpaced") == pytest.approx(1.4)
    assert why_signals.typical(table, "4 MB", KEPT, "load", "unpaced", flows=4) == 1.9


def test_why_pie_is_late_compares_variants() -> None:
    table = pl.DataFrame(
        [("a", 1, 200.0, 4.0), ("a", 4, 200.0, 2.0), ("b", 1, 200.0, 1.0), ("b", 4, 200.0, 1.5)],
        schema=["variant", "flows", "rtt_ms", "end_share"],
        orient="row",
    )
    assert measured(why_pie_late, "typical_end", table, variant="a") == 3
    assert value(why_pie_late.largest_ratio(table, "b", "a")) == 0.75
    assert why_pie_late.largest_ratio(table, "c", "a") is None


def test_pacing_is_compared_at_each_rtt() -> None:
    table = pl.DataFrame(
        [
            ("4 MB", "paced", 1, 100.0, 3.0),
            ("4 MB", "unpaced", 1, 100.0, 2.0),
            ("4 MB", "paced", 1, 400.0, 1.0),
            ("4 MB", "unpaced", 1, 400.0, 4.0),
            ("4 MB", "unpaced", 16, 400.0, 4.0),
        ],
        schema=["variant", "senders", "flows", "rtt_ms", "peak_ms"],
        orient="row",
    )
    assert value(why_pacing.least_ratio(table, "paced", "4 MB", 1, 400)) == 0.25
    assert value(why_pacing.least_ratio(table, "paced", "4 MB", 1, 100)) == 1.5
    assert value(why_pacing.largest_ratio(table, "paced", "4 MB", 1, 400)) == 1.5
    assert why_pacing.least_ratio(table, "paced", "4 MB", 16, 400) is None
    assert why_pacing.least_ratio(table, "spread", "4 MB", 1, 400) is None


def test_waits_are_compared_with_a_fifos() -> None:
    table = pl.DataFrame(
        [
            ("FIFO", 1, 100.0),
            ("FIFO", 6, 200.0),
            ("CoDel", 1, 99.0),
            ("CoDel", 6, 150.0),
            ("PIE", 6, 210.0),
            ("SFQ-CoDel", 1, 20.0),
        ],
        schema=["queue", "flows", "first_rtt_ms"],
        orient="row",
    ).with_columns(rate_mbit=pl.lit(2.0), initial_window=pl.lit(10))
    assert value(first_window.least_ratio(table, ["CoDel", "PIE"])) == 0.75
    assert value(first_window.largest_ratio(table, "CoDel")) == pytest.approx(0.99)


def test_targets_cost_where_they_shorten_the_wait() -> None:
    table = pl.DataFrame(
        [
            (100, 1, 100.0, 1.0),
            (50, 1, 80.0, 1.3),
            (70, 1, 70.0, 1.2),
            (100, 4, 50.0, 1.0),
            (50, 4, 10.0, 1.1),
            (70, 4, 50.0, 1.0),
        ],
        schema=["target", "flows", "peak_ms", "fct_ratio"],
        orient="row",
    ).with_columns(rtt_ms=pl.lit(100.0))
    one, both = [(1, 100)], [(1, 100), (4, 100)]
    assert predict_targets.cost(table, [50, 70], one) == pytest.approx(1.25)
    assert predict_targets.cost(table, [50], both) == pytest.approx(1.2)
    assert predict_targets.cost(table, [60], both) is None


def test_a_bounds_change_is_against_the_same_case_without() -> None:
    table = pl.DataFrame(
        [
            ("none", 1, 20.0, 40.0, 1.0),
            ("none", 4, 20.0, 80.0, 2.0),
            ("none", 4, 400.0, 90.0, 3.0),
            ("50 ms", 1, 20.0, 40.0, 1.1),
            ("50 ms", 4, 20.0, 76.0, 2.0),
            ("50 ms", 4, 400.0, 45.0, 6.0),
            ("100 ms", 4, 20.0, 82.0, 1.9),
        ],
        schema=["bound", "flows", "rtt_ms", "peak_ms", "fct_s"],
        orient="row",
    )
    assert value(predict_bounds.change(table, "peak_ms", 50)) == pytest.approx(0.05)  # shorter
    assert value(predict_bounds.longer(table, "peak_ms", 50)) == pytest.approx(0.025)
    assert value(predict_bounds.change(table, "fct_s", 50)) == pytest.approx(0.1)
    assert value(predict_bounds.change(table, "peak_ms", 400)) == pytest.approx(0.5)
    assert predict_bounds.change(table, "peak_ms", 10) is None


def test_head_marks_are_compared_where_tail_marks_leave_the_share() -> None:
    table = pl.DataFrame(
        [
            ("Predict", "tail", 1, 1.0, 40.0),
            ("Predict", "head", 1, 0.9, 36.0),
            ("Predict", "tail", 4, 0.9, 50.0),  # in time neither way
            ("Predict", "head", 4, 0.1, 50.0),
            ("Predict", "tail", 16, 2.0, 100.0),
            ("Predict", "head", 16, 1.7, 110.0),
            ("CoDel", "head", 1, 0.5, 80.0),
        ],
        schema=["queue", "marks", "flows", "end_share", "peak_ms"],
        orient="row",
    ).with_columns(rtt_ms=pl.lit(100.0))
    assert head_marks.early_share(table, "Predict") == pytest.approx(1.3)
    assert head_marks.early_share(table, "Predict", 1.2) == pytest.approx(0.9)
    assert measured(head_marks, "head_over_tail", table, queue="Predict") == pytest.approx(1.0)
    assert measured(head_marks, "head_over_tail", table, queue="CoDel") is None


def test_better_pacing_is_that_of_spread_senders() -> None:
    table = pl.DataFrame(
        [
            ("spread", 100.0, 3.0),
            ("paced", 100.0, 2.0),
            ("spread", 400.0, 2.0),
            ("paced", 400.0, 4.0),
        ],
        schema=["senders", "rtt_ms", "peak_ms"],
        orient="row",
    ).with_columns(queue=pl.lit("PIE"), flows=pl.lit(1))
    assert pub4.pacing_effect(table, "PIE", 50, "spread", "paced") == 1
    assert pub4.pacing_effect(table, "PIE", 200, "spread", "paced") == 0.5


def test_short_flows_are_counted_up_to_an_rtt_and_a_size() -> None:
    table = pl.DataFrame(
        [
            ("PIE", 20.0, 5.0, 1.0),
            ("PIE", 20.0, 10.0, 0.5),
            ("PIE", 200.0, 5.0, 0.0),
            ("CoDel", 20.0, 5.0, 0.9),
            ("CoDel", 20.0, 50.0, 0.0),
        ],
        schema=["queue", "size_kb", "rtt_ms", "unsignalled"],
        orient="row",
    )
    assert (
        measured(
            short_starts,
            "least_unsignalled",
            table,
            queues=["CoDel", "PIE"],
            rtt_to=20,
            size_to=100,
        )
        == 0.75
    )


def test_codels_states_end_with_a_short_wait(tmp_path: Path) -> None:
    """Above the target from 10 ms on: it drops at 115 ms, 100 ms later, and 50 ms later; 4 ms end
    the state. The next one begins 101 ms after the first packet above the target."""
    left = [(0, 1), (10, 6), (60, 60), (114, 60), (214, 60), (300, 4), (310, 7), (400, 80)]
    dropped = [(115, 60), (215, 60), (265, 60), (411, 80)]
    rows: list[tuple[int, int | None, int | None]] = [
        ((at - wait) * MS, at * MS, None) for at, wait in left
    ]
    rows += [((at - wait) * MS, None, at * MS) for at, wait in dropped]
    packets(rows).with_columns(
        drop=pl.when(pl.col("drop_ns").is_not_null()).then(pl.lit("aqm_dequeue"))
    ).write_parquet(tmp_path / "packets.parquet")
    content: dict[str, Any] = document()
    content["experiment"]["bottleneck"]["queue"] |= {"target": "5ms", "interval": "100ms"}
    content["experiment"]["flows"] = [{"count": 3}]
    table = codel_states.table([Run(tmp_path, {}, content)])
    assert table["state"].to_list() == [1, 1, 1, 2]
    assert table["count"].to_list() == [1, 2, 3, 1]
    assert table["since_ms"].to_list() == [0, 100, 150, 0]
    assert table["gap_ms"].to_list() == [100, 50, None, None]
    assert table["above_ms"].to_list() == [105, None, None, 101]
    assert table["law_ms"].to_list()[:3] == pytest.approx([100, 100 / 2**0.5, 100 / 3**0.5])
    assert table["newton_ms"].to_list() == [100, 50, 56.25, None]
    assert value(codel_states.above(table, most=False)) == 101
    assert value(codel_states.above(table, most=True)) == 105
    assert value(codel_states.gap_off(table, "newton_ms")) == 0
    assert value(codel_states.gap_off(table, "law_ms")) == pytest.approx(100 / 2**0.5 - 50)
    assert measured(codel_states, "typical_gap_off", table, flows=3) == pytest.approx(
        (100 / 2**0.5 - 50) / 2
    )


def test_how_long_codel_signals() -> None:
    table = pl.DataFrame(
        [(1, 1, 0.0), (1, 1, 100.0), (4, 1, 150.0), (4, 2, 900.0), (16, 1, 300.0)],
        schema=["flows", "state", "since_ms"],
        orient="row",
    )
    assert codel_states.lasting(table, 16, 1) == 3
    assert codel_states.lasting(table, 16, 2) is None
    assert measured(codel_states, "lasting_grows", table) == pytest.approx(1)


def test_what_is_sent_again(tmp_path: Path) -> None:
    """The first bytes come at 0, 300, 700 and 1500 ms: the last wait is the second doubling. Flow 2
    loses what it did not send before."""
    arrivals = [(1, 10, 0, True), (1, 10, 300, True), (1, 10, 700, True), (1, 10, 1500, False)]
    arrivals += [(1, 20, 5, False), (1, 20, 320, False), (2, 10, 7, True)]
    pl.DataFrame(
        [
            ("bottleneck", "forward", flow, 80, flow, seq, 1000, at * MS, at * MS if lost else None)
            for flow, seq, at, lost in arrivals
        ],
        schema=[
            "bottleneck", "direction", "flow", "sport", "dport",
            "seq", "payload_bytes", "enqueue_ns", "drop_ns",
        ],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")  # fmt: skip
    pl.DataFrame({"flow": [1, 2], "rtos": [3, 1], "fct_s": [1.0, 2.0]}).write_parquet(
        tmp_path / "flows.parquet"
    )
    pl.DataFrame(
        {
            "bottleneck": ["bottleneck"],
            "direction": ["forward"],
            "time_ns": [MS],
            "forced": [4],
        }
    ).write_parquet(tmp_path / "queues.parquet")
    content: dict[str, Any] = document()
    content["experiment"]["flows"] = [{"count": 2}]
    content["experiment"]["bottleneck"]["queue"]["limit"] = 100
    row = red_losses.table([Run(tmp_path, {"experiment": "pub2-red"}, content)]).row(0, named=True)
    assert row == {
        "queue": "Recommended RED",
        "recovery": "RACK and probes",
        "buffer": 100,
        "flows": 2,
        "resent": 4,
        "resent_lost": 2,
        "rtos": 4,
        "rtos_after": 3,
        "backed_off": 1,
        "cut": 4,
        "fct_s": 1.5,
    }


def test_what_red_drops_again() -> None:
    rack, red = "RACK and probes", "Recommended RED"
    table = pl.DataFrame(
        [
            (red, rack, 4, 100, 30, 2, 2, 0, 300, 2.0),
            (red, rack, 16, 100, 10, 6, 4, 2, 300, 6.0),
            (red, rack, 1, 0, 0, 0, 0, 0, 0, 9.0),
            ("HRED", rack, 4, 100, 10, 0, 0, 0, 0, 1.5),
            ("Taildrop", rack, 4, 100, 0, 1, 0, 0, 0, 1.0),
            ("Taildrop", rack, 16, 100, 0, 1, 0, 0, 0, 5.0),
            ("Taildrop", rack, 1, 100, 0, 9, 0, 0, 0, 1.0),
        ],
        schema=[
            "queue", "recovery", "flows", "resent", "resent_lost",
            "rtos", "rtos_after", "backed_off", "cut", "fct_s",
        ],
        orient="row",
    ).with_columns(buffer=pl.lit(248))  # fmt: skip
    resent_lost_ratio = functools.partial(
        measured, red_losses, "resent_lost_ratio", table, queue=red
    )
    assert resent_lost_ratio(over="HRED") == pytest.approx(2)
    assert resent_lost_ratio(over="Taildrop") is None
    assert measured(red_losses, "after_a_lost_retransmission", table, queue=red) == pytest.approx(
        6 / 8
    )
    assert measured(red_losses, "after_a_lost_retransmission", table, queue="HRED") is None
    assert measured(red_losses, "backs_off", table, queue=red, flows=16) == 1
    assert measured(red_losses, "backs_off", table, queue=red, flows=4) == 0
    assert measured(red_losses, "most_backed_off", table, queue=red) == 2
    assert red_losses.cut_over_taildrop(table, "fct_s") == pytest.approx(1.6)
    assert red_losses.cut_less_taildrop(table, "rtos") == 3


def test_why_red_drops_less_of_what_comes_again() -> None:
    table = pl.DataFrame(
        [
            ("HRED", 4, 100, 10),
            ("HRED", 16, 300, 30),
            ("recommended", 4, 500, 20),
            ("none", 4, 0, 0),
        ],
        schema=["variant", "flows", "resent", "resent_lost"],
        orient="row",
    )
    share_ratio = functools.partial(
        measured, why_red_resent, "share_ratio", table, over="recommended"
    )
    assert share_ratio(variant="HRED") == pytest.approx(2.5)
    assert share_ratio(variant="none") is None


def test_laws_compare_with_what_they_say() -> None:
    table = pl.DataFrame(
        {"law": ["a", "a", "b"], "found": [1.0, 2.2, 9.0], "exact": [1.1, 2.0, 9.0]}
    )
    assert measured(laws, "largest_error", table, law="a") == pytest.approx(0.2)
    assert measured(laws, "largest_relative_error", table, law="a") == pytest.approx(0.1)
    assert measured(laws, "mean_relative_error", table, law="a") == pytest.approx(0.1 / 3.1)
    assert measured(laws, "largest_error", table, law="c") is None


def test_distances_between_drops_that_are_uniform() -> None:
    """Of a probability of 1/50 each distance from 1 to 50 once is uniform; all of one is not."""
    numbers = pl.DataFrame({"number": range(1, 51)}).select(
        law=pl.lit(laws.DROPS),
        low=(pl.col("number") - 1) / 50,
        found=pl.col("number") / 50,
        longest=pl.col("number") / 50,
    )
    assert laws.distance_over_quantile(numbers) == pytest.approx(0, abs=1e-9)
    assert measured(laws, "longest_gap", numbers) == 1
    same = pl.concat([numbers.tail(1)] * 50)
    assert laws.distance_over_quantile(same) == pytest.approx(0.98 * 50**0.5 / 1.628, rel=1e-3)
    assert laws.distance_over_quantile(numbers.clear()) is None


def adaptive(
    directory: Path, asked: list[tuple[int, float]], packets: list[tuple[int, int, bool]]
) -> Run:
    """A run through RED of 50 and 150 packets of 100 bytes and weight 1: `asked` are times in ms
    and max_p; `packets` times in ms, what they met and whether they were dropped."""
    directory.mkdir(parents=True)
    pl.DataFrame(
        [
            ("bottleneck", "forward", at * MS, met * 100, at * MS if dropped else None)
            for at, met, dropped in packets
        ],
        schema={
            "bottleneck": pl.String, "direction": pl.String, "enqueue_ns": pl.Int64,
            "queue_bytes": pl.UInt32, "drop_ns": pl.Int64,
        },
        orient="row",
    ).write_parquet(directory / "packets.parquet")  # fmt: skip
    options = {"min": 5000, "max": 15000, "ewma": 0}
    told = [
        json.dumps([{"kind": "htb", "options": {}},
                    {"kind": "red", "options": {**options, "probability": max_p}}])
        for _, max_p in asked
    ]  # fmt: skip
    times = [str(17 * 10**17 + at * MS) for at, _ in asked]
    lines = [line for pair in zip(times, told, strict=True) for line in pair]
    (directory / "command-1.txt").write_text("\n".join([*lines, times[-1]]))  # stopped before tc
    queue = {"kind": "red", "avpkt": 100}
    return Run(directory, {}, document(experiment={"bottleneck": {"queue": queue}}))


def test_ared_is_asked_for_max_p_beside_the_average(tmp_path: Path) -> None:
    asked = [(0, 0.1), (100, 0.1), (200, 0.11)]
    packets = [(10, 60, False), (90, 70, False), (110, 120, True), (120, 100, False)]
    table = ared.table([adaptive(tmp_path / "run", asked, packets)])
    assert table.rows() == [
        (0.1, 60.0, 70.0, 0.1, 90.0, 110.0),
        (0.11, 100.0, 120.0, 0.2, 90.0, 110.0),
    ]


def test_ared_adjusts_outside_of_its_region() -> None:
    rows = [
        (0.1, 0.10, 80.0, 85.0),
        (0.2, 0.10, 80.0, 85.0),
        (0.3, 0.09, 80.0, 85.0),  # falls below
        (0.4, 0.09, 95.0, 100.0),
        (0.5, 0.10, 105.0, 112.0),  # rises above
        (0.6, 0.10, 112.0, 115.0),
        (0.7, 0.10, 112.0, 115.0),
        (0.8, 0.10, 112.0, 115.0),
        (0.9, 0.11, 100.0, 105.0),  # rises within
        (1.0, 0.51, 100.0, 105.0),
        (1.1, 0.51, 120.0, 125.0),  # as much as it may
        (1.2, 0.51, 120.0, 125.0),
        (1.3, 0.51, 120.0, 125.0),
        (1.4, 0.51, 120.0, 125.0),
    ]
    table = pl.DataFrame(
        [(*row, 90.0, 110.0) for row in rows],
        schema=["time_s", "max_p", "lowest", "highest", "low", "high"],
        orient="row",
    )
    assert ared.falls_below(table) == 1
    assert ared.rises_above(table) == pytest.approx(1 / 3)
    assert ared.longest_wait(table) == pytest.approx(0.3)
    assert ared.rises_above(table.head(4)) is None


@given(st.floats(0.001, 1))
def test_the_mean_gap_tells_the_probability(initial: float) -> None:
    gap = sum(max(1 - after * initial, 0) for after in range(1001))
    assert fig32_ared.probability(gap) == pytest.approx(initial)


def test_ared_drops_by_equation_2(tmp_path: Path) -> None:
    """The average is 66 hundredths of the way and max_p 0.6, so 0.396 by equation (2). The drops
    are one packet and two apart in turn, 1.5 in the mean, as by equation (3) those of 0.5 are."""
    drops = [True, True, False] * 400
    packets = [(at, 50 + 200 // 3, dropped) for at, dropped in enumerate(drops)]
    table = fig32_ared.table([adaptive(tmp_path / "run", [(0, 0.6), (5000, 0.6)], packets)])
    assert table["state"].to_list() == ["max_p most"]
    assert table["exact"][0] == pytest.approx(0.396)
    assert table["found"][0] == pytest.approx(0.5, abs=0.001)
    assert table["drops"].to_list() == [799]
    off = pytest.approx(0.104 / 0.396, abs=0.003)
    assert measured(fig32_ared, "mean_error", table, state="max_p most") == off
    assert measured(fig32_ared, "largest_error", table, state="max_p most") == off
    assert measured(fig32_ared, "mean_error", table, state="max_p least") is None


def start(directory: Path, axes: dict[str, Any], arrivals: list[int], fct_s: float) -> Run:
    """A flow, RTT 200 ms, whose window is 40 packets when it is first reduced, to 20."""
    directory.mkdir(parents=True)
    pl.DataFrame(
        [("bottleneck", "forward", at * MS, 1000) for at in arrivals],
        schema=["bottleneck", "direction", "enqueue_ns", "payload_bytes"],
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    pl.DataFrame(
        {
            "time_ns": [MS, 2 * MS, 3 * MS],
            "cwnd_packets": [10, 40, 20],
            "ssthresh_packets": [None, None, 20],
        }
    ).write_parquet(directory / "acks.parquet")
    pl.DataFrame({"fct_s": [fct_s]}).write_parquet(directory / "flows.parquet")
    return Run(directory, axes, document())


def test_dctcp_beside_reno_and_a_fifo(tmp_path: Path) -> None:
    table = dctcp_startup.table(
        [
            start(tmp_path / "step", {"step": "20 packets"}, [1], 3.0),
            start(tmp_path / "fifo", {"sender": "DCTCP"}, [1, 2, 2, 4], 2.0),
            start(tmp_path / "reno", {"sender": "Reno"}, [1, 2, 2, 5], 2.0),
        ]
    )
    step = table.filter(pl.col("queue") == "20 packets").row(0, named=True)
    assert step["end_bdp"] == pytest.approx(40 / (200e-3 * 10e6 / 8 / 1514))
    assert (step["left_by"], step["fct_ratio"], step["differing"]) == (0, 1.5, None)
    assert measured(dctcp_startup, "unlike_reno", table) == 0.25
    assert measured(dctcp_startup, "largest_window", table) == step["end_bdp"]
    assert measured(dctcp_startup, "least_completion", table, rtt_from=200) == 1.5
    assert measured(dctcp_startup, "least_completion", table, rtt_from=300) is None
    assert measured(dctcp_startup, "off_half", table) == 0


def test_shares_of_flows_and_classes(tmp_path: Path) -> None:
    fair, classes = tmp_path / "fair", tmp_path / "classes"
    for directory in (fair, classes):
        directory.mkdir()
    pl.DataFrame(
        {
            "flow": [1, 2, 3],
            "workload": ["media", "bulk", "bulk"],
            "goodput_mbit": [0.1, 1.0, 3.0],
        }
    ).write_parquet(fair / "flows.parquet")
    pl.DataFrame(
        [("bottleneck", "forward", 1, 2 * MS), ("bottleneck", "forward", 2, 90 * MS)],
        schema=["bottleneck", "direction", "flow", "sojourn_ns"],
        orient="row",
    ).write_parquet(fair / "packets.parquet")
    pl.DataFrame(
        [
            ("bottleneck", "forward", at * MS, drop, before, after)
            for at, drop, before, after in [
                (1, None, 2, 2),
                (2, 2 * MS, 0, 0),
                (3, None, 0, 0),
                (11, None, 2, CE),
                (12, None, 2, 2),
                (13, 13 * MS, 0, 0),
            ]
        ],
        schema=["bottleneck", "direction", "enqueue_ns", "drop_ns", "ecn_in", "ecn_out"],
        orient="row",
    ).write_parquet(classes / "packets.parquet")
    pl.DataFrame(
        [("bottleneck", "forward", 0, 50.0), ("bottleneck", "forward", 10 * MS, 120.0)],
        schema=["bottleneck", "direction", "time_ns", "mark_avg"],
        orient="row",
    ).write_parquet(classes / "queues.parquet")
    marked: dict[str, Any] = document(virtual_s=10.0)
    marked["bottleneck"]["marks"] = 20
    classed: dict[str, Any] = document()
    classed["experiment"]["bottleneck"]["queue"]["mark_min"] = 100
    table = queue_shares.table(
        [
            Run(fair, {"experiment": "fair-queueing", "fair": "FQ-CoDel"}, document()),
            Run(classes, {"experiment": "wred"}, classed),
            Run(tmp_path, {"experiment": "mark-rates"}, marked),
        ]
    )
    assert queue_shares.value(table, queue_shares.JAIN, "FQ-CoDel") == pytest.approx(16 / 20)
    assert queue_shares.value(table, queue_shares.CALL, "FQ-CoDel") == 2
    assert queue_shares.value(table, queue_shares.MARKS, "DCTCP, step") == 2
    every = (queue_shares.SIGNALLED, "First class", "Second class")
    assert queue_shares.ratio(table, *every) == pytest.approx((1 / 3) / (2 / 3))
    assert queue_shares.ratio(table, queue_shares.BELOW, "First class", "Second class") == 0
    assert queue_shares.ratio(table, queue_shares.JAIN, "FQ-CoDel", "SFQ-CoDel") is None


def lossy(directory: Path, feedback: str, loss: str, counted: list[int]) -> Run:
    """Packets of 100 bytes, of which a handshake's, the third, the fourth and the ninth are marked;
    ACKs of each from 3 s on, and an RTT of three of them. `counted` is before each ACK."""
    directory.mkdir()
    first = 2**32 - 250  # sequence numbers wrap
    pl.DataFrame(
        [
            ("bottleneck", "forward", 100 * min(n, 1), n * MS, (first + 100 * n) % 2**32, field)
            for n, field in enumerate([CE, 2, 2, CE, CE, 2, 2, 2, 2, CE, 2])
        ],
        schema=["bottleneck", "direction", "payload_bytes", "dequeue_ns", "seq", "ecn_out"],
        orient="row",
    ).write_parquet(directory / "packets.parquet")
    before = [(2990, 0, 0)] + [(3000 + 10 * n, 100 * n, told) for n, told in enumerate(counted)]
    pl.DataFrame(
        [(at * MS, acked + 1, 30_000, told) for at, acked, told in before],
        schema=["time_ns", "bytes_acked", "srtt_us", "delivered_ce_packets"],
        orient="row",
    ).write_parquet(directory / "acks.parquet")
    return Run(directory, {"feedback": feedback, "marks": "step", "loss": loss}, document())


def test_marks_counted_of_marks_made(tmp_path: Path) -> None:
    runs = [
        lossy(tmp_path / "exact", "Accurate ECN", "20%", [0, 0, 0, 1, 2, 2, 2, 2, 2, 3]),
        lossy(tmp_path / "late", "DCTCP", "20%", [0, 0, 0, 0, 2, 2, 2, 2, 2, 3]),
        lossy(tmp_path / "many", "DCTCP", "5%", [0, 0, 0, 0, 0, 0, 0, 2, 2, 6]),
        lossy(tmp_path / "few", "DCTCP", "1%", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]
    table = ack_losses.table(runs)
    assert (
        measured(
            ack_losses,
            "of",
            table,
            measure="misplaced",
            feedback="Accurate ECN",
            marks="step",
            loss=20,
        )
        == 0
    )
    assert (
        measured(
            ack_losses, "of", table, measure="counted", feedback="DCTCP", marks="step", loss=20
        )
        == 1
    )
    # of three in the round trips one is counted in the one after
    assert measured(
        ack_losses, "of", table, measure="misplaced", feedback="DCTCP", marks="step", loss=20
    ) == pytest.approx(2 / 3)
    assert (
        measured(ack_losses, "of", table, measure="counted", feedback="DCTCP", marks="step", loss=5)
        == 2
    )
    assert (
        measured(
            ack_losses, "of", table, measure="distance", feedback="DCTCP", marks="step", loss=1
        )
        == 1
    )
    assert (
        measured(ack_losses, "most", table, measure="distance", feedback="DCTCP", marks="step") == 1
    )
    assert (
        measured(
            ack_losses, "of", table, measure="distance", feedback="DCTCP", marks="slope", loss=20
        )
        is None
    )
    assert (
        measured(ack_losses, "most", table, measure="distance", feedback="DCTCP", marks="slope")
        is None
    )


def test_what_reds_settings_do() -> None:
    table = pl.DataFrame(
        [
            (red_settings.RED, 4, 100.0, 1.0, 90.0, 10, 3),
            (red_settings.RED, 4, 100.0, 2.5, 90.0, 10, 3),
            (red_settings.ADAPTIVE, 4, 100.0, 9.0, 95.0, 0, None),
            (red_settings.FIXED, 4, 100.0, 9.0, 100.0, 0, None),
            (red_settings.ADAPTIVE, 16, 100.0, 9.0, 100.0, 24, None),
            (red_settings.FIXED, 16, 100.0, 9.0, 100.0, 20, None),
            (red_settings.MISTUNED, 4, 20.0, 1.0, 90.0, 10, 7),
            (red_settings.MISTUNED, 4, 200.0, 3.0, 90.0, 10, 9),
            (red_settings.TUNED, 4, 200.0, 2.0, 90.0, 10, 0),
        ],
        schema=["queue", "flows", "rtt_ms", "fct_s", "peak_ms", "soon", "forced"],
        orient="row",
    )
    assert measured(red_settings, "spread", table, column="fct_s") == 2.5
    assert value(red_settings.adaptive_off(table, "peak_ms")) == pytest.approx(0.05)
    assert value(red_settings.adaptive_off(table, "soon")) == pytest.approx(0.2)
    assert value(red_settings.forced(table, red_settings.MISTUNED, rtt_to=20)) == 7
    assert red_settings.forced(table, red_settings.TUNED, rtt_to=20) is None
    assert measured(red_settings, "mistuned_completion", table, rtt_from=100) == 1.5


def test_why_hred_tuning_means_and_ranks() -> None:
    table = pl.DataFrame(
        {
            "rtt_ms": [20.0, 20.0, 400.0, 400.0, 400.0],
            "tuned_ms": [20.0, 20.0, 20.0, 100.0, 400.0],
            "forced": [2, 4, 0, 0, 0],
            "fct_s": [1.0, 1.0, 3.0, 3.1, 3.3],
        }
    )
    assert measured(why_hred_tuning, "mean", table, column="forced", rtt_ms=20, tuned_ms=20) == 3
    assert (
        measured(why_hred_tuning, "mean", table, column="forced", rtt_ms=20, tuned_ms=400) is None
    )
    assert why_hred_tuning.rises(table, "fct_s", 400) == pytest.approx(1)
    assert why_hred_tuning.rises(table, "fct_s", 20) is None


def test_what_halving_costs_a_long_flow(tmp_path: Path) -> None:
    """The first 40 s, in which slow start and the way to the first peak end, do not count."""
    pl.DataFrame(
        [
            ("bottleneck", "forward", at * 10**9, size, 4 * MS)
            for at, size in [(39, 10**9), (40, 6 * 10**6), (49, 4 * 10**6)]
        ],
        schema=["bottleneck", "direction", "dequeue_ns", "size_bytes", "sojourn_ns"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    made = document()
    made["experiment"]["duration"] = "50s"
    run = Run(tmp_path, {"queue": "CoDel", "factor": 80}, made)
    (row,) = halving.table([run]).to_dicts()
    assert row == pytest.approx(
        {"queue": "CoDel", "factor": 0.8, "rtt_ms": 200, "utilisation": 0.8, "delay_ms": 4}
    )
    table = pl.DataFrame(
        [("CoDel", 0.5, 50.0, 0.8), ("CoDel", 0.8, 50.0, 0.96), ("CoDel", 0.5, 20.0, 0.9),
         ("CoDel", 0.8, 20.0, 0.9), ("Predict", 0.5, 50.0, 0.7), ("Predict", 0.8, 50.0, 0.77)],
        schema=["queue", "factor", "rtt_ms", "utilisation"], orient="row",
    )  # fmt: skip
    assert measured(halving, "least_over_halving", table, factor=0.8, rtt_from=50) == pytest.approx(
        1.1
    )
    assert measured(halving, "least_over_halving", table, factor=0.8, rtt_from=20) == pytest.approx(
        1
    )
    assert measured(halving, "most_used", table, factor=0.5, rtt_from=50) == 0.8
    assert measured(halving, "most_used", table, factor=0.5, rtt_from=100) is None


def test_datagrams_before_and_beside_flows(tmp_path: Path) -> None:
    """Of 2 s alone and 2 beside flows, with an RTT of 200 ms."""
    sent = [(1, 0, 0), (1, 1999, 25), (1, 2000, 150), (2, 2001, 300), (1, 4000, 300)]
    pl.DataFrame(
        [("bottleneck", "forward", flow, at * MS, wait * MS, 125_000) for flow, at, wait in sent],
        schema=["bottleneck", "direction", "flow", "enqueue_ns", "sojourn_ns", "size_bytes"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    pl.DataFrame({"flow": [1, 2], "workload": ["udp", "bulk"]}).write_parquet(
        tmp_path / "flows.parquet"
    )
    made = document()
    made["experiment"]["flows"] = [{"burst": 1}, {"start": "2s", "count": 4}]
    (row,) = interactive.table([Run(tmp_path, {"queue": "FQ-CoDel"}, made)]).to_dicts()
    assert (row["rtt_ms"], row["rate_mbit"], row["share_mbit"]) == (200, 1, 2)
    assert (row["alone_ms"], row["beside_ms"], row["increase"]) == (125, 250, 2)
    cases = [(1, 3.0, 1.5), (1, 2.5, 1.3), (1, 2.0, 1.1), (10, 0.1, 1.8), (10, 3.0, 2.0)]
    table = pl.DataFrame(
        [row | {"burst": burst, "rate_mbit": rate, "increase": up} for burst, rate, up in cases]
    )
    assert measured(interactive, "increase_above_share", table) == 1.4
    assert measured(interactive, "increase_of_bursts", table) == 1.9
    assert measured(interactive, "delay_below_share", table) == 250
    assert measured(interactive, "longest_below_share", table) == 250
    assert measured(interactive, "longest_below_share", table.filter(burst=10)) is None
