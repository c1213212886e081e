"""Pipelines and a study through a real Slurm of one node.

Slow: `./sandglass test tests/slurm`, as root.
"""

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.run import place
from tests import by_hand

PAPER, FIGURE, PROFILE = "dctcp_internet", "fig07", "smoke"
WITHIN_S = 600.0


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of the figure's runs, each done by hand, by the names of their directories."""
    return by_hand.digests(PAPER, FIGURE, PROFILE, tmp_path_factory.mktemp("by-hand"))


class Sweep:
    """A figure's runs and table, by Snakemake through Slurm, in a directory of its own."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.kept = home / "kept"
        self.environment = environment | {
            "SANDGLASS_RUNS": str(self.kept),
            "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        }

    def start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(builds.ROOT / "Snakefile")]
        command += ["--profile", str(builds.ROOT / "profiles" / "slurm"), "--directory", "."]
        # Slurm keeps no accounts here, so that only squeue knows of jobs
        command += ["--slurm-status-command", "squeue"]
        command += ["--slurm-init-seconds-before-status-checks", "8"]
        command += ["--nolock", "--rerun-incomplete", "--config", f"profile={PROFILE}"]
        command += ["--", f"results/{PAPER}/{FIGURE}.csv"]
        with (self.home / "snakemake.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.home, env=self.environment, stdout=log, stderr=log
            )

    def said(self) -> str:
        return (self.home / "snakemake.log").read_text()

    def first_kept(self) -> None:
        """Wait until one run is done and the next one is at work."""
        directory = self.home / "results" / "runs" / PAPER
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            if list(self.kept.glob("*.tar")) and list(directory.glob(f"*/.*{place.PARTIAL}-*")):
                return
            time.sleep(0.2)
        pytest.fail(self.said())

    def jobs(self) -> list[str]:
        return self.ask("squeue", "--noheader", "--format=%i").split()

    def ask(self, *command: str) -> str:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        ).stdout

    def digests(self) -> dict[str, str]:
        """Of all finished runs; whatever else lies beside them fails."""
        directory = self.home / "results" / "runs" / PAPER
        found = {}
        for path in directory.glob("*/*"):
            found[path.name] = json.loads((path / "run.json").read_text())["digest"]
        return found

    def from_cache(self) -> int:
        logs = (self.home / "results" / "logs" / PAPER).glob("*/*.log")
        return sum("from the cache" in log.read_text() for log in logs)


@pytest.fixture
def sweep(tmp_path: Path, slurm: dict[str, str]) -> Iterator[Sweep]:
    sweep = Sweep(tmp_path, slurm)
    yield sweep
    for job in sweep.jobs():
        sweep.ask("scancel", "--full", "--signal=KILL", job)


def test_digests_are_those_of_runs_by_hand(sweep: Sweep, digests: dict[str, str]) -> None:
    assert sweep.start().wait(WITHIN_S) == 0, sweep.said()
    assert sweep.digests() == digests
    assert sweep.from_cache() == 0


def test_a_killed_job_is_taken_up_again(sweep: Sweep, digests: dict[str, str]) -> None:
    """What it had done comes from the cache of runs, the rest is done."""
    first = sweep.start()
    sweep.first_kept()
    for job in sweep.jobs():
        sweep.ask("scancel", "--full", "--signal=KILL", job)
    assert first.wait(WITHIN_S) != 0
    assert sweep.start().wait(WITHIN_S) == 0, sweep.said()
    assert sweep.digests() == digests
    assert sweep.from_cache() >= 1


def test_killed_snakemake_goes_on(sweep: Sweep, digests: dict[str, str]) -> None:
    first = sweep.start()
    sweep.first_kept()
    first.send_signal(signal.SIGKILL)
    first.wait()
    for job in sweep.jobs():  # Slurm knows nothing of Snakemake's end
        sweep.ask("scancel", job)
    assert sweep.start().wait(WITHIN_S) == 0, sweep.said()
    assert sweep.digests() == digests


STUDY = """
title: Two rates
experiment:
  topology: dumbbell
  rtt: 10ms
  bottleneck: {rate: 1mbit, queue: {kind: pfifo}}
  flows: [{workload: bulk, from: s1, to: d1, start_within: 100ms}]
  duration: 1s
vary: {bottleneck.rate: [1mbit, 2mbit]}
replicas: 3
metrics: {goodput: flows.0.goodput_mbit}
plots: [{x: bottleneck.rate, y: goodput}]
"""
# Slurm keeps no accounts here, so that only squeue knows of jobs
WITHOUT_ACCOUNTS = """
slurm-status-command: squeue
slurm-init-seconds-before-status-checks: 8
"""


def test_a_study(tmp_path: Path, slurm: dict[str, str]) -> None:
    """Its tables are those of the same study on this machine alone."""
    (tmp_path / "rates.yaml").write_text(STUDY)
    profile = tmp_path / "profile"
    profile.mkdir()
    ours = (builds.ROOT / "profiles" / "slurm" / "config.yaml").read_text()
    (profile / "config.yaml").write_text(ours + WITHOUT_ACCOUNTS)
    tables = {}
    for name, words in {"here": [], "there": ["--profile", str(profile)]}.items():
        command = [str(builds.ROOT / "sandglass"), "study", "rates.yaml", "--out", name, *words]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=slurm | {"SANDGLASS_RUNS": str(tmp_path / f"kept-{name}")},
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        log = tmp_path / name / "logs" / "snakemake.log"
        assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")
        assert "10 of 10 done" in done.stderr
        rows = csv.DictReader((tmp_path / name / "runs.csv").open())
        tables[name] = [{**row, "wall_s": ""} for row in rows]
    assert len(tables["here"]) == 6
    assert tables["there"] == tables["here"]
    assert "SLURM jobid" in (tmp_path / "there" / "logs" / "snakemake.log").read_text()
