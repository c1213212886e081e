"""Figures of the thesis's chapter 2 that it has in words alone: metrics worked out by hand."""

import functools
from pathlib import Path

import polars as pl
import pytest

from pipelines.flow_startup import (
    ack_clock,
    after_idle,
    bulk_call,
    call_losses,
    delayed_ack_timer,
    drop_feedback,
    horizon,
    hystart,
    initial_rto,
    limited_slow_start,
    long_flows,
    loss_recovery,
    one_or_six,
    overshoot,
    pie_estimator,
    probing,
    receiver,
    red_speed,
    reductions,
    rto_cost,
    spreading,
    starving,
    why_delayed_ack_timer,
    why_hystart,
    why_pie_buffer,
    why_six,
    why_spread,
    why_transfer_size,
)
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, measured, value

MS = 10**6
BDP = 50e-3 * 10e6 / 8 / 1514


def rounds() -> pl.DataFrame:
    """Two ways to send, an endless buffer and one of 2 BDP of 100 packets."""
    endless, two = "no limit", "2bdp"
    return pl.DataFrame(
        [
            ("Reno", 50.0, endless, 0, 10, 0, 9),
            ("Reno", 50.0, endless, 1, 20, 10, 10),
            ("Reno", 50.0, endless, 2, 40, 30, 20),
            ("Reno", 50.0, endless, 3, 80, 70, 60),
            ("Reno", 50.0, endless, 4, 160, 150, 80),
            ("Reno", 50.0, endless, 5, 10, 310, 70),
            ("BBR", 50.0, endless, 1, 20, 10, 3),
            ("Reno", 50.0, two, 3, 160, 70, 200),
            ("BBR", 50.0, two, 3, 160, 70, 190),
            ("BBR", 50.0, two, 4, 100, 230, 120),
        ],
        schema=["sender", "rtt_ms", "buffer", "round", "window", "sent", "peak"],
        orient="row",
    ).with_columns(bdp=pl.lit(100.0))


def test_probing_ends_when_the_link_is_full() -> None:
    """80 packets fill it at their end, the next round trip is full, those after it do not count."""
    table = rounds()
    assert probing.longest_transient(table, "Reno") == 20
    assert probing.longest_transient(table, "BBR") is None  # was never seen to fill it
    assert probing.least_share(table, "Reno") == 0.5
    assert probing.mean_growth(table, "Reno") == 2
    assert probing.peak_ratio(table, "BBR", "Reno", "2bdp", most=True) == 0.95


def reno(directory: Path, times: list[tuple[int, int]]) -> Run:
    """A Reno flow, RTT 50 ms, whose packets come and leave at these times in ns."""
    pl.DataFrame(
        [("bottleneck", "forward", came, left, None, 1448, 1514) for came, left in times],
        schema={
            "bottleneck": pl.String, "direction": pl.String, "enqueue_ns": pl.Int64,
            "dequeue_ns": pl.Int64, "drop_ns": pl.Int64, "payload_bytes": pl.UInt32,
            "size_bytes": pl.UInt32,
        },
        orient="row",
    ).write_parquet(directory / "packets.parquet")  # fmt: skip
    made = document()
    made["experiment"]["rtt"] = "50ms"
    return Run(directory, {"sender": "Reno"}, made)


def test_a_round_trip_without_a_queue_is_one(tmp_path: Path) -> None:
    """A packet that an idle link takes at once leaves no trace in the backlog."""
    at = [(0, 0), (0, 1), (60, 60), (110, 110)]
    table = probing.table([reno(tmp_path, [(i * MS, o * MS) for i, o in at])])
    assert table["window"].to_list() == [2, 1, 1]
    assert table["sent"].to_list() == [0, 2, 3]
    assert table["peak"].to_list()[1:] == [0, 0]
    assert table["bdp"][0] == pytest.approx(BDP)


def test_a_smooth_exit_is_compared_at_the_same_rtt() -> None:
    half = "limited from 0.5 BDP"
    table = pl.DataFrame(
        [
            ("Reno", 50.0, 40, 0.5, 4),
            ("Reno", 100.0, 60, 0.5, 5),
            ("Reno", 200.0, 9, 0.5, 0),  # nothing to compare it with
            (half, 50.0, 30, 0.3, 6),
            (half, 100.0, 36, 0.4, 6),
        ],
        schema=["sender", "rtt_ms", "peak", "peak_share", "round_trips"],
        orient="row",
    )
    assert measured(limited_slow_start, "most_peak_ratio", table, sender=half) == 0.75
    assert limited_slow_start.mean_peak_ratio(table, half) == pytest.approx((0.75 * 0.6) ** 0.5)
    assert measured(limited_slow_start, "least_share", table, sender=half) == 0.3
    assert measured(limited_slow_start, "extra_round_trips", table, sender=half) == 1
    assert limited_slow_start.mean_peak_ratio(table, "limited from 0.25 BDP") is None
    assert (
        measured(limited_slow_start, "least_share", table, sender="limited from 0.25 BDP") is None
    )


def test_queues_of_slow_start_count_until_a_round_trip_brings_a_product(tmp_path: Path) -> None:
    """Of 41.3 packets: 12 and 24 came in the round trips before, and more wait afterwards."""
    packet_ms = 1514 * 8 / 10e3
    waits = [
        (at, at + round((place + 1) * packet_ms * MS))
        for at, count in ((0, 12), (50 * MS, 24), (100 * MS, 48))
        for place in range(count)
    ]
    row = limited_slow_start.table([reno(tmp_path, waits)]).row(0, named=True)
    assert (row["round_trips"], row["peak"], row["window"]) == (2, 24, 24)
    assert (row["sender"], row["rtt_ms"], row["peak_share"]) == ("Reno", 50, 1)
    assert row["peak_bdp"] == pytest.approx(24 / BDP)


def test_overshoot_compares_windows() -> None:
    table = pl.DataFrame(
        [
            ("FIFO", 50.0, 0.1, 0.1, 0.3, 0.2, 0.2, 5.0),
            ("FIFO", 50.0, 0.5, 0.5, 1.0, 0.6, 0.5, 2.0),
            ("FIFO", 50.0, 1.0, 1.0, 4.0, 2.0, 2.2, 3.0),
            ("CoDel", 50.0, None, 2.0, 3.0, 2.0, 1.5, 1.0),
            ("CoDel", 90.0, None, 2.0, 5.0, 2.0, 2.5, 1.0),
        ],
        schema=[
            "queue", "rtt_ms", "buffer", "peak_bdp",
            "end_bdp", "start_bdp", "after_bdp", "settled_s",
        ],
        orient="row",
    )  # fmt: skip
    assert overshoot.rank_correlation(table, "peak_bdp", most=False) == pytest.approx(1)
    assert overshoot.rank_correlation(table, "settled_s", most=True) == pytest.approx(-0.5)
    assert overshoot.rank_correlation(table, "settled_s", most=True, wrong=True) == pytest.approx(
        -1
    )
    assert overshoot.reduced_over_start(table, 1, most=True) == pytest.approx(1.1)
    assert overshoot.reduced_over_start(table, 0.5, most=False) == pytest.approx(5 / 6)
    assert measured(overshoot, "typical_end", table, queue="CoDel", buffer_from=0) == 4
    assert measured(overshoot, "typical_end", table, queue="FIFO", buffer_from=1) == 4


def test_starving_takes_the_largest_of_the_means() -> None:
    table = pl.DataFrame(
        {"buffer": [1.0, 1.0, 4.0, 4.0], "seed": [1, 2, 1, 2], "share": [0.5, 0.7, 0.1, 0.2]}
    )
    assert measured(starving, "largest_share", table, buffer_from=4) == pytest.approx(0.15)
    assert measured(starving, "largest_share", table, buffer_from=1) == pytest.approx(0.6)


def test_horizon_takes_the_least_of_the_means() -> None:
    table = pl.DataFrame(
        [("Reno", 20.0, 0.5, 0.1), ("Reno", 20.0, 0.7, 0.1), ("Reno", 50.0, 0.5, 0.2)],
        schema=["sender", "rtt_ms", "peak", "mean"],
        orient="row",
    )
    assert horizon.out_of_view(table, "Reno", "peak") == pytest.approx(0.4)
    assert horizon.out_of_view(table, "Reno", "mean") == pytest.approx(0.8)
    assert horizon.out_of_view(table, "BBR", "mean") is None


def test_a_round_trips_queue_over_its_packets(tmp_path: Path) -> None:
    """Two packets at once wait for 10 ms of the first 50; then 66 fill the link's 41."""
    at = [(7, 7), (7, 17), (57, 57), *((110, 110) for _ in range(66))]
    packets(at).write_parquet(tmp_path / "packets.parquet")
    made = document()
    made["experiment"]["rtt"] = "50ms"
    found = horizon.table([Run(tmp_path, {"sender": "Reno"}, made)])
    assert found["window"].to_list() == [2, 1]
    assert found["peak"].to_list() == [0.5, 0]
    assert found["mean"].to_list() == pytest.approx([10 / 50 / 2, 0])


def packets(at: list[tuple[int, int]]) -> pl.DataFrame:
    """Full data packets from (enqueued, dequeued) in ms."""
    return pl.DataFrame(
        [("bottleneck", "forward", i * MS, o * MS, None, 1448, 1514) for i, o in at],
        schema={
            "bottleneck": pl.String, "direction": pl.String, "enqueue_ns": pl.Int64,
            "dequeue_ns": pl.Int64, "drop_ns": pl.Int64, "payload_bytes": pl.UInt32,
            "size_bytes": pl.UInt32,
        },
        orient="row",
    )  # fmt: skip


ACKS = {
    "time_ns": pl.Int64, "bytes_acked": pl.UInt64, "cwnd_packets": pl.UInt32,
    "ssthresh_packets": pl.UInt32, "inflight_packets": pl.UInt32,
}  # fmt: skip


def acks(rows: list[tuple[float, int, int, int | None, int]]) -> pl.DataFrame:
    """Rows of acks.parquet from (ms, bytes, window, threshold, flight)."""
    return pl.DataFrame([(int(ms * MS), *rest) for ms, *rest in rows], schema=ACKS, orient="row")


def test_ack_clock_compares_gaps_with_the_datas_transmission(tmp_path: Path) -> None:
    """At 10 Mb/s a full packet takes 1.2112 ms; the gap over two round trips does not count."""
    packets([(0, 0), (0, 1)]).write_parquet(tmp_path / "packets.parquet")
    acks(
        [
            (at, acked, 3, None, 2)
            for at, acked in [(10, 0), (11.2112, 1448), (60, 2896), (61, 2897)]
        ]
    ).write_parquet(tmp_path / "acks.parquet")
    made = document()
    made["experiment"]["rtt"] = "50ms"
    found = ack_clock.table([Run(tmp_path, {}, made)])
    assert found["acks"].to_list() == [1]
    assert found["ratio"].to_list() == pytest.approx([1])
    assert ack_clock.gap_ratio(found, ack_clock.BEFORE, most=True) == pytest.approx(1)
    assert ack_clock.gap_ratio(found, ack_clock.AFTER, most=True) is None


def test_receiver_counts_the_acks_of_a_round_trip(tmp_path: Path) -> None:
    """Those of a round trip come in the next one; what has a threshold is past slow start."""
    packets([(0, 0), (0, 1), (50, 50), (100, 100), (150, 150)]).write_parquet(
        tmp_path / "packets.parquet"
    )
    acks(
        [(51, 0, 3, None, 2), (52, 1448, 3, None, 1), (101, 2896, 3, None, 5), (151, 1, 3, 7, 9)]
    ).write_parquet(tmp_path / "acks.parquet")
    made = document()
    made["experiment"] |= {
        "rtt": "50ms",
        "hosts": {"d1": {"sysctls": {"net.ipv4.tcp_rmem": "4096 65536 65536"}}},
    }
    found = receiver.table([Run(tmp_path, {}, made)])
    assert found["per_packet"].to_list() == [1]
    assert measured(receiver, "largest_flight", found, buffer_kb=65.536) == pytest.approx(2 * 1.448)
    assert receiver.acks_per_packet(found, 65.536, 0, 9) == 1
    assert measured(receiver, "largest_flight", found, buffer_kb=1000) is None


def test_reductions_are_what_sets_a_threshold(tmp_path: Path) -> None:
    """A row has the state before its ACK, so that the window before is in the row before."""
    acks(
        [(1, 0, 100, None, 0), (2, 1, 110, 55, 0), (3, 2, 60, 55, 0), (4, 3, 50, 48, 0)]
    ).write_parquet(tmp_path / "acks.parquet")
    found = reductions.table([Run(tmp_path, {"control": "DCTCP"}, document())])
    assert found["factor"].to_list() == pytest.approx([0.55, 0.8])
    assert measured(reductions, "typical_factor", found, control="DCTCP") == pytest.approx(0.675)
    assert measured(reductions, "share_above", found, control="DCTCP", factor=0.6) == 0.5
    assert measured(reductions, "share_above", found, control="ABE", factor=0.6) is None


def test_a_recovery_in_round_trips(tmp_path: Path) -> None:
    """One segment is sent again as the recovery begins, one a round trip of 110 ms later; what the
    second recovery sends again does not count, nor the flow with a timeout."""
    both = [
        *[(5001, seq, at) for at, seq in [(0, 1), (1, 2), (2, 3), (200, 1), (310, 2), (900, 3)]],
        *[(5002, seq, at) for at, seq in [(0, 1), (200, 1)]],
    ]
    pl.DataFrame(
        [
            ("bottleneck", "forward", 40000, port, seq, 1448, at * MS, 10 * MS)
            for port, seq, at in both
        ],
        schema=[
            "bottleneck", "direction", "sport", "dport", "seq", "payload_bytes", "enqueue_ns",
            "sojourn_ns",
        ],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")  # fmt: skip
    states = [
        (150, 5001, "Open"), (201, 5001, "Recovery"), (310, 5001, "Recovery"), (420, 5001, "Open"),
        (890, 5001, "Recovery"), (901, 5001, "Recovery"), (150, 5002, "Open"), (210, 5002, "Loss"),
    ]  # fmt: skip
    pl.DataFrame(
        [(at * MS, 40000, port, state) for at, port, state in states],
        schema=["time_ns", "sport", "dport", "ca_state"],
        orient="row",
    ).write_parquet(tmp_path / "acks.parquet")
    made = document()
    made["experiment"] |= {"rtt": "100ms", "flows": [{"count": 2}]}
    made["experiment"]["bottleneck"]["queue"] = {"kind": "pfifo", "limit": "1bdp"}
    found = loss_recovery.table([Run(tmp_path, {"recovery": "NewReno"}, made)])
    assert found["retransmitted"].to_list() == [2]
    assert found["round_trips"].to_list() == pytest.approx([2])
    assert measured(
        loss_recovery, "typical_round_trips", found, recovery="NewReno"
    ) == pytest.approx(2)
    assert measured(
        loss_recovery, "round_trips_per_segment", found, recovery="NewReno"
    ) == pytest.approx(1)
    assert measured(loss_recovery, "round_trips_per_segment", found, recovery="SACK") is None


def test_rto_cost_is_within_a_transaction(tmp_path: Path) -> None:
    """The flow that lost nothing is in neither group."""
    pl.DataFrame(
        {"fct_s": [1.0, 2.0, 3.0, 6.0], "retransmits": [0, 1, 2, 5], "rtos": [0, 0, 0, 1]}
    ).write_parquet(tmp_path / "flows.parquet")
    made = document()
    made["experiment"] |= {"rtt": "100ms", "flows": [{"count": 4}]}
    made["experiment"]["bottleneck"]["queue"] = {"kind": "hred", "limit": "1bdp"}
    found = rto_cost.table([Run(tmp_path, {}, made)])
    assert found["ratio"].to_list() == pytest.approx([6 / 2.5])
    both = pl.DataFrame({"ratio": [2.0, None, 0.5, 3.0]})
    assert measured(rto_cost, "typical_ratio", both) == 2
    assert measured(rto_cost, "share_longer", both) == pytest.approx(2 / 3)
    assert (
        measured(
            rto_cost, "share_longer", pl.DataFrame({"ratio": []}, schema={"ratio": pl.Float64})
        )
        is None
    )


def test_feedback_begins_with_the_next_packet_sent(tmp_path: Path) -> None:
    """Two packets are dropped; the third leaves at 9 ms, and has left 1.2112 ms later."""
    arrivals = [(0, 0, None), (1, None, 1), (2, None, 2), (3, 9, None)]
    pl.DataFrame(
        [
            ("bottleneck", "forward", i * MS, o and o * MS, d and d * MS, 1448, 1514)
            for i, o, d in arrivals
        ],
        schema=packets([]).schema,
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    acks(
        [(50, 0, 9, None, 9), (110.2112, 0, 9, None, 9), (111, 0, 9, 5, 9)]
    ).write_parquet(tmp_path / "acks.parquet")  # fmt: skip
    made = document()
    made["experiment"] |= {"rtt": "100ms"}
    made["experiment"]["bottleneck"]["queue"] = {"kind": "pfifo", "limit": "1bdp"}
    (row,) = drop_feedback.table([Run(tmp_path, {"experiment": "pub2-fifo"}, made)]).to_dicts()
    assert row["dropped"] == 2
    assert row["since_next"] == pytest.approx(1)
    assert row["since_drop"] == pytest.approx(1.092112)
    assert drop_feedback.feedback_rtts(pl.DataFrame({"since_next": [1.0, 3.0]}), most=True) == 3


def test_growth_with_delayed_acks_ends_at_half_of_the_window(tmp_path: Path) -> None:
    """Of a window of 65536 bytes half are 62.5 segments of 524."""
    counts = [3, 6, 12, 20, 40, 80, 100]
    packets(
        [(number * 50, number * 50) for number, many in enumerate(counts) for _ in range(many)]
    ).write_parquet(tmp_path / "packets.parquet")
    made = document()
    made["experiment"] |= {
        "rtt": "50ms",
        "hosts": {"d1": {"mtu": 576, "sysctls": {"net.ipv4.tcp_rmem": "4096 131072 131072"}}},
    }
    found = delayed_ack_timer.table([Run(tmp_path, {}, made)])
    assert found["growth"].to_list() == pytest.approx([2])
    both = pl.DataFrame({"growth": [1.5, 1.8]})
    assert delayed_ack_timer.extreme_growth(both, most=True) == 1.8
    assert delayed_ack_timer.spread(both) == pytest.approx(0.3)


def test_a_call_beside_a_bulk_flow(tmp_path: Path) -> None:
    """What comes before the flow is the undisturbed call; what may be before it counts for none."""
    sent = [(4, 50, False), (5, 900, True), (7, 100, False), (8, 200, True), (9, None, None)]
    pl.DataFrame(
        [(at * 10**9, delay and delay * MS, late) for at, delay, late in sent],
        schema={"sent_ns": pl.Int64, "delay_ns": pl.Int64, "late": pl.Boolean},
        orient="row",
    ).write_parquet(tmp_path / "media.parquet")
    made = document()
    bulk = {"cc": "cubic", "start": "5s", "start_within": "1s"}
    made["experiment"] |= {"flows": [{}, bulk]}
    made["experiment"]["bottleneck"]["queue"] = {"kind": "pfifo", "limit": 100}
    (row,) = bulk_call.table([Run(tmp_path, {}, made)]).to_dicts()
    assert row["median_ms"] == 150
    assert row["longest_ms"] == 200
    assert row["median_ratio"] == 3
    assert row["unplayed"] == pytest.approx(200 / 3)
    both = pl.DataFrame({"control": ["cubic", "reno"], "buffer": [1, 1], "unplayed": [3.0, 2.0]})
    assert measured(bulk_call, "least_harm", both, column="unplayed") == 2


def test_losses_of_a_call(tmp_path: Path) -> None:
    """A loss before the web flows does not count."""
    lost = [(4, True, 1), (5, True, 2), (6, True, 2), (7, False, 0), (8, True, 3)]
    pl.DataFrame(
        [(at * 10**9, None if gone else MS, period) for at, gone, period in lost],
        schema={"sent_ns": pl.Int64, "delay_ns": pl.Int64, "loss_period": pl.UInt32},
        orient="row",
    ).write_parquet(tmp_path / "media.parquet")
    made = document()
    made["experiment"] |= {
        "flows": [{}, {"start": "5s", "count": 6}],
        "hosts": {"s2": {"initcwnd": 3}},
    }
    made["experiment"]["bottleneck"]["queue"] = {"kind": "pfifo", "limit": 20}
    (row,) = call_losses.table([Run(tmp_path, {}, made)]).to_dicts()
    assert (row["lost"], row["longest_row"]) == (3, 2)
    table = pl.DataFrame(
        {"flows": [1, 1, 2, 6], "initial_window": [3, 10, 10, 3], "lost": [1, 1, 3, 4]}
    )
    assert call_losses.grows_with_flows(table, "lost") == pytest.approx(1)
    assert measured(call_losses, "larger_window_adds", table, column="lost") == -1
    assert (
        measured(call_losses, "larger_window_adds", table.filter(initial_window=3), column="lost")
        is None
    )


def test_lost_syns_are_counted_and_timed(tmp_path: Path) -> None:
    """A SYN is what has a flow's first number; of the call and of what comes back none is one."""
    packets = [
        (1, "forward", 0, 9), (1, "forward", 20, 9), (2, "reverse", 5050, 70),
        (2, "forward", 5000, 70), (2, "forward", 6010, 70), (2, "forward", 8070, 70),
        (2, "forward", 8170, 71), (3, "forward", 5090, 80), (3, "forward", 5190, 81),
    ]  # fmt: skip
    pl.DataFrame(
        [("bottleneck", way, flow, at * MS, seq) for flow, way, at, seq in packets],
        schema=["bottleneck", "direction", "flow", "enqueue_ns", "seq"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    kinds = ["media", "bulk", "bulk", "command"]
    pl.DataFrame({"flow": [1, 2, 3, 4], "workload": kinds}).write_parquet(
        tmp_path / "flows.parquet"
    )
    pl.DataFrame(
        {
            "sent_ns": [4500 * MS, 5010 * MS, 6000 * MS],
            "delay_ns": [60 * MS, 90 * MS, 140 * MS],
            "ipdv_ns": [0, 30 * MS, 50 * MS],
        }
    ).write_parquet(tmp_path / "media.parquet")
    made = document()
    web = {"start": "5s", "start_within": "100ms", "count": 2, "size": "40kB"}
    sysctls = {"net.ipv4.tcp_initial_rto.ms": "1000"}
    made["experiment"] |= {
        "flows": [{}, web, {}],
        "hosts": {"s2": {"initcwnd": 3, "sysctls": sysctls}},
    }
    (row,) = initial_rto.table([Run(tmp_path, {"lost": "One SYN"}, made)]).to_dicts()
    assert (row["longest_ms"], row["rto_s"], row["lost_syns"]) == (140, 1, 2)
    assert row["late_s"] == pytest.approx(0.01)


def test_a_shorter_timeout_is_compared_with_the_longer_one() -> None:
    table = pl.DataFrame(
        [
            ("all", 40.0, 3, 1, 1, 90.0, 1, 0.01), ("all", 40.0, 3, 1, 3, 100.0, 1, 0.03),
            ("all", 40.0, 3, 6, 1, 208.0, 0, None), ("all", 40.0, 3, 6, 3, 200.0, 2, 0.02),
            ("one", 40.0, 3, 1, 1, 50.0, 1, 0.06), ("one", 40.0, 3, 1, 3, 100.0, 1, -0.1),
        ],
        schema=[
            "lost", "size_kb", "initial_window", "flows",
            "rto_s", "longest_ms", "lost_syns", "late_s",
        ],
        orient="row",
    )  # fmt: skip
    assert value(initial_rto.change(table, "all")) == pytest.approx(0.1)
    assert measured(initial_rto, "losses_but_one", table, lost="all") == 1
    assert measured(initial_rto, "losses_but_one", table, lost="one") == 0
    assert initial_rto.untimely(table, "one") == 1
    assert initial_rto.untimely(table, "all") == 1
    assert initial_rto.change(table, "some") is None
    assert initial_rto.untimely(table, "some") is None


def test_spreading_compares_with_windows_sent_at_once() -> None:
    table = pl.DataFrame(
        [
            ("at once", 10, 1, 100.0), ("at once", 30, 1, 200.0), ("at once", 100, 1, 400.0),
            ("spread", 10, 1, 50.0), ("spread", 30, 1, 180.0), ("spread", 100, 1, 300.0),
            ("at once", 10, 6, 200.0), ("at once", 100, 6, 400.0),
        ],
        schema=["sender", "initial_window", "flows", "longest_ms"],
        orient="row",
    )  # fmt: skip
    assert measured(spreading, "spread_ratio", table, column="longest_ms", window_from=30) == 0.75
    assert (
        measured(spreading, "least_when_spread", table, column="longest_ms", window_from=30) == 180
    )
    assert value(spreading.removed_ratio(table, "longest_ms", most=False)) == 2
    assert value(spreading.removed_ratio(table, "longest_ms", most=True)) == 4


def test_why_spread_counts_in_round_trips() -> None:
    rows = [(50.0, "at once", 300.0), (50.0, "spread", 270.0)]
    rows += [(100.0, "at once", 320.0), (100.0, "spread", 240.0)]
    table = pl.DataFrame(rows, schema=["rtt_ms", "sender", "longest_ms"], orient="row")
    assert value(why_spread.saved_rtts(table, "longest_ms")) == pytest.approx(0.8)
    assert value(why_spread.spread_ratio(table, "longest_ms", 100)) == pytest.approx(0.75)
    assert value(why_spread.spread_ratio(table, "longest_ms", 60)) == pytest.approx(0.9)


def test_why_six_over_what_is_sent() -> None:
    table = pl.DataFrame({"all_kb": [60.0, 240.0, 600.0], "longest_ms": [1.4, 1.2, 1.1]})
    assert measured(one_or_six, "typical_ratio", table, column="longest_ms") == 1.2
    assert measured(why_six, "least_ratio", table, column="longest_ms") == 1.1


def test_one_or_six_over_sizes() -> None:
    table = pl.DataFrame({"size_kb": [10.0, 40.0, 100.0], "longest_ms": [0.5, 1.2, 0.7]})
    assert measured(one_or_six, "typical_ratio", table, column="longest_ms") == 0.7
    assert measured(one_or_six, "largest_ratio", table, column="longest_ms") == 1.2


def test_a_window_after_idle_time(tmp_path: Path) -> None:
    """The round trip after the pause brings two of the three packets; others' do not count."""
    pl.DataFrame(
        [
            ("bottleneck", "forward", host, at * MS, 1448)
            for host, at in [("s2", 50), ("s2", 200), ("s1", 201), ("s2", 299), ("s2", 300)]
        ],
        schema=["bottleneck", "direction", "src", "enqueue_ns", "payload_bytes"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    pl.DataFrame({"round": [1, 2], "start_ns": [0, 200 * MS]}).write_parquet(
        tmp_path / "rounds.parquet"
    )
    pl.DataFrame(
        {"src": ["s2", "s2", "s2"], "time_ns": [0, 190 * MS, 210 * MS], "cwnd_packets": [1, 9, 5]}
    ).write_parquet(tmp_path / "acks.parquet")
    pl.DataFrame(
        {"sent_ns": [0, 200 * MS, 210 * MS], "delay_ns": [900 * MS, 50 * MS, 70 * MS]}
    ).write_parquet(tmp_path / "media.parquet")
    made = document()
    made["experiment"] |= {"rtt": "100ms", "flows": [{}, {"pause": "3s"}]}
    axes = {"restart": "old window", "sender": "unpaced"}
    (row,) = after_idle.table([Run(tmp_path, axes, made)]).to_dicts()
    assert (row["old_window"], row["first_window"], row["longest_ms"]) == (3, 2, 70)


def test_what_idle_time_leaves() -> None:
    table = pl.DataFrame(
        [
            ("old window", "unpaced", 1.0, 60, 60, 300.0),
            ("old window", "unpaced", 5.0, 60, 54, 330.0),
            ("slow start", "unpaced", 1.0, 60, 20, 200.0),
            ("slow start", "unpaced", 5.0, 60, 10, 150.0),
            ("slow start", "paced", 5.0, 60, 9, 150.0),
        ],
        schema=["restart", "sender", "pause_s", "old_window", "first_window", "longest_ms"],
        orient="row",
    )
    assert measured(after_idle, "largest_window", table, restart="slow start", pause_s=5) == 10
    assert measured(after_idle, "resumed_share", table, restart="old window") == 0.9
    harm_ratio = functools.partial(
        measured, after_idle, "harm_ratio", table, restart="old window", over="slow start"
    )
    assert harm_ratio(sender="unpaced") == 1.5
    assert harm_ratio(sender="paced") is None
    assert measured(after_idle, "least_harm", table) == 150
    assert after_idle.window_lost(table, "slow start", 1, 5) == 10
    assert after_idle.window_lost(table, "slow start", 2, 5) is None


def test_hystart_ends_a_train(tmp_path: Path) -> None:
    """The train begins after the gap, and its last ACK before the threshold ends it; 50 ms at 10
    Mb/s are 41 packets."""
    pl.DataFrame(
        [
            (at * MS, window, threshold, 50000)
            for at, window, threshold in [
                (0, 10, None), (1, 11, None), (50, 12, None), (52, 20, None), (74, 40, None),
                (75, 41, 41),
            ]
        ],
        schema=["time_ns", "cwnd_packets", "ssthresh_packets", "min_rtt_us"],
        orient="row",
    ).write_parquet(tmp_path / "acks.parquet")  # fmt: skip
    axes = {"mechanism": "train", "noise": "none", "sender": "paced"}
    (row,) = hystart.table([Run(tmp_path, axes, document())]).to_dicts()
    assert row["by_hystart"]
    assert row["train_rtts"] == pytest.approx(0)  # 22 ms are a gap, too
    assert row["end_bdp"] == pytest.approx(40 / (50e-3 * 10e6 / 8 / 1514))


def test_hystart_with_and_without_noise() -> None:
    table = pl.DataFrame(
        [
            ("train", "none", "unpaced", 1.2, True, 0.5),
            ("train", "none", "unpaced", 0.4, True, 0.2),
            ("train", "none", "paced", 2.0, True, 1.0),
            ("train", "5 ms", "unpaced", 0.4, True, 0.5),
            ("train", "5 ms", "unpaced", 0.3, False, 0.5),
        ],
        schema=["mechanism", "noise", "sender", "end_bdp", "by_hystart", "train_rtts"],
        orient="row",
    )
    assert measured(
        hystart, "value", table, column="end_bdp", mechanism="train", noise="none", sender="unpaced"
    ) == pytest.approx(0.8)
    assert measured(hystart, "half_trains", table, mechanism="train", sender="unpaced") == 0.5
    assert measured(hystart, "half_trains", table, mechanism="train", sender="paced") == 0
    assert hystart.early_share(table, "train", "5 ms") == 0
    assert hystart.early_share(table, "train", "testbed") is None


def test_hystart_by_windows_and_noises() -> None:
    table = pl.DataFrame(
        [
            (7, "none", 1.0, True),
            (10, "none", 1.25, True),
            (10, "5 ms", 0.4, True),
            (10, "20 ms", 0.3, False),
            (10, "testbed", 1.5, True),
        ],
        schema=["initial_window", "noise", "end_bdp", "by_hystart"],
        orient="row",
    )
    assert why_hystart.calm_end(table, 7) == 1
    assert value(why_hystart.most_early(table)) == 1
    assert value(why_hystart.miscalculation(table)) == pytest.approx(0.76)
    assert why_hystart.miscalculation(table.filter(initial_window=7)) is None


def test_growth_by_the_receivers_window() -> None:
    table = pl.DataFrame({"window": ["64 kB", "64 kB", "512 kB"], "growth": [1.5, 1.4, 1.6]})
    assert measured(why_delayed_ack_timer, "least_growth", table, window="64 kB") == 1.4
    assert measured(why_delayed_ack_timer, "least_growth", table, window="1 MB") is None


def test_red_too_slow_and_too_fast() -> None:
    table = pl.DataFrame(
        {
            "speed": [0.25, 0.25, 1.0, 4.0],
            "flows": [4, 16, 4, 4],
            "anomalies": [10.0, 5.0, 2.0, 3.0],
        }
    )
    assert measured(red_speed, "slow_over_fast", table, column="anomalies", slow=0.25, fast=4) == 12
    assert (
        measured(red_speed, "slow_over_fast", table, column="anomalies", slow=0.1, fast=4) is None
    )
    assert measured(red_speed, "most_from", table, column="anomalies", speed_from=1) == 3


def test_pie_rises_while_packets_wait(tmp_path: Path) -> None:
    """Of four samples with a queue two are above the one before."""
    samples = [(0.0, 0, 0, 0), (0.1, 3, 0, 0), (0.1, 3, 1, 0), (0.3, 3, 5, 2), (0.2, 3, 6, 2)]
    pl.DataFrame(
        [("bottleneck", "forward", *sample) for sample in samples],
        schema=["bottleneck", "direction", "prob", "backlog_packets", "dropped", "overlimit"],
        orient="row",
    ).write_parquet(tmp_path / "queues.parquet")
    pl.DataFrame(
        [("bottleneck", "forward", 10 * MS), ("bottleneck", "forward", None)],
        schema=["bottleneck", "direction", "sojourn_ns"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    (row,) = pie_estimator.table([Run(tmp_path, {"sample": "10 kB"}, document())]).to_dicts()
    assert (row["rising"], row["early"], row["delay_ms"]) == (50, 4, 10)
    table = pl.DataFrame(
        {"sample": ["a", "b", "a"], "rate_mbit": [1.0, 1.0, 10.0], "early": [3, 12, 9]}
    )
    total_ratio = functools.partial(
        measured, pie_estimator, "total_ratio", table, column="early", sample="a", over="b"
    )
    assert total_ratio(rate_from=0, rate_to=1) == 0.25
    assert total_ratio(rate_from=10, rate_to=10) is None


def test_long_flows_after_ten_seconds(tmp_path: Path) -> None:
    pl.DataFrame(
        [
            ("bottleneck", "forward", at * 10**9, size, 5 * MS)
            for at, size in [(9, 10**9), (10, 6 * 10**6), (19, 4 * 10**6)]
        ],
        schema=["bottleneck", "direction", "dequeue_ns", "size_bytes", "sojourn_ns"],
        orient="row",
    ).write_parquet(tmp_path / "packets.parquet")
    made = document()
    made["experiment"] |= {"flows": [{"count": 1}], "duration": "20s"}
    (row,) = long_flows.table([Run(tmp_path, {"queue": "HRED"}, made)]).to_dicts()
    assert row["utilisation"] == pytest.approx(0.8)
    assert row["delay_ms"] == 5
    table = pl.DataFrame({"queue": ["HRED", "FIFO"], "flows": [1, 1], "utilisation": [0.72, 0.96]})
    assert measured(long_flows, "over_fifo", table, queue="HRED", flows=1) == pytest.approx(0.75)
    assert measured(long_flows, "over_fifo", table, queue="HRED", flows=2) is None
    assert measured(long_flows, "most_over_fifo", table, queue="HRED") == pytest.approx(0.75)


def test_one_flow_over_six_that_send_as_much_each() -> None:
    table = pl.DataFrame(
        [
            (5.0, 10, 1, 50.0, 1.0), (5.0, 3, 6, 100.0, 1.0),
            (5.0, 10, 1, 90.0, 2.0), (5.0, 3, 6, 100.0, 2.0),
            (15.0, 10, 1, 120.0, 1.0), (15.0, 3, 6, 100.0, 1.0), (15.0, 3, 1, 1.0, 1.0),
        ],
        schema=["size_kb", "initial_window", "flows", "longest_ms", "rate_mbit"],
        orient="row",
    )  # fmt: skip
    assert why_transfer_size.typical_one_over_six(table, "longest_ms") == 0.9
    assert value(why_transfer_size.largest_one_over_six(table, "longest_ms")) == 1.2


def test_why_pie_buffer_compares_samples_of_one_buffer() -> None:
    table = pl.DataFrame(
        {
            "buffer": ["6 packets", "6 packets", "50 packets"],
            "sample": ["10 kB", "one packet", "one packet"],
            "rate_mbit": [0.25, 0.25, 0.25],
            "rising": [1.0, 20.0, 5.0],
        }
    )
    ratio = functools.partial(
        measured, why_pie_buffer, "ratio", table, column="rising", buffer="6 packets", rate_to=1
    )
    assert ratio(rate_from=0) == 0.05
    assert ratio(rate_from=1) is None
    total = functools.partial(
        measured,
        why_pie_buffer,
        "total",
        table,
        column="rising",
        buffer="6 packets",
        sample="10 kB",
        rate_to=1,
    )
    assert total(rate_from=0) == 1
    assert total(rate_from=1) is None
