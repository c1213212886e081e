"""A connection that falls silent and sends again: when, and from which window."""

import polars as pl
import pytest

from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
RTT_S, SIZE, ROUNDS = 0.04, 100_000, 3
INITIAL_WINDOW = 10
ROOMY = {"kind": "pfifo", "limit": 1000}


def restarting(after_idle: int = 1, **keys: object) -> Mapped:
    """Three rounds of 100 kB with pauses of a second, at 10 Mb/s."""
    rounds = flow("restart", size="100kB", rounds=ROUNDS, pause="1s")
    sysctls = {"net.ipv4.tcp_slow_start_after_idle": after_idle}
    return dumbbell(rounds, queue=ROOMY, hosts={"s1": {"sysctls": sysctls}}, **keys)


def windows(run: Run) -> list[int]:
    """The congestion window, in packets, at the first ACK of each round after the first."""
    acks = run.table("acks")
    starts = run.table("rounds")["start_ns"].to_list()[1:]
    return [acks.filter(pl.col("time_ns") > at)["cwnd_packets"][0] for at in starts]


def test_the_first_round_is_a_bulk_flow(lab: Lab) -> None:
    [once] = lab(dumbbell(bulk(size="100kB"), queue=ROOMY)).content["flows"]
    first = lab(restarting()).table("rounds")["fct_ns"][0]
    assert first / 1e9 == pytest.approx(once["fct_s"], abs=1e-6)


def test_each_round_begins_a_pause_after_the_last(lab: Lab) -> None:
    run = lab(restarting())
    rounds = run.table("rounds")
    assert rounds["round"].to_list() == [1, 2, 3]
    assert (rounds["start_ns"][1:] - rounds["end_ns"][:-1]).to_list() == [10**9, 10**9]
    assert rounds["fct_ns"].equals(rounds["end_ns"] - rounds["start_ns"], check_names=False)
    [found] = run.content["flows"]
    assert found["bytes"] == ROUNDS * SIZE
    assert found["end_s"] * 1e9 == pytest.approx(rounds["end_ns"][-1])
    # And nothing is sent in between.
    data = run.packets(flow=1).filter(pl.col("payload_bytes") > 0)["enqueue_ns"]
    for end_ns, start_ns in zip(rounds["end_ns"][:-1], rounds["start_ns"][1:], strict=True):
        assert not data.is_between(end_ns, start_ns, closed="left").any()


def test_after_idle_time_linux_restarts_from_the_initial_window(lab: Lab) -> None:
    run = lab(restarting(after_idle=1))
    assert windows(run) == [INITIAL_WINDOW, INITIAL_WINDOW]
    first, *later = run.table("rounds")["fct_ns"].to_list()
    for fct in later:
        assert fct / 1e9 == pytest.approx(first / 1e9 - RTT_S, abs=1e-3), "all but the handshake"


def test_unless_it_is_told_to_keep_its_window(lab: Lab) -> None:
    kept, restarted = lab(restarting(after_idle=0)), lab(restarting(after_idle=1))
    assert min(windows(kept)) > 5 * INITIAL_WINDOW
    for with_, without in zip(
        kept.table("rounds")["fct_ns"][1:], restarted.table("rounds")["fct_ns"][1:], strict=True
    ):
        assert with_ < without


def test_a_repetition_is_a_run(lab: Lab) -> None:
    repeated = lab(restarting(repeat=2, record=[], rtt_spread="10ms"))
    for seed in (1, 2):
        alone = lab(restarting(record=[], rtt_spread="10ms"), seed)
        assert alone.table("rounds").equals(repeated.table("rounds").filter(seed=seed))
