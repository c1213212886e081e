"""Scripts of segments for player.py: their steps, and how they are played."""

import json
from pathlib import Path
from typing import Any

from sandglass.lab import lab

Step = list[Any]
Trace = list[dict[str, Any]]
NO_PROBES = {"net.ipv4.tcp_early_retrans": 0}


def write(segments: int) -> Step:
    return ["write", segments]


def wait(ms: int) -> Step:
    return ["wait", ms]


def ack(segments: int | None, **options: Any) -> Step:
    return ["ack", segments, options]


def data(segments: int, **options: Any) -> Step:
    return ["data", segments, options]


def cc(name: str) -> Step:
    return ["cc", name]


def tc(words: str) -> Step:
    return ["tc", words]


def sysctl(name: str, value: object) -> Step:
    return ["sysctl", name, value]


# RTT 50 ms. Afterwards cwnd is 20, in slow start, and segments 10 to 29 are in flight.
START = [write(100), wait(50), ack(10), wait(50)]
# The same, with nothing left to send, until a probe of segment 19 has gone out (after two RTTs).
PROBED = [write(20), wait(50), ack(10), wait(130)]
FULL = tc("qdisc add dev s root bfifo limit 1")
EMPTY = tc("qdisc delete dev s root")


def played(scripts: dict[str, dict[str, Any]], directory: Path) -> dict[str, Trace]:
    """Play all scripts in one boot; returns a trace for each."""
    (directory / "scripts.json").write_text(json.dumps(scripts))
    lab.run_program("tests/kmods/player.py", directory)
    traces: dict[str, Trace] = json.loads((directory / "traces.json").read_text())
    return traces
