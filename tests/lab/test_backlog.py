"""All hosts share a processor, and what waits for it: no packet is ever lost there unsaid."""

from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from tests.lab.experiments import Lab, Mapped, flow, run

pytestmark = pytest.mark.lab
PAIRS = 80
SMALL_BACKLOG = """
from sandglass.agent import kernel

def check(flow, testbed):
    kernel.write_sysctl("net.core.netdev_max_backlog", 10, None)

def run(flow, testbed):
    testbed.sleep_until_start(flow)
    return {"start_ns": flow["start_ns"], "end_ns": flow["start_ns"] + 1, "bytes": None}
"""


def bursts(*others: Mapped) -> Mapped:
    """Many hosts send many packets each in the same nanosecond, with as long a way to go."""
    burst = {"rate": "1.6mbit", "packet_size": 100, "burst": 100}
    senders = [flow("udp", f"s{n}", f"d{n}", **burst) for n in range(1, PAIRS + 1)]
    return {
        "title": "bursts",
        "topology": "dumbbell",
        "pairs": PAIRS,
        "rtt": "10ms",
        "links": {f"s{n}-r1": {"delay": "1ms"} for n in range(1, PAIRS + 1)},
        "bottleneck": {"rate": "1tbit", "queue": {"kind": "pfifo", "limit": 100000}},
        "flows": [*senders, *others],
        "duration": "100ms",
        "record": [],
    }


def test_many_packets_at_once_all_arrive(lab: Lab) -> None:
    for told in lab(bursts()).content["flows"]:
        assert told["datagrams_received"] == told["datagrams_sent"] == 200


def test_a_packet_that_is_dropped_there_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL_BACKLOG)
    with pytest.raises(SandglassError, match="dropped on arrival at a host") as caught:
        run(bursts(flow("small.py")), tmp_path)
    assert "have fewer packets come at once" in (caught.value.hint or "")
