"""Round-trip times: each echo is answered by its own reply, whatever else a host hears."""

import pytest

from tests.lab.experiments import Lab, Run, dumbbell, flow

BEYOND_RTT_NS = 500_000  # four echoes of 98 bytes at 10 Mb/s may wait for each other
LATEST_NS = 20_000  # clock reads before it is sent, and 10 us between flows that start together
CODEL = {"kind": "codel"}


def rtts(run: Run, number: int) -> list[int]:
    return run.table("rtt").filter(flow=number)["rtt_ns"].to_list()


@pytest.fixture(scope="module")
def crowd(lab: Lab) -> Run:
    """From s1 to d1 twice, in 20 ms, and to d2, in 60 ms; and from d1 to s1."""
    return lab(
        dumbbell(
            flow("ping", "s1", "d1", interval="100ms"),
            flow("ping", "s1", "d2", interval="100ms"),
            flow("ping", "s1", "d1", interval="50ms"),
            flow("ping", "d1", "s1", interval="30ms"),
            queue=CODEL,
            rtt="20ms",
            pairs=2,
            hosts={"d2": {"rtt": "100ms"}},
            duration="3s",
        )
    )


@pytest.mark.lab
@pytest.mark.parametrize(("number", "base_ms"), [(1, 20), (2, 60), (3, 20), (4, 20)])
def test_echoes_of_one_time_are_told_apart(crowd: Run, number: int, base_ms: int) -> None:
    found = rtts(crowd, number)
    assert len(found) == crowd.content["flows"][number - 1]["echoes"]
    for rtt in found:
        assert 0 <= rtt - base_ms * 1_000_000 <= BEYOND_RTT_NS


@pytest.mark.lab
def test_another_programs_echoes_are_not_ours(lab: Lab) -> None:
    run = lab(
        dumbbell(
            flow("ping", "s1", "d1", interval="70ms"),
            flow("flent:ping", "s1", "d2"),
            queue=CODEL,
            rtt="20ms",
            pairs=2,
            hosts={"d2": {"rtt": "100ms"}},
            duration="3s",
        )
    )
    assert all(0 <= rtt - 20_000_000 <= BEYOND_RTT_NS for rtt in rtts(run, 1))


@pytest.mark.lab
def test_echoes_are_sent_when_they_are_due(lab: Lab) -> None:
    """Also where the answers to those before are late, or lost."""
    run = lab(
        dumbbell(
            flow("bulk", cc="cubic"),
            flow("ping", interval="50ms"),
            queue={"kind": "pfifo", "limit": 200},
            duration="5s",
        )
    )
    echoes = run.packets(flow=2).sort("enqueue_ns")
    late = (echoes["enqueue_ns"] - run.table("rtt")["sent_ns"]).to_list()
    assert len(late) == 100
    assert all(0 <= ns < LATEST_NS for ns in late)
    assert max(ns for ns in rtts(run, 2) if ns is not None) > 200_000_000
