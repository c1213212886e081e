"""What qdiscs above are told of a queue that becomes empty."""

import json
from pathlib import Path

import pytest

from sandglass.install import setup_lab
from sandglass.lab import lab

OURS = {"predict": "standing", "sfq_codel": "flows 1"}
MAINLINE = {"codel": ""}


@pytest.mark.lab
def test_a_queue_is_empty_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux's own says it twice, so that the comparison says something."""
    monkeypatch.setenv("SANDGLASS_KMODS", str(Path(__file__).with_name("above")))
    setup_lab.lab()
    wanted = {
        "modules": ["sch_above", *(f"sch_{kind}" for kind in OURS)],
        "queues": OURS | MAINLINE,
    }
    (tmp_path / "emptied.json").write_text(json.dumps(wanted))
    lab.run_program("tests/kmods/emptied.py", tmp_path)
    found = json.loads((tmp_path / "twice.json").read_text())
    assert {kind: found[kind] for kind in OURS} == dict.fromkeys(OURS, 0)
    assert found["codel"] > 0
