"""Figures on sentences of the paper beyond its own figures: reductions and metrics, by hand."""

from math import log
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.dctcp_internet import (
    average,
    avoided,
    buffer,
    dominated,
    equal_thresholds,
    fig02_rule,
    fig06,
    instantaneous,
    legacy,
    outside,
    patch_start,
    resolution,
    sender,
    sharing,
    stable,
    weight,
    weight_g,
    whole_segments,
    why_above,
    why_below,
    why_legacy,
)
from sandglass.results.series import Run
from tests.pipeline.synthetic import measured, value
from tests.pipeline.test_dctcp_internet import SECOND, content, made


def frame(columns: list[str], *rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=columns, orient="row")


def test_the_delay_is_that_of_the_queue_samples(tmp_path: Path) -> None:
    """Half of the samples after the warm-up have 1 BDP, which the link takes 25 ms for."""
    run = made(tmp_path / "run", 2, 6)
    assert sharing.delay_ms(run, 0.95) == pytest.approx(25)
    assert sharing.delay_ms(run, 0.05) == 0


def test_fig06_grows_at_each_threshold() -> None:
    table = frame(
        ["flows", "relative", "utilisation"],
        *((flows, 1.0, 0.9 + flows / 100) for flows in (1, 2, 3)),
        *((flows, 2.0, 0.98 - flows / 100) for flows in (1, 2, 3)),
        *((flows, 3.0, 1.0 - flows / 1000) for flows in (1, 2, 3)),
    )
    assert value(fig06.grows_at_each(table, 1)) == pytest.approx(1)
    assert value(fig06.grows_at_each(table, 2)) == pytest.approx(-1)
    assert fig06.grows_at_each(table, 0.5) is None


def test_buffer(tmp_path: Path) -> None:
    queue = {"limit": "0.75bdp"}
    table = buffer.table([made(tmp_path / "run", 2, 6, queue=queue)])
    assert table.rows() == [(0.75, pytest.approx(0.8), pytest.approx(0.5))]
    table = frame(["buffer", "utilisation"], (0.5, 0.9), (0.75, 0.97), (1.0, 0.99), (1.5, 1.0))
    assert measured(buffer, "least_utilisation", table, since=1) == 0.99
    assert measured(buffer, "largest_utilisation", table, until=0.75) == 0.97
    assert buffer.gained(table, 1, 0.75) == pytest.approx(2)
    assert buffer.gained(table, 1, 0.6) is None


def test_outside(tmp_path: Path) -> None:
    (row,) = outside.table([made(tmp_path / "run", 2, 6)]).to_dicts()
    assert (row["reno"], row["larger"]) == (pytest.approx(0.25), pytest.approx(0.75))
    table = frame(
        ["minimum", "relative", "reno", "larger"],
        (1.0, 0.5, 0.99, 0.99),
        (1.0, 0.75, 0.96, 0.96),
        (1.0, 3.25, 0.1, 0.9),
    )
    assert value(outside.least_larger(table, above=False)) == 0.96
    assert value(outside.least_larger(table, above=True)) == 0.9


def test_legacy(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"experiment": "three", "queue": "step 1"}
    run = made(tmp_path / "run", 2, 6)
    flows = [{"id": 1, "cc": "reno", "ecn": True}, {"id": 2, "cc": "dctcp_inet", "ecn": True}]
    document = {**run.document, "flows": flows}
    document["experiment"]["bottleneck"]["queue"]["kind"] = "dualred"
    table = legacy.table([Run(run.directory, axes, document)])
    assert table["sender"].to_list() == [legacy.DCTCP, legacy.RENO_ECN]
    assert set(table["flows"]) == {"all three"}
    assert table["mbit"].to_list() == pytest.approx([6, 2])
    table = frame(
        ["queue", "flows", "sender", "mbit"],
        *(
            (queue, "all three", sender, mbit)
            for queue, all_mbit in (("a", (4, 1, 5)), ("b", (4, 3, 2)))
            for sender, mbit in zip(("Reno", "Reno with ECN", "DCTCP"), all_mbit, strict=True)
        ),
        ("a", "both Reno", "Reno", 1),
    )
    assert value(legacy.over(table, "all three", "Reno with ECN", "Reno")) == 0.75
    assert measured(legacy, "smallest", table, flows="all three") == 0.2
    assert legacy.over(table, "both with ECN", "Reno with ECN", "Reno") is None


def test_fig02_by_the_rule() -> None:
    table = frame(["minimum", "ratio"], (0.3, 0.9), (0.5, 1.2))
    assert measured(fig02_rule, "ratio_at", table, minimum=0.5) == 1.2
    assert measured(fig02_rule, "ratio_at", table, minimum=1) is None


def acks(*rows: tuple[str, int, int]) -> pl.DataFrame:
    """State, window and threshold before each ACK, one every second."""
    return frame(
        ["time_ns", "ca_state", "cwnd_packets", "ssthresh_packets"],
        *((n * SECOND, *row) for n, row in enumerate(rows)),
    )


def test_equal_thresholds_reductions() -> None:
    """A recovery, and two spells of CWR of which the second begins with the ACK that ends the
    first; what the record begins in does not count."""
    found = equal_thresholds.reductions(
        acks(
            ("CWR", 30, 30),
            ("Open", 40, 30),
            ("Recovery", 21, 20),
            ("Recovery", 20, 20),
            ("Open", 40, 20),
            ("CWR", 38, 38),
            ("CWR", 36, 36),
            ("CWR", 39, 39),
            ("Open", 39, 39),
        )
    )
    assert found["before"].to_list() == [40, 40, 36]
    assert found["left"].to_list() == [20, 36, 39]
    assert found["share"].to_list() == pytest.approx([0.5, 0.1, 0])
    assert equal_thresholds.halves(found).to_list() == [True, False, False]


def test_equal_thresholds_metrics() -> None:
    table = frame(
        ["flow", "signalled", "reduction", "halved"],
        ("Reno", 0.01, 0.5, 0.9),
        ("DCTCP", 0.012, 0.1, 0.0),
    )
    assert measured(equal_thresholds, "signals_over", table) == pytest.approx(1.2)
    assert measured(equal_thresholds, "reduction", table, flow="DCTCP") == 0.1
    assert measured(equal_thresholds, "reduction", table, flow="CUBIC") is None
    assert measured(equal_thresholds, "halved", table, flow="Reno") == 0.9


def test_average(tmp_path: Path) -> None:
    """Two packets between two samples; where one meets an empty queue nothing is computed."""
    assert average.averaged(1000, [2000, 3000], 0.5) == 2250
    warm = sharing.WARM_UP_NS
    pl.DataFrame(
        [(warm + 1, 3000), (warm + 1, 2000), (warm + 11, 0), (warm + 12, 1500)],
        schema={"enqueue_ns": pl.Int64, "queue_bytes": pl.UInt32},
        orient="row",
    ).with_columns(bottleneck=pl.lit("bottleneck"), direction=pl.lit("forward")).write_parquet(
        tmp_path / "packets.parquet"
    )
    pl.DataFrame(
        [(warm, 1000.0, 1000.0), (warm + 10, 2250.0, 2900.0), (warm + 20, 0.0, 0.0)],
        schema=["time_ns", "drop_avg", "mark_avg"],
        orient="row",
    ).with_columns(bottleneck=pl.lit("bottleneck"), direction=pl.lit("forward")).write_parquet(
        tmp_path / "queues.parquet"
    )
    run = Run(tmp_path, {}, content({"drop_weight": 0.5, "mark_weight": 1}))
    table = average.table([run])
    assert table.select("kind", "held_bytes", "computed_bytes").rows() == [
        ("drop", 2250, 2250),
        ("mark", 2900, 3000),
    ]
    assert measured(average, "farthest_off", table) == 100
    assert average.compared(table) == 2


def test_a_dip_before_the_largest_window_does_not_settle() -> None:
    after = frame(["time_s", "cwnd_packets"], (1.0, 30), (1.1, 90), (1.5, 50), (1.7, 44), (2.0, 40))
    assert patch_start.falls_s(after, 45) == pytest.approx(0.7)
    assert patch_start.falls_s(after, 35) is None


def test_settling_of_one_sender_against_another() -> None:
    table = frame(["sender", "settled_s"], ("old", 0.5), ("new", 0.2))
    assert measured(patch_start, "longer_s", table, sender="old", than="new") == pytest.approx(0.3)
    assert measured(patch_start, "longer_s", table, sender="old", than="other") is None


def test_whole_segments() -> None:
    table = pl.DataFrame({"small": [0, 2]})
    assert measured(whole_segments, "most_small", table) == 2


# A sender, ACK by ACK


def path(**changes: list[Any]) -> sender.Path:
    """Ten packets of one byte sent before each ACK, which acknowledges one; marks on the third and
    the seventh. CWR begins with each of these marks, reduces 20 by 2 and then nothing."""
    given: dict[str, list[Any]] = {
        "time_ns": [n * SECOND for n in range(10)],
        "acked": list(range(10)),
        "sent": [3 + n for n in range(10)],
        "delivered": list(range(10)),
        "marked": [0, 0, 0, 1, 1, 1, 1, 2, 2, 2],
        "cwnd": [20, 20, 20, 18, 18, 19, 19, 19, 19, 20],
        "ssthresh": [None, None, None, 18, 18, 18, 18, 19, 19, 19],
        "cwr": [False, False, False, True, True, True, False, True, True, False],
        "rtt_ns": [2 * SECOND] * 10,
    }
    return sender.Path(**(given | changes))


def test_alpha_of_each_ack() -> None:
    found = sender.alphas(path(), sender.Alpha(per_ack=True, bits=4, shift=2))
    # 16 >> 2 with a mark; then 4, 3, 3, 3 less what is 4 or more of it
    assert [each * 16 for each in found] == [0, 0, 4, 3, 3, 3, 7, 6, 5]


def test_alpha_of_each_rtt() -> None:
    """It is updated when what was sent at the last update is acknowledged: with the first, the
    third, the fifth ACK and so on."""
    setting = sender.Alpha(per_ack=False, bits=4, shift=2)
    found = sender.alphas(path(), setting)
    # one mark in the two packets of the second and fourth round: 8 >> 2; 2 is too little to fall
    assert [each * 16 for each in found] == [0, 0, 2, 2, 2, 2, 4, 4, 3]


def test_reductions_and_equation_1() -> None:
    found = path()
    assert sender.reductions(found) == [(2, 20)]
    assert sender.equation1(found, [0.0, 0.0, 0.15]) == pytest.approx(0.5)
    assert sender.equation1(path(cwr=[False] * 10), [0.0] * 9) is None


def test_equation_2_at_the_samples_of_ss() -> None:
    text = "cwnd:9 bytes_acked:{} x dctcp:(ce_state:0,alpha:{},ab_ecn:0,ab_tot:0)\nnothing\n"
    alpha = [0.0, 0.0, 0.25] + [0.5] * 6
    told = "".join(text.format(acked, round(2**30 * each)) for acked, each in ((4, 0.25), (5, 0.4)))
    assert sender.equation2(path(), alpha, told) == pytest.approx(0.1)
    assert sender.equation2(path(), alpha, "") is None


def test_spacing_of_reductions() -> None:
    """At the third and the seventh ACK, in round trips of 2 s."""
    assert sender.spacing(path()) == 2


def test_what_the_first_ack_after_a_recalculation_adds() -> None:
    """The eighth ACK, in CWR's second spell; with an echo of its own it is the ninth."""
    assert avoided.slow_start_end(path()) == 3
    assert avoided.first_ack(path()) == 0
    grown = [20, 20, 20, 18, 18, 19, 19, 19, 20, 20]
    assert avoided.first_ack(path(cwnd=grown)) == 1
    echoed = [0, 0, 0, 1, 1, 1, 1, 2, 3, 3]
    assert avoided.first_ack(path(cwnd=grown, marked=echoed)) == 0
    assert avoided.first_ack(path(cwr=[False] * 10, ssthresh=[None] * 10)) is None
    again = [None, None, None, 18, 18, 18, 18, 19, 17, 17]
    assert avoided.first_ack(path(cwnd=grown, ssthresh=again)) == 0


def test_what_a_round_trip_adds_to_the_window() -> None:
    """From the sixth ACK on it grows by two packets, and loses one, in two round trips."""
    assert avoided.growth(path(cwnd=[20, 20, 20, 18, 18, 19, 20, 19, 19, 20])) == 1


def test_one_sender_over_another() -> None:
    table = frame(["sender", "queue_packets"], ("modified", 3.0), ("late", 4.0))
    assert (
        measured(avoided, "over", table, sender="modified", than="late", measure="queue_packets")
        == 0.75
    )
    assert (
        measured(avoided, "over", table, sender="modified", than="none", measure="queue_packets")
        is None
    )


def test_growth_in_cwr() -> None:
    """From the eighth ACK to the ninth, half an RTT, the window gains a packet over the threshold;
    the first spell is slow start's."""
    assert sender.gained(path()) == 2
    assert sender.gained(path(cwr=[False] * 10)) is None


def test_how_far_alpha_is_from_the_marks() -> None:
    """Two reductions at which alpha is as the marks around, and twice that."""
    times = [n * SECOND // 2 for n in range(20)]
    cwnd = [20] * 11 + [18] * 4 + [16] * 5
    found = path(
        time_ns=times,
        acked=list(range(20)),
        sent=[n + 1 for n in range(20)],
        delivered=list(range(20)),
        marked=[n // 2 for n in range(20)],
        cwnd=cwnd,
        ssthresh=cwnd,
        cwr=[False] * 11 + [True] * 9,
        rtt_ns=[2 * SECOND] * 20,
    )
    alpha = [0.5] * 12 + [1.0] * 8
    assert sender.stale(found, alpha) == pytest.approx(log(2) / 2**0.5)


def test_sender_metrics() -> None:
    table = frame(
        ["sender", "marks", "seed", "equation1", "stale"],
        ("modified", "step", 1, 0.4, 0.2),
        ("modified", "step", 2, 0.3, 0.3),
        ("original alpha", "step", 2, 0.9, 0.4),
        ("Linux 6.12", "step", 1, None, None),
    )
    assert sender.of(table, "modified", "step", "stale") == [0.2, 0.3]
    assert sender.of(table, "Linux 6.12", "step", "stale") == []
    assert measured(sender, "worst", table, measure="equation1") == 0.9
    assert sender.stale_over(table, "modified", "original alpha", "step") == pytest.approx([0.75])
    assert sender.stale_over(table, "modified", "Linux 6.12", "step") == []


def test_sender_records(tmp_path: Path) -> None:
    """Three packets, the second marked, of which the first two are acknowledged; sequence numbers
    wrap."""
    pl.DataFrame(
        [(1, 2**32 - 100, 100, 2, 2), (2, 0, 100, 2, 3), (5, 100, 50, 2, 2)],
        schema={
            "enqueue_ns": pl.Int64,
            "seq": pl.UInt32,
            "payload_bytes": pl.UInt32,
            "ecn_in": pl.UInt8,
            "ecn_out": pl.UInt8,
        },
        orient="row",
    ).with_columns(
        bottleneck=pl.lit("bottleneck"),
        direction=pl.lit("forward"),
        flow=pl.lit(1),
        dequeue_ns=pl.col("enqueue_ns"),
    ).write_parquet(tmp_path / "packets.parquet")
    pl.DataFrame(
        [
            (1, 3, 1, 1, 0, 10, None, "Open", 7),
            (1, 6, 101, 2, 0, 10, None, "Open", 7),
            (1, 9, 201, 3, 1, 9, 9, "CWR", 7),
        ],
        schema={
            "flow": pl.UInt16,
            "time_ns": pl.Int64,
            "bytes_acked": pl.UInt64,
            "delivered_packets": pl.UInt32,
            "delivered_ce_packets": pl.UInt32,
            "cwnd_packets": pl.UInt32,
            "ssthresh_packets": pl.UInt32,
            "ca_state": pl.String,
            "srtt_us": pl.UInt32,
        },
        orient="row",
    ).write_parquet(tmp_path / "acks.parquet")
    (tmp_path / "command-2.txt").write_text("")
    document = content() | {"flows": [{"id": 1, "cc": "dctcp_inet"}]}
    document["experiment"]["hosts"] = {
        "s1": {"sysctls": {"net.ipv4.tcp_dctcp_inet.alpha_per_ack": 0}}
    }
    run = Run(tmp_path, {"sender": "ours", "marks": "step"}, document)
    found = sender.path_of(run)
    assert (found.acked, found.sent) == ([0, 100, 200], [200, 250, 250])
    assert (found.delivered, found.marked) == ([0, 1, 2], [0, 0, 1])
    assert (found.cwr, found.rtt_ns) == ([False, False, True], [7000] * 3)
    assert sender.alpha_of(run) == (False, 20, 8)
    (row,) = sender.table([run]).to_dicts()
    assert row["echoed"] == 1


def test_weight(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 2, 6, setting="one", weight=0.02)
    (row,) = weight.table([run]).to_dicts()
    assert (row["setting"], row["weight"], row["ratio"]) == ("one", 0.02, pytest.approx(1 / 3))
    table = frame(
        ["setting", "weight", "ratio"],
        ("one", 0.002, 1.0),
        ("one", 1.0, 1.1),
        ("two", 0.002, 2.0),
        ("two", 1.0, 1.6),
    )
    assert value(weight.farthest_apart(table)) == pytest.approx(1.25)


def test_dominated(tmp_path: Path) -> None:
    (row,) = dominated.table([made(tmp_path / "run", 2, 6)]).to_dicts()
    assert (row["share"], row["minimum"], row["p95_ms"]) == (50, 0.5, pytest.approx(25))
    table = frame(
        ["share", "minimum", "utilisation", "p95_ms"],
        (0, 0.5, 0.97, 10.0),
        (0, 1.0, 0.99, 40.0),
        (50, 0.5, 0.98, 20.0),
        (50, 1.0, 0.99, 30.0),
        (100, 0.25, 0.99, 8.0),
        (100, 0.5, 0.97, 5.0),
    )
    assert dominated.delay_over(table, 0.98, 100, 0) == 0.2
    assert dominated.delay_over(table, 0.98, 75, 0) is None
    assert dominated.delay_falls(table, 0.98) == pytest.approx(-1)
    assert dominated.delay_falls(table, 0.995) is None
    # 0.75 BDP with Reno alone; of 50 % the least setting, of 100 % too, uses it as much already
    assert dominated.threshold_over(table, 0.98, 50, 0) is None
    steps = [(0.125, 0.96), (0.25, 0.97), (0.5, 0.99), (1.0, 0.98)]
    shares = ((share, setting, used + share / 1e4) for share in (0, 50) for setting, used in steps)
    known = frame(["share", "minimum", "utilisation"], *shares)
    assert dominated.threshold_over(known, 0.98, 50, 0) == pytest.approx(0.3125 / 0.375)
    assert dominated.threshold_falls(known, 0.98) == pytest.approx(-1)
    assert dominated.threshold_falls(known, 0.999) is None


def test_instantaneous(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 2, 6, queue={"mark_weight": 1})
    run.document["experiment"]["hosts"] = {"s1": {"rtt": "5ms"}, "s2": {}}
    (row,) = instantaneous.table([run]).to_dicts()
    assert (row["reno_ms"], row["dctcp_ms"], row["weight"]) == (5, 25, 1)
    table = frame(
        ["reno_ms", "dctcp_ms", "weight", "ratio", "p95_ms"],
        (25.0, 25.0, 1.0, 1.0, 9.0),
        (25.0, 25.0, 0.002, 1.0, 10.0),
        (5.0, 100.0, 1.0, 4.0, 8.0),
        (5.0, 100.0, 0.002, 8.0, 10.0),
        (100.0, 5.0, 1.0, 0.25, 12.0),
        (100.0, 5.0, 0.002, 0.2, 10.0),
    )
    assert value(instantaneous.delay_over(table, unequal=True)) == pytest.approx(1.2)
    assert value(instantaneous.delay_over(table, unequal=False)) == pytest.approx(0.9)
    assert value(instantaneous.unfairness_over(table)) == pytest.approx(0.8)


def test_stable(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 2, 6, experiment="step", setting="one")
    assert stable.table([run]).rows() == [("step", "one", 10, pytest.approx(1 / 3))]
    table = frame(
        ["marks", "setting", "start_s", "ratio"],
        *(("step", "one", start, 1.0) for start in (10, 20, 30, 40)),
        *(("slope", "two", 10 * n, ratio) for n, ratio in enumerate((1.0, 1.0, 1.5, 1.8), 1)),
        *(("slope", "three", 10 * n, ratio) for n, ratio in enumerate((1.0, 1.0, 1.1, 1.1), 1)),
    )
    assert stable.drift(table) == pytest.approx(1.1)
    assert value(stable.spread(table, 20)) == pytest.approx(1.2)
    assert value(stable.spread(table, 30)) == pytest.approx(1.8)


def test_weight_g_nearest() -> None:
    table = frame(
        ["rate_mbit", "shift", "settled_s"],
        (2.0, None, 0.1),
        (2.0, 4, 0.11),
        (2.0, 8, 0.5),
        (50.0, None, 1.0),
        (50.0, 4, 0.1),
        (50.0, 8, 3.0),
    )
    assert weight_g.nearest(table, 2) == 4
    assert weight_g.nearest(table, 50) == 8
    assert weight_g.moves(table, 50, 2) == 4
    assert weight_g.moves(table, 10, 2) is None


def test_resolution(tmp_path: Path) -> None:
    pl.DataFrame(
        [(1, 0, 90), (1, SECOND, 30), (2, SECOND, 1), (1, 2 * SECOND, 34)],
        schema={"flow": pl.UInt16, "time_ns": pl.Int64, "cwnd_packets": pl.UInt32},
        orient="row",
    ).write_parquet(tmp_path / "acks.parquet")
    document = content({"mark_probability": 0.1})
    document["experiment"]["duration"] = "60500ms"
    (row,) = resolution.table(
        [Run(tmp_path, {"sender": "fine", "distances": "uniform"}, document)]
    ).to_dicts()
    assert (row["probability"], row["range"]) == (0.1, 4)
    table = frame(
        ["sender", "probability", "distances", "range"],
        ("fine", 0.1, "uniform", 4),
        ("fine", 0.1, "independent", 12),
        ("fine", 0.2, "uniform", 3),
        ("coarse", 0.1, "uniform", 0),
        ("coarse", 0.2, "independent", 0),
    )
    assert measured(resolution, "least_range", table, sender="fine") == 3
    assert measured(resolution, "least_range", table, sender="coarse") == 0
    assert measured(resolution, "independent_over_uniform", table, sender="fine") == 3
    assert measured(resolution, "independent_over_uniform", table, sender="coarse") is None


def test_why_below(tmp_path: Path) -> None:
    axes = {"packet": 590, "beside": "DCTCP"}
    (row,) = why_below.table([made(tmp_path / "run", 2, 6, **axes)]).to_dicts()
    assert (row["minimum"], row["reno_mbit"], row["dctcp_mbit"]) == (0.5, 2, 6)
    table = frame(
        ["minimum", "packet", "beside", "reno_mbit", "dctcp_mbit"],
        (0.125, 590, "DCTCP", 6.0, 2.0),
        (0.125, 590, "nothing", 8.0, 0.0),
        (1.0, 590, "DCTCP", 9.0, 0.5),
        (1.0, 590, "nothing", 9.0, 0.0),
    )
    assert measured(why_below, "reno_share", table, minimum=0.125, packet=590) == 0.75
    assert measured(why_below, "reno_share", table, minimum=1, packet=1500) is None
    assert measured(why_below, "kept", table) == 0.75


def test_why_above(tmp_path: Path) -> None:
    """The mean queue is 0.5 BDP; Min_Thresh_Reno 0.5 BDP."""
    table = why_above.table([made(tmp_path / "run", 2, 6, drops="as stated")])
    assert table.rows() == [("as stated", pytest.approx(0.75), pytest.approx(1 / 3))]
    assert measured(why_above, "mean", table, measure="held", drops="as stated") == pytest.approx(
        1 / 3
    )
    assert measured(why_above, "mean", table, measure="held", drops="to twice") is None


def test_why_legacy(tmp_path: Path) -> None:
    """Senders' goodputs are test_legacy's matter."""
    run = made(tmp_path / "run", 2, 6)
    flows = [
        {"id": 1, "cc": "reno", "ecn": False},
        {"id": 2, "cc": "dctcp_inet", "ecn": True},
        {"id": 3, "cc": "reno", "ecn": True},
    ]
    document = {**run.document, "flows": flows}
    document["experiment"]["bottleneck"]["queue"] |= {"kind": "dualred"}
    run = Run(run.directory, {"experiment": "three", "queue": "1"}, document)
    (row,) = why_legacy.table([run]).to_dicts()
    assert (row["relative"], row["dctcp"], row["legacy"]) == (1.3, pytest.approx(3), 0)
    table = frame(
        ["relative", "dctcp", "legacy"], (1.0, 0.25, 0.1), (1.2, 0.5, 0.2), (1.4, 2.0, 0.4)
    )
    assert why_legacy.at_equal_shares(table) == pytest.approx(0.3)
    assert why_legacy.at_equal_shares(table.head(2)) is None
