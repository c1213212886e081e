"""A study from its file to its directory: rounds of runs until there are enough, then the page."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import yaml

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, extras, memory
from sandglass.results import series
from sandglass.studies import extension, manifest, metric, statistics, targets, work
from sandglass.studies.jobs import Task
from sandglass.studies.study import Study
from sandglass.terminal import complain
from sandglass.workflow.snakemake import Work, alone, snakemake

RULES = builds.ROOT / "pipelines" / "study.smk"
NO_LIMIT_MB = 10**9
"""On a cluster, which looks after each job's memory itself."""
STUDIES = builds.WORK / "results" / "studies"


def home(file: Path) -> Path:
    """The directory of a study file for which none is named; raises UsageError if it is another's.

    It is called as the file is; a file called study.yaml as the folder that it is in.
    """
    file = file.absolute()
    out = STUDIES / (file.parent.name if file.name == targets.STUDY else file.stem)
    source = manifest.read(out).source
    if source not in ("", str(file)):
        raise UsageError(f"{out} is the study {source}", "Choose another directory with --out.")
    return out


def conduct(
    study: Study, out: Path, cores: int | None, profile: Path | None, lanes: int = 1
) -> int:
    """Do what is left of a study; returns an exit status.

    Args:
        out: the study's directory.
        profile: of Snakemake's, a directory, for a cluster.
        lanes: how many studies go side by side here, and share memory and terminal.

    Raises:
        UsageError: `out` holds something else, or the study's own file.
        SandglassError: another one is at work there.
    """
    extras.require("studies")
    if (out / targets.STUDY).resolve() == study.path.resolve():
        raise UsageError(f"{study.path} would be written over", "Choose a directory with --out.")
    if (
        out.exists()
        and not (out / manifest.FILE).is_file()
        and (not out.is_dir() or any(out.iterdir()))
    ):
        raise UsageError(f"{out} is there already and is no study", "Choose another with --out.")
    out.mkdir(parents=True, exist_ok=True)
    with alone(out) as lock, builds.settled():
        return _conducted(study, out, cores, profile, lanes, lock)


def _conducted(
    study: Study, out: Path, cores: int | None, profile: Path | None, lanes: int, lock: TextIO
) -> int:
    written = yaml.safe_dump(dict(study.data), sort_keys=False, allow_unicode=True)
    manifest.begin(out, study, written)
    wide = None if profile else cores or len(os.sched_getaffinity(0))
    runs = study.runs()
    while True:
        todo = work.missing(runs, out)
        if todo:
            manifest.clear(out)
        for run in todo:
            # Snakemake does what is not there; what is there of another experiment it keeps.
            shutil.rmtree(out / run.directory, ignore_errors=True)
        work.write(out, runs, todo, wide)
        if study.rule is None:
            break
        if todo and (status := _snakemake(study, out, cores, profile, lanes, "runs", lock)):
            return status
        more = _more(study, out, runs)
        if len(more) == len(runs):
            work.write(out, runs, [], wide)
            break
        runs = more
    if status := _snakemake(study, out, cores, profile, lanes, "all", lock):
        return status
    if left := work.missing(runs, out):
        names = ", ".join(run.directory for run in left)
        raise SandglassError(f"runs of another experiment or lab are left: {names}")
    manifest.finish(out)
    return 0


def _snakemake(
    study: Study,
    out: Path,
    cores: int | None,
    profile: Path | None,
    lanes: int,
    target: str,
    lock: TextIO,
) -> int:
    words = ["--snakefile", str(RULES), "--keep-incomplete"]
    if profile:
        words += ["--profile", str(profile.resolve())]
    return snakemake(
        Work(
            title=study.path.stem,
            words=[*words, "--", target],
            folder=out,
            log=Path("logs/snakemake.log"),
            cores=cores,
            memory_mb=NO_LIMIT_MB if profile else _free_mb(study, lanes),
            parts={rule: len(tasks) for rule, tasks in work.batches(out).items()},
            alone=lanes == 1,
        ),
        lock,
    )


def _free_mb(study: Study, lanes: int) -> int:
    """What runs of this study may take together.

    Says so when that is less than one of them may need.
    """
    free_mb = memory.available_mb() // lanes
    if study.memory_mb > free_mb:
        complain(
            f"warning: a run may need {study.memory_mb} MB of memory, and {free_mb} MB are free",
            "runs go one at a time; one that takes more than there is fails",
        )
    return free_mb


def _more(study: Study, out: Path, runs: Sequence[Task]) -> list[Task]:
    """The runs, and as many again for each point that has not enough of them."""
    rule = study.rule
    assert rule is not None
    module = extension.load(study.module) if study.module else None
    values: dict[Path, list[float]] = {}
    for run in runs:
        loaded = series.load(out / run.directory, run.labels)
        if rule.of in study.metrics:
            found = metric.values({rule.of: study.metrics[rule.of]}, loaded)
        else:
            found = dict(extension.metrics(module, loaded)) if module else {}
        values.setdefault(run.home, []).append(found[rule.of])
    counts = {
        home: len(own) if statistics.enough(own, rule) else min(len(own) + study.first, rule.most)
        for home, own in values.items()
    }
    return study.runs(counts)
