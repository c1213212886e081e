"""Times that arithmetic gives: serialisation, propagation, waiting, and changes of both."""

import math

import numpy as np
import polars as pl
import pytest

from tests.lab.experiments import Lab, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
MICROSECOND = 1_000
TICK_NS = 64  # the kernel's unit of times from tc: PSCHED_SHIFT in <net/pkt_sched.h>
ETHERNET, IP_UDP = 14, 28  # bytes of headers
RATE, HALF_RTT_NS = 10_000_000, 20_000_000
ROOMY, SHORT = {"kind": "pfifo", "limit": 1000}, {"kind": "pfifo", "limit": 20}


def serialisation_ns(payload: int, rate_bps: int = RATE) -> float:
    """Time to send one datagram, as the shaper counts its bytes."""
    return (payload + IP_UDP + ETHERNET) * 8e9 / rate_bps


@pytest.mark.parametrize("payload", [16, 172, 1000, 1472])
def test_a_paced_stream_arrives_after_serialisation_and_delay(lab: Lab, payload: int) -> None:
    stream = flow("udp", rate="1mbit", packet_size=payload, duration="5s")
    sent = lab(dumbbell(stream, queue=ROOMY)).datagrams()
    assert sent["received_ns"].null_count() == 0
    error = sent["received_ns"] - sent["due_ns"] - serialisation_ns(payload) - HALF_RTT_NS
    assert len(error) == 5 * 1_000_000 // (8 * payload) + (5_000_000 % (8 * payload) > 0)
    assert (error.abs() < MICROSECOND).all()


def test_the_kth_packet_of_a_burst_waits_k_serialisation_times(lab: Lab) -> None:
    size = 50
    stream = flow("udp", rate="1mbit", packet_size=972, burst=size, duration="5s")
    run = lab(dumbbell(stream, queue=ROOMY))
    packets = run.packets(flow=1)
    assert len(packets) >= 12 * size
    position = np.arange(len(packets)) % size
    waiting = position * serialisation_ns(972)
    assert np.abs(packets["sojourn_ns"].to_numpy() - waiting).max() < MICROSECOND
    # The first is being sent when the second arrives, and no longer in the queue.
    assert packets["queue_packets"].to_list() == np.maximum(position - 1, 0).tolist()
    sent = run.datagrams()
    arrival = sent["due_ns"].to_numpy() + (position + 1) * serialisation_ns(972) + HALF_RTT_NS
    assert np.abs(sent["received_ns"].to_numpy() - arrival).max() < MICROSECOND


def test_an_asymmetric_bottleneck_sends_at_its_two_rates(lab: Lab) -> None:
    run = lab(
        dumbbell(
            flow("udp", "s1", "d1", rate="12mbit", packet_size=1472),
            flow("udp", "d1", "s1", rate="2mbit", packet_size=1472),
            queue=SHORT,
            duration="2s",
            reverse={"rate": "1mbit"},
        )
    )
    for direction, rate in (("forward", RATE), ("reverse", 1_000_000)):
        gaps = run.packets(direction)["dequeue_ns"].drop_nulls().diff().drop_nulls()
        error = (gaps - serialisation_ns(1472, rate)).abs()
        assert len(gaps) > 100
        # After idle time the second packet comes early by the one byte that the bucket holds, whose
        # time newer tc rounds up to ticks.
        assert error[0] <= math.ceil(8e9 / rate / TICK_NS) * TICK_NS
        assert (error[1:] < MICROSECOND).all()
    bottleneck = run.content["bottleneck"]
    assert bottleneck["utilisation"] == pytest.approx(1, abs=0.001)
    assert bottleneck["reverse"]["utilisation"] == pytest.approx(1, abs=0.01)


def test_the_echo_before_the_start_takes_what_the_path_does(lab: Lab) -> None:
    """A small network is up before the lab's first tick, and so short an echo over by then."""
    rate = 600_000_000
    run = lab(dumbbell(bulk(), queue=ROOMY, rate="600mbit", rtt="250us", duration="1s"))
    rtt_ns = run.content["observed"]["rtt_ms"]["s1-d1"] * 1e6
    assert rtt_ns == pytest.approx(250_000 + 2 * serialisation_ns(56, rate), abs=MICROSECOND)


def test_rate_and_delay_change_on_schedule(lab: Lab) -> None:
    experiment = dumbbell(
        flow("udp", rate="12mbit", packet_size=1472),
        queue=SHORT,
        duration="6s",
        schedule=[{"at": "2s", "rate": "5mbit"}, {"at": "4s", "rtt": "80ms"}],
    )
    run = lab(experiment)
    packets = run.packets(flow=1).filter(pl.col("dequeue_ns").is_not_null())
    gaps = packets.select("dequeue_ns", gap=pl.col("dequeue_ns").diff()).drop_nulls()
    for begin_s, end_s, rate in ((0.0, 2.0, RATE), (2.0, 6.0, RATE // 2)):
        # The packet that is being sent at the change was given to the link at the old rate.
        whole = gaps.filter(
            pl.col("dequeue_ns").is_between(begin_s * 1e9 + 5e6, end_s * 1e9, closed="left")
        )
        assert len(whole) > 100
        assert ((whole["gap"] - serialisation_ns(1472, rate)).abs() < MICROSECOND).all()
    # The first arrives first: nothing overtakes, so that rows correspond.
    received = run.datagrams()["received_ns"].drop_nulls().sort()
    transit = packets.select(
        "dequeue_ns", ns=received.head(len(packets)) - pl.col("dequeue_ns").head(len(received))
    )
    for begin_s, end_s, rate, delay in (
        (0.0, 1.9, RATE, 20e6),
        (2.1, 3.9, RATE // 2, 20e6),
        (4.1, 5.9, RATE // 2, 40e6),
    ):
        part = transit.filter(pl.col("dequeue_ns").is_between(begin_s * 1e9, end_s * 1e9))
        assert len(part) > 100
        assert ((part["ns"] - serialisation_ns(1472, rate) - delay).abs() < MICROSECOND).all()


def test_utilisation_counts_a_changing_rate(lab: Lab) -> None:
    experiment = dumbbell(
        flow("udp", rate="12mbit", packet_size=1472),
        queue=SHORT,
        schedule=[{"at": "5s", "rate": "1mbit"}],
    )
    assert lab(experiment).content["bottleneck"]["utilisation"] == pytest.approx(1, abs=0.002)


@pytest.mark.thorough
def test_poisson_gaps_are_exponential(lab: Lab) -> None:
    stream = flow("udp", rate="8mbit", packet_size=100, pattern="poisson", duration="10s")
    due = lab(dumbbell(stream, queue=ROOMY)).datagrams()["due_ns"].to_numpy()
    gaps = np.diff(due)
    assert len(gaps) > 90_000
    mean = 100 * 8e9 / 8e6
    assert gaps.mean() == pytest.approx(mean, rel=2.576 / math.sqrt(len(gaps)))
    # of an exponential, e^-1 are longer than the mean, e^-3 longer than three times that
    for times in (1, 3):
        assert (gaps > times * mean).mean() == pytest.approx(math.exp(-times), rel=0.05)


def test_on_and_off_times_have_their_means(lab: Lab) -> None:
    stream = flow(
        "udp",
        rate="1mbit",
        packet_size=125,
        pattern="onoff",
        on_time="50ms",
        off_time="150ms",
        duration="60s",
    )
    due = lab(dumbbell(stream, queue=ROOMY, duration="60s")).datagrams()["due_ns"].to_numpy()
    gaps = np.diff(due)
    off = gaps[gaps > 1_000_000] - 1_000_000
    assert len(due) * 1e6 / 60e9 == pytest.approx(0.25, abs=0.06)
    assert off.mean() == pytest.approx(150e6, rel=2.576 / math.sqrt(len(off)) + 0.02)
