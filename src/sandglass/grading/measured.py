"""Checks of what runs in the lab measure: studies, metrics, and suites of queues.

Each becomes a study, with the student's part in it. Its claims are judged as those of any study
are, and the words of a suite as its report has them.
"""

import contextlib
import copy
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import document, units
from sandglass.experiment import reading as experiments
from sandglass.grading.outcome import Outcome, failed
from sandglass.grading.sheet import (
    VALUE,
    Measured,
    MetricCheck,
    QdiscCheck,
    Sheet,
    StudyCheck,
    TimeLimit,
    metric_study,
)
from sandglass.install import builds, setup_lab
from sandglass.run import runs
from sandglass.studies import claims, reading, tables, targets
from sandglass.studies.points import rooted
from sandglass.studies.study import Study
from sandglass.suites import characterise, judging
from sandglass.suites.judging import LIKELY

MODULES = "kmods"
PREFIXES = ("sch_", "tcp_")
PROGRAM, WORDS = "command", "argv"
"""The workload that runs any program of the lab, and its key for that."""
NOT_FILES = (WORDS, "title")
"""Keys whose values are no names of files, whatever they look like."""
NO_WORDS = re.compile(r"\[|\s*(make(\[\d+\])?: |[A-Z]+ (\[M\] )? *\S+$|end of )|sandglass: compile")
"""What a build says beside the compiler's words: times, places, and who had called the compiler."""
MOST_READ = 100_000
SHOWN = "experiment"
"""What a run's directory is called in messages."""


def study(check: StudyCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """Do a study with the student's experiment, and judge its claims."""
    own = reading.load(sheet.beside(check.study))
    data = dict(own.data)
    return _claims(check, sheet, submission, home, data)


def metric(check: MetricCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """Measure the student's experiment."""
    base: dict[str, Any] = {}
    if check.base:
        file = sheet.beside(check.base)
        base = rooted(document.read(file).data, file.parent)
    return _claims(check, sheet, submission, home, metric_study(check, base))


def qdisc(check: QdiscCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """Put the student's queue through a scenario, beside a rival, and compare."""
    module = _there(submission, check.module)
    _build_from(module)
    inside = [*module.glob("sch_*/")]  # of a folder of modules
    named = inside[0] if len(inside) == 1 else module
    asked = characterise.wanted(
        "qdisc", str(named), [check.against], check.options, "quick", [check.scenario], home
    )
    (scenario,) = asked.scenarios
    own = asked.studies[scenario.name]
    rows = tables.frame(_run(own, sheet.seeds_of(check), home, check.time_limit), own)
    described = asked.suite.described
    cells = judging.judge(
        scenario.name,
        rows,
        own.axes,
        described.axis,
        asked.own.label,
        {metric: described.margins[scenario.judged[metric]] for metric in check.judged},
    )
    labels = {each.name: each.label for each in asked.contenders}
    cells = [cell for cell in judging.holm(cells) if cell.against == labels[check.against]]
    right, said = 0, []
    for cell in cells:
        wanted = check.judged[cell.metric]
        words = [*wanted, *(LIKELY[side] for side in wanted)]
        right += cell.word in words
        place = ", ".join(f"{axis} {value}" for axis, value in cell.point.items())
        where = f" at {place}" if place else ""
        said.append(
            f"{'ok' if cell.word in words else 'no'} {cell.metric}{where}: {cell.mean:.4g}, "
            f"{cell.against} {cell.other:.4g}: {cell.word}; expected {' or '.join(wanted)}"
        )
    return Outcome(right, len(cells), said)


def _claims(
    check: StudyCheck | MetricCheck,
    sheet: Sheet,
    submission: Path,
    home: Path,
    data: dict[str, Any],
) -> Outcome:
    """Do the study that a mapping describes with the student's part, and judge its claims."""
    if check.module:
        _build_from(_there(submission, check.module))
    taken = _taken(check, submission) if check.experiment else {}
    if wrong := next(_programs(taken), None) if not check.code else None:
        return failed(f"{check.experiment}: {wrong}, which this check does not take")
    experiment = copy.deepcopy(data["experiment"])
    if check.experiment and not check.take:
        experiment = rooted(taken, submission)
    else:
        for key, value in taken.items():
            document.put(experiment, key, rooted(value, submission), f"{check.experiment}: {key}")
    for key, value in check.set.items():
        document.put(experiment, key, rooted(value, sheet.path.parent), f"set: {key}")
    file = home / targets.STUDY
    file.write_text(yaml.safe_dump({**data, "experiment": experiment}, sort_keys=False))
    own = reading.load(file)
    rows = tables.frame(_run(own, sheet.seeds_of(check), home, check.time_limit), own)
    judged = claims.judge(rows, own.axes, own.expects)
    unnamed = [each.found.replace(f"expected {VALUE}: ", "expected ") for each in judged]
    said = [
        f"{each.verdict} {each.claim}: {found}" for each, found in zip(judged, unnamed, strict=True)
    ]
    return Outcome(sum(each.verdict == "holds" for each in judged), len(judged), said)


def _there(submission: Path, name: str) -> Path:
    if not (submission / name).exists():
        raise UsageError(f"the submission has no {name}")
    return submission / name


def _build_from(folder: Path) -> None:
    """Have the modules of a folder be built and known, in this process.

    Raises SandglassError with the compiler's words.
    """
    if folder.name.startswith(PREFIXES):
        folder = folder.parent
    elif (folder / MODULES).is_dir():
        folder = folder / MODULES
    os.environ["SANDGLASS_KMODS"] = str(folder)
    with tempfile.TemporaryFile() as said, _written_to(said.fileno()):
        try:
            setup_lab.lab()
        except SystemExit:  # who builds has said why
            said.seek(0)
            lines = said.read(MOST_READ).decode(errors="replace").splitlines()
            words = [line.strip() for line in lines if not NO_WORDS.match(line)]
            raise SandglassError("the module cannot be built", "\n".join(words)) from None


@contextlib.contextmanager
def _written_to(file: int) -> Iterator[None]:
    """Within it what this process and those that it starts say goes to an open file."""
    sys.stdout.flush()
    before = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(file, number)
        yield
    finally:
        sys.stdout.flush()
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)


def _taken(check: Measured, submission: Path) -> dict[str, Any]:
    """What counts of the student's experiment: some keys by their paths, or all of it.

    Raises UsageError for what is no experiment, or names files outside of the submission.
    """
    assert check.experiment
    path = _there(submission, check.experiment)
    data = document.read(path).data
    found = {key: document.at(data, key) for key in check.take} if check.take else data
    for key, value in _leaves(found):
        if isinstance(value, str) and key not in NOT_FILES and _outside(submission, value):
            raise UsageError(
                f"{path}: {units.shown(value)} is a file outside of the submission",
                "Hand in all files that the experiment names.",
            )
    if not check.take:
        experiments.load(path)  # whose messages have its lines
    return found


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values in a part of an experiment, each with the last key on the way to it."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, name.rpartition(".")[2])
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, key)
    else:
        yield key, value


def _outside(submission: Path, name: str) -> bool:
    """Whether a name is that of a file, and of none in the submission."""
    with contextlib.suppress(OSError, ValueError):  # too long for a name, or with a zero in it
        path = (submission / name).resolve()
        return path.exists() and not path.is_relative_to(submission.resolve())
    return False


def _programs(taken: Mapping[str, Any]) -> Iterator[str]:
    """What an experiment brings that runs as root in the lab, beside what measures it."""
    for key, value in _leaves(taken):
        if isinstance(value, str) and value.endswith(".py"):
            yield f"{value} is a program"
        elif (key, value) == ("workload", PROGRAM) or key == WORDS:
            yield f"the workload {PROGRAM} runs a program"


def _run(study: Study, seeds: list[int] | None, home: Path, limit: TimeLimit) -> list[Any]:
    """Run and measure a study, with these seeds in the place of its replicas'."""
    tasks = study.runs()
    if seeds:
        homes = dict.fromkeys((each.home for each in tasks), len(seeds))
        tasks = [replace(each, seed=seeds[each.replica - 1]) for each in study.runs(homes)]
    os.chdir(home)  # runs are named from there
    rows = []
    with builds.settled():
        for task in tasks:
            experiment = task.load()
            lasts = experiment.duration * experiment.repeat
            if lasts > limit.virtual:
                raise SandglassError(
                    f"the experiment lasts {units.format_time(lasts)}: "
                    f"{units.format_time(limit.virtual)} are allowed"
                )
            file = home / f"{SHOWN}.yaml"
            written = yaml.safe_dump(task.written(), sort_keys=False, allow_unicode=True)
            file.write_text(written)
            runs.run(experiment, file, Path(task.directory), cached=True)
            rows.append(tables.measured(study, task))
    return rows
