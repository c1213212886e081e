"""Qdiscs for which there is no memory: the kernel goes on without them."""

import json
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.lab import lab

OURS = ("dualred", "hred", "pi2", "pie_draft", "predict", "sfq_codel")
DEBUG = builds.is_debug(builds.chosen_kernel())


@pytest.mark.lab
@pytest.mark.skipif(not DEBUG, reason="SANDGLASS_KERNEL=6.12-debug chooses the debug lab")
def test_a_queue_that_cannot_be_made_is_reset_and_destroyed(tmp_path: Path) -> None:
    (tmp_path / "starved.json").write_text(json.dumps(OURS))
    lab.run_program("tests/kmods/starved.py", tmp_path)
    failed = json.loads((tmp_path / "failed.json").read_text())
    with_tables = {"predict", "sfq_codel"}
    assert set(failed) == set(OURS)
    fewest = min(failed.values())
    assert {kind for kind in OURS if failed[kind] > fewest} >= with_tables
