"""The runs of one job of Snakemake's: python -m sandglass.papers.batch RULE EXPERIMENT RUN...

A RUN is what Batch.words says: its directory, below results/runs in the working directory, and the
settings of the experiment file.
"""

import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sandglass.experiment import kernel, reading
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds, setup_lab
from sandglass.run import runs
from sandglass.terminal import program
from sandglass.workflow import batch as workflow
from sandglass.workflow.batch import Job


def batch(rule: str, file: Path, words: Sequence[str]) -> None:
    """Do the runs. Raises UsageError when one is wrong, SandglassError when one failed."""
    jobs = []
    for directory, settings in map(json.loads, words):
        experiment = reading.load(file, settings)
        do = functools.partial(_done, experiment, file, Path(directory))
        jobs.append(Job(directory, log(Path(directory)), do))
    with builds.settled():
        workflow.run(jobs, rule)


def log(directory: Path) -> Path:
    """Where the run of a directory below results/runs says what it says."""
    return Path("results/logs") / f"{directory.relative_to('results/runs')}.log"


def _done(experiment: Experiment, file: Path, directory: Path) -> str:
    setup_lab.lab(kernel.wanted(experiment))
    return runs.run(experiment, file, directory, cached=True).told


if __name__ == "__main__":
    program(lambda: batch(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
