"""What a queue has no room for any more when its limit becomes shorter."""

import json
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.lab import lab

OPTIONS = {  # those that a kind cannot do without, so that nothing is signalled
    "dualred": "rate 1mbit drop_min 1000 mark_min 1000",
    "hred": "rate 1mbit min 1000 max 2000 probability 0.1 weight 0.002",
    "pi2": "target 60s",
    "pie_draft": "target 60s",
}
WITHOUT = {"noise", "trace"}
"""Kinds that never drop: they have no limit."""


@pytest.mark.lab
def test_a_shorter_limit_shortens_the_queue(tmp_path: Path) -> None:
    kinds = {path.parent.name[4:] for path in builds.ROOT.glob("kmods/sch_*/Kbuild")}
    options = {kind: OPTIONS.get(kind, "") for kind in sorted(kinds - WITHOUT)}
    (tmp_path / "shrink.json").write_text(json.dumps(options))
    lab.run_program("tests/kmods/shrink.py", tmp_path)
    assert json.loads((tmp_path / "queues.json").read_text()) == dict.fromkeys(options, 10)
