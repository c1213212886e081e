"""Qdiscs that come and go under traffic leave nothing behind."""

import json
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.lab import lab

# The debug lab is slow, and finds the leak of a single time; its own records grow.
DEBUG = builds.is_debug(builds.chosen_kernel())
TIMES = 1_000 if DEBUG else 10_000
CHURN = {
    "dualred": (
        "rate 20mbit limit 100 drop_min 20 mark_min 10",
        "limit 200 bytes drop_min 20000 mark_min 15000 mark_weight 0.002 independent",
    ),
    "hred": ("rate 20mbit rtt 10ms limit 100 ecn", "limit 200 gentle"),
    "pi2": ("limit 100 ecn", "limit 50 target 5ms"),
    "pie_draft": ("limit 100 ecn", "limit 50 target 5ms"),
    "predict": ("limit 100 ecn", "limit 50 bin 2ms standing bound 50ms head"),
    "sfq_codel": ("limit 100 flows 16 ecn", "limit 50 target 1ms tail"),
}
LEAK_KB = 1000  # the least that a time can leak, a small object of 100 bytes


@pytest.mark.thorough
@pytest.mark.lab
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    plan = {kind: [TIMES, *options] for kind, options in CHURN.items()}
    (tmp_path / "churn.json").write_text(json.dumps(plan))
    lab.run_program("tests/kmods/churn.py", tmp_path, memory_mb=2048)  # tc frees nothing
    console = (tmp_path / "console.log").read_text()
    assert "WARNING" not in console
    memory = json.loads((tmp_path / "memory.json").read_text())
    for kind, (before, after) in memory.items():
        assert DEBUG or after - before < LEAK_KB, kind
