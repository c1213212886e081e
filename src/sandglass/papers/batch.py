"""The runs of one job of Snakemake's: python -m sandglass.papers.batch PROFILE RULE.

It works below results/ in the working directory.
"""

import functools
import sys
from pathlib import Path

from sandglass.experiment import reading
from sandglass.install import builds, setup_lab
from sandglass.papers import shelf
from sandglass.papers.batches import of_rule
from sandglass.papers.grid import Point
from sandglass.run import runs
from sandglass.terminal import guarded
from sandglass.workflow import batch as workflow
from sandglass.workflow.batch import Job


def batch(profile: str, rule: str) -> None:
    """Do the runs. Raises SandglassError when one failed."""
    found = of_rule(rule, profile)
    file = shelf.experiment_file(shelf.folder(found.paper), found.experiment)
    jobs = [
        Job(
            str(directory := point.directory(found.paper)),
            log(directory),
            functools.partial(_done, file, point, directory),
        )
        for point in found.points
    ]
    setup_lab.lab()
    with builds.settled():
        workflow.run(jobs, rule)


def log(directory: Path) -> Path:
    """Where the run of a directory below results/runs says what it says."""
    return Path("results/logs") / f"{directory.relative_to('results/runs')}.log"


def _done(file: Path, point: Point, directory: Path) -> str:
    experiment = reading.load(file, point.arguments()[1::2])
    return runs.run(experiment, file, directory, cached=True).told


if __name__ == "__main__":
    guarded(lambda: batch(*sys.argv[1:]))
