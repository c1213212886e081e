"""tcp_initial_rto: when SYNs and SYN-ACKs are sent again."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandglass.lab import lab as labs
from tests.conftest import one_at_a_time
from tests.lab.experiments import Lab, bulk, dumbbell

pytestmark = pytest.mark.lab

OWN_MS = 1000
"""The kernel's own."""
NEVER_MS = 120_000
"""Of a client that sends one SYN, so that each SYN-ACK is the server's own."""
FIRST_TICK = -300_000
"""Of the kernel, at time zero: INITIAL_JIFFIES."""


def case(client: int | None, server: int | None, lost: str, **keys: Any) -> dict[str, Any]:
    """All that is "lost" is, unless `keys` say otherwise."""
    usual = {"family": 4, "later": None, "lost_ms": 60_000, "timestamps": True}
    return usual | {"client": client, "server": server, "lost": lost} | keys


CASES = {
    "SYN, without the module": case(None, None, "syn"),
    "SYN, 0": case(0, 0, "syn"),
    "SYN, 3 s": case(3000, 0, "syn"),
    "SYN, IPv6, 3 s": case(3000, 0, "syn", family=6),
    "SYN, 3 s, then 1 s": case(3000, 0, "syn", later=1000),
    "SYN, of the server alone": case(0, 3000, "syn"),
    "SYN-ACK, 0": case(NEVER_MS, 0, "syn-ack"),
    "SYN-ACK, 3 s": case(NEVER_MS, 3000, "syn-ack"),
    "SYN-ACK, IPv6, 3 s": case(NEVER_MS, 3000, "syn-ack", family=6),
    "SYN-ACK, 3 s, then 1 s": case(NEVER_MS, 3000, "syn-ack", later=1000),
    "SYN-ACK, answers to SYNs": case(3000, NEVER_MS, "syn-ack"),
    "answered, without the module": case(None, None, "syn", lost_ms=900),
    "answered, 3 s": case(3000, 3000, "syn", lost_ms=900),
    "answered, without the module or timestamps": case(
        None, None, "syn", lost_ms=900, timestamps=False
    ),
    "answered, 3 s, without timestamps": case(3000, 3000, "syn", lost_ms=900, timestamps=False),
}


@pytest.fixture(scope="module")
def seen(shared: Path) -> dict[str, Any]:
    """All cases in one boot, for all tests."""
    home = shared / "initial-rto"
    home.mkdir(exist_ok=True)
    with one_at_a_time(home / "lock"):
        if not (home / "seen.json").exists():
            (home / "cases.json").write_text(json.dumps(CASES))
            labs.run_program("kmods/tcp_initial_rto/tests/handshakes.py", home)
    found: dict[str, Any] = json.loads((home / "seen.json").read_text())
    return found


def due(tick: int, timeout: int) -> int:
    """When a timer of the kernel's that is set at a tick fires: its wheel rounds up to 1 ms below
    63 ms, to 8 below 504, to 64 below 4032, and so on (kernel/time/timer.c)."""
    step = 1
    while timeout >= 63 * step:
        step *= 8
    return ((tick + timeout) // step + 1) * step


def foreseen(start_ms: int, timeout: int) -> list[int]:
    """How many ms after the first a segment is sent, in a minute: the timeout doubles each time."""
    tick = start_ms + FIRST_TICK
    after = tick + 1  # the first segment leaves half a tick before it, and others at a tick
    times = [0]
    while (tick := due(tick, timeout)) < after + 60_000:
        times.append(tick - after)
        timeout *= 2
    return times


@pytest.mark.parametrize(
    ("name", "timeout"),
    [
        ("SYN, without the module", OWN_MS),
        ("SYN, 0", OWN_MS),
        ("SYN, 3 s", 3000),
        ("SYN, IPv6, 3 s", 3000),
        ("SYN, 3 s, then 1 s", 3000),
        ("SYN, of the server alone", OWN_MS),
    ],
)
def test_a_syn_is_sent_again_after_the_timeout_and_twice_as_long(
    seen: dict[str, Any], name: str, timeout: int
) -> None:
    assert seen[name]["syn"] == foreseen(seen[name]["start_ms"], timeout)
    assert seen[name]["syn-ack"] == []


@pytest.mark.parametrize(
    ("name", "timeout"),
    [
        ("SYN-ACK, 0", OWN_MS),
        ("SYN-ACK, 3 s", 3000),
        ("SYN-ACK, IPv6, 3 s", 3000),
        ("SYN-ACK, 3 s, then 1 s", 3000),
    ],
)
def test_so_is_a_syn_ack(seen: dict[str, Any], name: str, timeout: int) -> None:
    assert seen[name]["syn-ack"] == foreseen(seen[name]["start_ms"], timeout)
    assert seen[name]["syn"] == [0]


def test_a_repeated_syn_is_answered_at_once(seen: dict[str, Any]) -> None:
    found = seen["SYN-ACK, answers to SYNs"]
    assert found["syn"] == found["syn-ack"] == foreseen(found["start_ms"], 3000)


@pytest.mark.parametrize("timestamps", ["", ", without timestamps"])
def test_it_does_not_outlive_the_handshake(seen: dict[str, Any], timestamps: str) -> None:
    """Without a round trip that was measured it is then 3 s either way, RFC 6298, section 5.7."""
    own = "answered, without the module" + timestamps.replace(", without", " or")
    ours = "answered, 3 s" + timestamps
    assert len(seen[own]["syn"]) == len(seen[ours]["syn"]) == 2
    assert seen[own]["rto_ms"] == seen[ours]["rto_ms"]
    assert (seen[ours]["rto_ms"] == 3000) == bool(timestamps)


def test_the_module_unused_changes_nothing(lab: Lab) -> None:
    def ran(sysctls: dict[str, int]) -> Any:
        hosts = {name: {"sysctls": sysctls} for name in ("s1", "d1")}
        queue = {"kind": "pfifo", "limit": 20}
        return lab(dumbbell(bulk(), queue=queue, hosts=hosts, duration="2s")).table("packets")

    assert ran({"net.ipv4.tcp_initial_rto.ms": 0}).equals(ran({}))
