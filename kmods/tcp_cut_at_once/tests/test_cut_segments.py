"""tcp_cut_at_once, segment by segment: what it does to a mark, and that it does nothing else.

All scripts are played in one boot by player.py. RTT 50 ms, segments of 1000 bytes.
"""

from typing import Any

import pytest

from kmods.tcp_dctcp_inet.tests.test_dctcp_inet import random_steps
from tests.kmods.segments import NO_PROBES, PROBED, START, Step, Trace, ack, played, wait, write

pytestmark = pytest.mark.lab

SETTING = "net.ipv4.tcp_cut_at_once.marks"
SHARED = ("cwnd", "ssthresh", "state", "sent")
SEEDS = range(12)
MARK = ack(11, ece=True)
# The marked window, one ACK after the other, and a mark's echo in each.
STEP = [*START, MARK, *[ack(n, ece=True) for n in range(12, 31)]]
# Reno has 20 packets on their way, of which 10 may be after the mark.
LOSS_IN_CWR = [*START, MARK, *[ack(11, sack=[[12, n]]) for n in range(13, 24)]]
# A tail loss probe repairs a loss after an earlier one; then it turns out that there was none.
UNDONE = [
    *[write(40), wait(50), ack(10), wait(50), ack(10, sack=[[11, 15]]), ack(30), wait(50)],
    *[ack(40), write(10), wait(200), write(2), wait(10), ack(47), ack(52)],
    *[ack(52, sack=[[10, 11]]), ack(52, sack=[[49, 50]])],
]
SAME: dict[str, dict[str, Any]] = {
    "dctcp_inet at a step": {"cc": "dctcp_inet", "steps": STEP},
    "lsaimd_reno at a step": {"cc": "lsaimd_reno", "steps": STEP},
    "a loss that a probe repaired": {
        "cc": "reno",
        "steps": [*PROBED, write(2), wait(10), ack(16), ack(22)],
        "sysctls": {},
    },
    "a probe, and a late DSACK": {"cc": "reno", "steps": UNDONE, "sysctls": {}},
    **{
        f"{cc} {seed}": {"cc": cc, "steps": random_steps(seed, marks=marks), "ecn": marks}
        for cc, marks in (("dctcp_inet", True), ("lsaimd_reno", True), ("reno", False))
        for seed in SEEDS
    },
}
"""Those with a cong_control of their own, in CWR or always; and losses without marks."""


def script(steps: list[Step], at_once: int, **other: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"cc": "reno", "ecn": True, "timestamps": False, "sysctls": NO_PROBES}
    keys = usual | other
    return keys | {"steps": steps, "sysctls": keys["sysctls"] | {SETTING: at_once}}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    scripts = {
        f"{name}: {at_once}": script(at_once=at_once, **keys)
        for name, keys in SAME.items()
        for at_once in (0, 1)
    }
    scripts |= {f"loss in CWR: {at_once}": script(LOSS_IN_CWR, at_once) for at_once in (0, 1)}
    scripts["marks"] = script(STEP, 1)
    return played(scripts, tmp_path_factory.mktemp("segments"))


def sent(trace: Trace) -> list[int]:
    """How many segments went out in each step."""
    return [len(entry["sent"]) for entry in trace]


def test_nothing_leaves_until_the_window_has_room(traces: dict[str, Trace]) -> None:
    """Ten ACKs take 20 packets on their way to 10; the ten others let as many go."""
    trace = traces["marks"][len(START) :]
    assert sent(trace)[:10] == [0] * 10
    assert sum(sent(trace)) == 10
    assert [entry["cwnd"] for entry in trace] == [*range(19, 9, -1), *[10] * 10]


@pytest.mark.parametrize("name", SAME)
def test_what_is_no_cut_for_a_mark_is_as_without_it(traces: dict[str, Trace], name: str) -> None:
    ours, theirs = (traces[f"{name}: {at_once}"] for at_once in (1, 0))
    assert [[e[key] for key in SHARED] for e in ours] == [[e[k] for k in SHARED] for e in theirs]


def test_a_loss_in_the_cut_is_repaired_at_linuxs_pace(traces: dict[str, Trace]) -> None:
    """Recovery begins as early, sends what PRR allows from there on, and makes up for nothing."""
    ours, theirs = (traces[f"loss in CWR: {at_once}"][len(START) :] for at_once in (1, 0))
    assert [e["state"] for e in ours] == [e["state"] for e in theirs]
    recovery = next(n for n, entry in enumerate(ours) if entry["state"] == "Recovery")
    assert sum(sent(ours)[:recovery]) == 0
    assert 0 < sum(sent(ours)[recovery:]) <= sum(sent(theirs)[recovery:]) + 1
    assert max(sent(ours)) == 1
