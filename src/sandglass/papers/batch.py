"""The runs of one job of Snakemake's: python -m sandglass.papers.batch RULE EXPERIMENT RUN...

A RUN is what Batch.words says: its directory, below results/runs in the working directory, and the
settings of the experiment file.
"""

import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sandglass.experiment import reading
from sandglass.install import builds, setup_lab
from sandglass.run import runs
from sandglass.terminal import guarded
from sandglass.workflow import batch as workflow
from sandglass.workflow.batch import Job


def batch(rule: str, file: Path, words: Sequence[str]) -> None:
    """Do the runs. Raises SandglassError when one failed."""
    jobs = []
    for directory, settings in map(json.loads, words):
        do = functools.partial(_done, file, Path(directory), settings)
        jobs.append(Job(directory, log(Path(directory)), do))
    setup_lab.lab()
    with builds.settled():
        workflow.run(jobs, rule)


def log(directory: Path) -> Path:
    """Where the run of a directory below results/runs says what it says."""
    return Path("results/logs") / f"{directory.relative_to('results/runs')}.log"


def _done(file: Path, directory: Path, settings: Sequence[str]) -> str:
    experiment = reading.load(file, settings)
    return runs.run(experiment, file, directory, cached=True).told


if __name__ == "__main__":
    guarded(lambda: batch(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
