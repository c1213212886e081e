"""Where nodes share no files, Snakemake sends what a job makes to a storage, and fetches it."""

import json
from pathlib import Path

import pytest

from sandglass.install import setup_lab
from tests import by_hand
from tests.kubernetes.test_kubernetes import FIGURE, PAPER, PROFILE
from tests.pipeline.test_workflow import snakemake


@pytest.mark.lab
def test_runs_are_sent_to_the_storage_and_their_log_tells_of_them(tmp_path: Path) -> None:
    setup_lab.lab()
    setup_lab.executors()
    storage, work = tmp_path / "storage", tmp_path / "work"
    work.mkdir()
    words = ["--default-storage-provider", "fs", "--default-storage-prefix", str(storage)]
    words += ["--config", f"profile={PROFILE}", "--", f"results/{PAPER}/{FIGURE}.csv"]
    done = snakemake(work, *words, lab=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {
        path.parent.name: json.loads(path.read_text())["digest"]
        for path in storage.glob("results/runs/*/*/*/run.json")
    }
    assert found == by_hand.digests(PAPER, FIGURE, PROFILE, tmp_path / "by-hand")
    logs = "".join(path.read_text() for path in storage.glob("results/logs/*/run_*.log"))
    assert all(digest in logs for digest in found.values())
