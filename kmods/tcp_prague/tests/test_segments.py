"""What marks, losses and timeouts do to prague, segment by segment, on the lab's Linux 7.2.

All scripts are played in one boot by player.py. RTT 50 ms, segments of 1000 bytes.
"""

import struct
from typing import Any

import pytest

from kmods.tcp_dctcp_inet.tests.test_dctcp_inet import random_steps
from tests.kmods.segments import (
    EMPTY,
    FULL,
    NO_PROBES,
    Step,
    Trace,
    ack,
    played,
    sysctl,
    wait,
    write,
)

pytestmark = [pytest.mark.newer, pytest.mark.usefixtures("newer_kernel")]

PACKET, ONE = 1 << 20, 1 << 24  # a window of 1, alpha of 1
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
INFO = "=QIII"  # struct prague_info of prague.c
SETTING = "net.ipv4.tcp_prague."
VIRTUAL = {"rtt_target": 200_000, "transition": 0}  # four times the real round-trip time
NO_FRTO = {"net.ipv4.tcp_frto": 0}
# The kernel's own option would make segments shorter than 1000 bytes.
NO_OPTION = {"net.ipv4.tcp_ecn_option": 0}

# Of an ACK for more than seven packets Linux takes as many to be marked as there can be.
# RTT 50 ms. Afterwards cwnd is 20, in slow start, and segments 10 to 29 are in flight.
START = [write(100), wait(50), ack(5), ack(10), wait(50)]
# The same, with nothing left to send, until a probe of segment 19 has gone out.
PROBED = [write(20), wait(50), ack(5), ack(10), wait(160)]
REST = [ack(17), ack(23), ack(30)]  # of the window in which segment 10 was marked

MARK = ack(11, ce=1)
LOSS = ack(10, sack=[[11, 15]])
LATER_LOSS = ack(11, sack=[[12, 16]])  # when the packet before was acknowledged
ONE_BY_ONE = [ack(n) for n in range(1, 11)]


def counted(segments: int, marked: int) -> list[int]:
    """What the option of Accurate ECN says when all the rest was ECT(1)."""
    return [(segments - marked) * 1000, marked * 1000, 0]


def grown(window: float, *packets: int, per_rtt: float = 1) -> float:
    """A window after ACKs of so many packets, per_rtt/W for each packet."""
    for count in packets:
        window += count * per_rtt / window
    return window


# Of the 6 packets of the round that the mark ends one was marked.
MARKED = 1 - 5 / 96
RESTED = grown(10, 6, 6, 7)
VIRTUALLY = grown(10, 6, 6, 7, 1, per_rtt=1 / 16)

# Name: settings, the steps, and (cwnd, ssthresh, state, window, alpha) after each of the last ones.
Expected = list[tuple[int, int, str, float, float]]
SCENARIOS: dict[str, tuple[dict[str, int], list[Step], Expected]] = {
    "slow start": ({}, START, [(20, INFINITE, "Open", 20, 0)]),
    "the first mark": ({}, [*START, MARK], [(19, 10, "CWR", 10, MARKED)]),
    "the first mark, alpha 0 at the start": (
        # Halved all the same.
        {"alpha_start": 0},
        [*START, MARK],
        [(19, 10, "CWR", 10, 1 / 96)],
    ),
    "three marks in a round": (
        {},
        [*START, MARK, ack(12, ce=2), ack(13, ce=3)],
        [(n, 10, "CWR", 10, MARKED) for n in (19, 18, 17)],
    ),
    "growth in CWR": (
        # 1/W for each packet.
        {},
        [*START, MARK, ack(12), ack(14)],
        [
            (19, 10, "CWR", 10, MARKED),
            (18, 10, "CWR", grown(10, 1), MARKED),
            (17, 10, "CWR", grown(10, 1, 2), MARKED),
        ],
    ),
    "a round without marks, and a mark in the next": (
        # 19 and 1 packets without a mark; alpha is 15/16 then, of which the mark takes half.
        {},
        [*START, MARK, *REST, wait(50), ack(31), ack(32, ce=2)],
        [
            (16, 10, "CWR", RESTED, MARKED),
            (16, 10, "CWR", RESTED, MARKED),
            (15, 10, "Open", grown(RESTED, 1), MARKED * 15 / 16),
            (14, 7, "CWR", grown(RESTED, 1) * (1 - MARKED * 15 / 32), MARKED * 15 / 16),
        ],
    ),
    "a mark on a packet that comes by SACK": (
        {},
        [*START, ack(10, ce=1, sack=[[11, 12]])],
        [(19, 10, "CWR", 10, 1)],
    ),
    "a loss": ({}, [*START, LOSS], [(19, 10, "Recovery", 10, 0)]),
    "a loss that leaves what CUBIC leaves": (
        {"loss_percent": 70},
        [*START, LOSS],
        [(19, 14, "Recovery", 14, 0)],
    ),
    "a loss, and nothing grows until it is repaired": (
        {},
        [*START, LOSS, ack(15), ack(22), ack(28), wait(50), ack(31)],
        [
            (19, 10, "Recovery", 10, 0),
            *[(n, 10, "Recovery", 10, 0) for n in (18, 17, 16, 16)],
            (15, 10, "Open", 10.3, 0),
        ],
    ),
    "a loss and a mark in one ACK": (
        # The mark counts for alpha alone, which is 1 at first.
        {},
        [*START, ack(10, ce=1, sack=[[11, 15]])],
        [(19, 10, "Recovery", 10, 1)],
    ),
    "a mark, then a loss in the same round": (
        {},
        [*START, MARK, LATER_LOSS],
        [(19, 10, "CWR", 10, MARKED), (18, 5, "Recovery", 5, MARKED)],
    ),
    "the same, with all credit for the mark": (
        {"loss_credit": 1},
        [*START, MARK, LATER_LOSS],
        [(18, 10, "Recovery", 10, MARKED)],
    ),
    "the same, with about all credit for the mark": (
        {"loss_credit": 2},
        [*START, MARK, LATER_LOSS],
        [(18, 8, "Recovery", 7.5, MARKED)],
    ),
    "a mark, and a loss more than a round later": (
        {"loss_credit": 1},
        [*START, MARK, *REST, wait(60), ack(30, sack=[[31, 35]])],
        [(15, 6, "Recovery", RESTED / 2, MARKED)],
    ),
    "a timeout": ({}, [*START, wait(400)], [(1, 10, "Loss", 10, 0)]),
    "after a timeout, by one for each ACK": (
        {},
        [*START, wait(400), ack(11), ack(12), ack(13)],
        [(1, 10, "Loss", 10, 0), *[(n, 10, "Loss", 10, 0) for n in (2, 3, 4)]],
    ),
    "a timeout in a marked window": (
        # Linux says nothing of it: the window was reduced already.
        {},
        [*START, MARK, wait(400)],
        [(1, 10, "Loss", 10, MARKED)],
    ),
    "a loss undone by a DSACK": (
        # Slow start goes on, by the packet that the ACK delivers, and its second copy (Linux).
        {},
        [*START, LOSS, wait(10), ack(15, sack=[[10, 11]])],
        [
            (19, 10, "Recovery", 10, 0),
            (19, 10, "Recovery", 10, 0),
            (22, INFINITE, "Open", 22, 0),
        ],
    ),
    "a full queue of the host's own": (
        {},
        [*START, FULL, ack(11), EMPTY],
        [(21, 11, "CWR", 10.5, 0), (21, 11, "CWR", 10.5, 0)],
    ),
    "a loss that a probe repaired": (
        {},
        [*PROBED, write(2), wait(10), ack(16), ack(22)],
        [(26, INFINITE, "Open", 26, 0), (25, 13, "Open", 13, 0)],
    ),
    "a loss that a probe repaired, and a mark": (
        # Both: halved, and halved as by the first mark.
        {},
        [*PROBED, write(2), wait(10), ack(16), ack(22, ce=1)],
        [(26, INFINITE, "Open", 26, 0), (25, 7, "CWR", 6.5, 1)],
    ),
    "two marks within a virtual round": (
        # Growth is a sixteenth, and alpha waits, but for the first round, which is long over.
        VIRTUAL,
        [*START, MARK, *REST, wait(50), ack(31), ack(32, ce=2)],
        [(15, 10, "Open", VIRTUALLY, 1), (14, 11, "CWR", VIRTUALLY, 1)],
    ),
    "ten marks in an ACK of twenty packets, by the counter alone": (
        # It says 2, 10 or 18. With those before, that came one by one, the round has 29 packets.
        {},
        [write(100), wait(50), *ONE_BY_ONE, wait(50), ack(30, ce=10)],
        [(19, 10, "CWR", 10.2, 1 - 11 / 29 / 16)],
    ),
    "ten marks in an ACK of twenty packets, with the option": (
        {},
        [
            *[write(100), wait(50)],
            *[ack(n, bytes=counted(n, 0)) for n in range(1, 11)],
            *[wait(50), ack(30, ce=10, bytes=counted(30, 10))],
        ],
        [(19, 10, "CWR", 11, 1 - 19 / 29 / 16)],
    ),
}
# The rest of the script where it is not as of all others.
OTHER: dict[str, dict[str, Any]] = {
    "after a timeout, by one for each ACK": {"sysctls": NO_FRTO},
}
REFUSED: dict[str, list[object]] = {
    "rtt_mode": [-1, 3, "text"],
    "rtt_target": [0, 1_000_001],
    "transition": [-1, 1_000_001],
    "alpha_start": [-1, 2],
    "loss_percent": [0, 101],
    "loss_credit": [-1, 3],
}
SHARED = ("cwnd", "ssthresh", "state", "sent")
SEEDS = range(10)
CLASSIC = [*START, ack(11, ece=True), ack(30), wait(50), ack(31)]


def script(steps: list[Step], values: dict[str, int], **other: Any) -> dict[str, Any]:
    """A script for player.py; probes are off but where the steps are about them."""
    general = {} if steps[: len(PROBED) - 1] == PROBED[:-1] else NO_PROBES
    own = {SETTING + name: value for name, value in values.items()}
    return {
        "cc": "prague",
        "ecn": "accurate",
        "timestamps": False,
        "steps": steps,
        **other,
        "sysctls": general | NO_OPTION | other.get("sysctls", {}) | own,
    }


def all_scripts() -> dict[str, dict[str, Any]]:
    scripts = {
        name: script(steps, values, **OTHER.get(name, {}))
        for name, (values, steps, _) in SCENARIOS.items()
    }
    for cc in ("prague", "reno"):
        scripts[f"classic: {cc}"] = script(CLASSIC, {}, cc=cc, ecn=True)
        scripts[f"none: {cc}"] = script(CLASSIC, {}, cc=cc, ecn=False)
        for seed in SEEDS:
            steps = random_steps(seed, marks=True)
            scripts[f"random {seed}: {cc}"] = script(steps, {}, cc=cc, ecn=True)
    refused = [sysctl(SETTING + name, value) for name in REFUSED for value in REFUSED[name]]
    scripts["refused"] = script(refused, {})
    return scripts


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDGLASS_KERNEL", "7.2")
        return played(all_scripts(), tmp_path_factory.mktemp("segments"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_event_does_what_it_should(traces: dict[str, Trace], name: str) -> None:
    expected = SCENARIOS[name][2]
    trace = traces[name][-len(expected) :]
    assert [(e["cwnd"], e["ssthresh"], e["state"]) for e in trace] == [e[:3] for e in expected]
    told = [struct.unpack(INFO, bytes.fromhex(entry["info"])) for entry in trace]
    windows = [window / PACKET for window, *_ in told]
    # what is sent over half a round trip and acknowledged at once makes it a little shorter
    exactly = 1e-3 if "rtt_target" in SCENARIOS[name][0] else 2e-6
    assert windows == pytest.approx([e[3] for e in expected], rel=exactly)
    assert [alpha / ONE for _, alpha, *_ in told] == pytest.approx(
        [e[4] for e in expected], abs=2e-7
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_that_it_sends_is_ect_1(traces: dict[str, Trace], name: str) -> None:
    """From the SYN on, retransmissions too."""
    sent = [field for entry in traces[name] for field in entry["ecn"]]
    assert len(sent) > 10
    assert set(sent) == {1}
    assert {entry["cc"] for entry in traces[name]} == {"prague"}


@pytest.mark.parametrize(("peer", "field"), [("classic", 2), ("none", 0)])
def test_without_accurate_ecn_it_is_reno_and_not_ect_1(
    traces: dict[str, Trace], peer: str, field: int
) -> None:
    ours, reno = traces[f"{peer}: prague"], traces[f"{peer}: reno"]
    assert [[e[key] for key in SHARED] for e in ours] == [[e[key] for key in SHARED] for e in reno]
    assert {entry["cc"] for entry in ours} == {"prague-reno"}
    syn, handshake, *data = [field for entry in ours for field in entry["ecn"]]
    assert (syn, handshake) == (1, 0)  # the SYN cannot know
    assert set(data) == {field}


def test_with_classic_ecn_it_is_reno_whatever_happens(traces: dict[str, Trace]) -> None:
    """The same at each step of scripts that come through every state."""
    states = set()
    for seed in SEEDS:
        ours, reno = traces[f"random {seed}: prague"], traces[f"random {seed}: reno"]
        assert [[e[k] for k in SHARED] for e in ours] == [[e[k] for k in SHARED] for e in reno]
        states |= {entry["state"] for entry in ours}
    assert states >= {"Open", "CWR", "Recovery", "Loss"}


def test_settings_out_of_range_are_refused(traces: dict[str, Trace]) -> None:
    found = [entry["refused"] for entry in traces["refused"]]
    assert found == ["EINVAL"] * sum(map(len, REFUSED.values()))
