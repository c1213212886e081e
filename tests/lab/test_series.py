"""Numbers in what iperf3 tells at its end; those in lines are in test_own_programs.py."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandglass.agent.series import Series

SECOND = 1_000_000_000
START_NS = 2 * SECOND


def stream(socket: int, end: float, rtt: int) -> dict[str, Any]:
    return {"socket": socket, "start": end - 1, "end": end, "bytes": 125000, "rtt": rtt}


def intervals(streams: int) -> dict[str, Any]:
    """As iperf3 3.12 writes them, two of a second each."""
    return {
        "intervals": [
            {
                "streams": [stream(5 + n, end, 40000 + n) for n in range(streams)],
                "sum": {"start": end - 1, "end": end, "bits_per_second": 1e6 * end},
            }
            for end in (1.0, 2.5)
        ]
    }


def told(text: str, directory: Path, *keys: str) -> Series:
    (directory / "said").write_text(text)
    found = Series({"test": {"iperf3": list(keys)}}, START_NS)
    found.take_whole(str(directory / "said"))
    return found


def test_an_interval_has_the_sum_or_each_stream(tmp_path: Path) -> None:
    one = told(json.dumps(intervals(1)), tmp_path, "bits_per_second", "rtt", "unknown")
    assert one.rows == [
        (3 * SECOND, "test", "bits_per_second", 1e6),
        (3 * SECOND, "test", "rtt", 40000),
        (4_500_000_000, "test", "bits_per_second", 2.5e6),
        (4_500_000_000, "test", "rtt", 40000),
    ]
    two = told(json.dumps(intervals(2)), tmp_path, "rtt")
    assert [row[2:] for row in two.rows[:2]] == [("rtt.1", 40000), ("rtt.2", 40001)]


@pytest.mark.parametrize("text", ["", "iperf3: error", "[]", '{"intervals": [1]}', "{}"])
def test_what_is_none_of_iperf3_leaves_the_series_silent(text: str, tmp_path: Path) -> None:
    found = told(text, tmp_path, "rtt")
    assert found.rows == []
    assert found.silent == ["test"]
