"""How long the papers' full grids take on this machine, from a random sample of their runs.

All of them take hours. So of each experiment file of a paper a share of its runs is drawn, and at
least LEAST, and done in processes of up to twenty runs as a paper's jobs do, one on each processor,
nothing kept of others' runs; run it with nothing else at work. A paper's estimate is the number of
runs of each experiment times the mean of those drawn, with the 95 % interval of its labs. What jobs
take besides is told apart, since a sample's have fewer runs than a paper's: their starts, measured
by jobs of no run, and what goes with each run. Not in it: tables, figures and pages.

    ./sandglass python bench/papers.py [PAPER...] [--share 0.05]
"""

import argparse
import dataclasses
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from sandglass.papers import batches, shelf
from sandglass.papers.batches import Batch
from sandglass.studies.jobs import MOST, told

PROFILE = "paper"
SHARE = 0.05
LEAST = 2
"""Runs drawn of each experiment, so that there is a spread to go by."""
SEED = 1
STARTS = 8
"""Jobs of no run that tell what a start takes."""


class Done(NamedTuple):
    """What a job took: its process, and the lab of each of its runs, in seconds."""

    whole_s: float
    labs_s: list[float]


class Sample(NamedTuple):
    """The runs drawn of one experiment: how many it has, and what the jobs took that did them."""

    runs: int
    jobs: list[Done]

    @property
    def took_s(self) -> list[float]:
        """Seconds that the lab of each run took."""
        return [seconds for job in self.jobs for seconds in job.labs_s]

    @property
    def total_s(self) -> float:
        """Seconds of a processor that the labs of all its runs take, estimated."""
        return self.runs * fmean(self.took_s)

    def else_s(self, start_s: float) -> float:
        """Seconds of a processor that all its runs take besides; a job's start takes start_s."""
        drawn = sum(job.whole_s - start_s for job in self.jobs) - sum(self.took_s)
        return self.runs * drawn / len(self.took_s)

    @property
    def variance_s2(self) -> float:
        """Of that estimate, drawn without replacement."""
        drawn = len(self.took_s)
        if drawn == self.runs:
            return 0.0
        return self.runs**2 * (1 - drawn / self.runs) * variance(self.took_s) / drawn


class Estimate(NamedTuple):
    """What a paper takes."""

    runs: int
    drawn: int
    labs_s: float
    """Seconds of processors that its labs take."""
    half_s: float
    """Half the width of the 95 % interval of that."""
    else_s: float
    """Seconds of processors that all else takes."""


def drawn(whole: Sequence[Batch], share: float) -> tuple[dict[str, int], list[Batch]]:
    """How many runs each experiment of these jobs has, and jobs of those drawn, longest first."""
    choice = random.Random(SEED)
    alike: dict[str, list[Batch]] = defaultdict(list)
    for each in whole:
        alike[each.kind.experiment].append(each)
    sizes, jobs = {}, []
    for experiment, own in sorted(alike.items()):
        runs = [(each, task) for each in own for task in each.tasks]
        sizes[experiment] = len(runs)
        number = min(len(runs), max(LEAST, round(share * len(runs))))
        found = choice.sample(runs, number)
        for start in range(0, number, MOST):
            part = found[start : start + MOST]
            rule, tasks = f"sample_{experiment}_{start}", [task for _, task in part]
            jobs.append(dataclasses.replace(part[0][0], rule=rule, tasks=tasks))
    jobs.sort(key=_virtual_s, reverse=True)
    return sizes, jobs


def _virtual_s(job: Batch) -> float:
    """Virtual seconds of a job's runs."""
    return sum(task.virtual_s for task in job.tasks)


def done(job: Batch, folder: Path) -> Done:
    """Do a job."""
    command = [sys.executable, "-m", "sandglass.studies.batch", job.rule]
    environment = os.environ | {"SANDGLASS_RUNS_LIMIT": "0"}
    start = time.perf_counter()
    ended = subprocess.run(
        command,
        input=told(job.tasks),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    whole_s = time.perf_counter() - start
    if ended.returncode:
        sys.exit(f"sandglass: {job.kind.experiment}: {ended.stderr}")
    runs = [folder / directory / "run.json" for directory in job.directories]
    return Done(whole_s, [float(json.loads(run.read_text())["wall_s"]) for run in runs])


def estimate(paper: str, share: float, cores: int) -> Estimate:
    """Do a sample of a paper's runs; what all of them take."""
    whole = batches.batches(paper, PROFILE)
    sizes, jobs = drawn(whole, share)
    found: dict[str, list[Done]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(cores) as pool:
        folder = Path(name)
        idle = dataclasses.replace(jobs[0], tasks=[])
        starts = pool.map(lambda _: done(idle, folder), range(STARTS))
        start_s = fmean(each.whole_s for each in starts)
        ends = pool.map(lambda job: done(job, folder), jobs)
        shown = track(ends, description=paper, total=len(jobs), console=Console(stderr=True))
        for job, each in zip(jobs, shown, strict=True):
            found[job.kind.experiment].append(each)
    samples = [Sample(sizes[experiment], ended) for experiment, ended in found.items()]
    return Estimate(
        sum(each.runs for each in samples),
        sum(len(each.took_s) for each in samples),
        sum(each.total_s for each in samples),
        1.96 * math.sqrt(sum(each.variance_s2 for each in samples)),
        len(whole) * start_s + sum(each.else_s(start_s) for each in samples),
    )


def row(name: str, each: Estimate, cores: int) -> Sequence[str]:
    """A line of the table, in hours of all processors."""
    hours = 3600 * cores
    return [
        name,
        f"{each.runs}",
        f"{each.drawn}",
        f"{each.labs_s / hours:.2f} ± {each.half_s / hours:.2f} h",
        f"{each.else_s / hours:.2f} h",
        f"{(each.labs_s + each.else_s) / hours:.2f} h",
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("papers", nargs="*", default=list(shelf.folders()))
    parser.add_argument("--share", type=float, default=SHARE)
    asked = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    found = {paper: estimate(paper, asked.share, cores) for paper in asked.papers}
    labs = f"labs on {cores} processors"
    table = Table("paper", "runs", "drawn", labs, "all else", "together", box=None, pad_edge=False)
    for paper, each in found.items():
        table.add_row(*row(paper, each, cores))
    whole = Estimate(
        sum(each.runs for each in found.values()),
        sum(each.drawn for each in found.values()),
        sum(each.labs_s for each in found.values()),
        math.hypot(*(each.half_s for each in found.values())),
        sum(each.else_s for each in found.values()),
    )
    table.add_row(*row("together", whole, cores))
    Console().print(table)


if __name__ == "__main__":
    main()
