"""The grade file, GRADE.yaml: checks with points, read, or refused with all that is wrong with it.

Paths of the teacher's are relative to the file. Those of the student's are in the submission.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationError,
    model_validator,
)

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document, part
from sandglass.experiment.part import Part
from sandglass.experiment.problems import PartError, Problem, explain
from sandglass.experiment.values import Duration
from sandglass.install.builds import ROOT
from sandglass.studies import reading
from sandglass.studies.bounds import Bounds
from sandglass.suites import suite
from sandglass.suites.judging import Side

EXAMPLE = "assignments/bufferbloat/GRADE.yaml"
SECOND_NS = 10**9
VIRTUAL_NS, PROCESSOR_NS = 300 * SECOND_NS, 60 * SECOND_NS
VALUE = "value"
"""What the one metric of a `metric` check is called in the study that it becomes."""
SUITE = suite.SUITES / "qdisc"
Seed = Annotated[StrictInt, Field(ge=0, le=2**63)]


def _inside(name: str) -> str:
    """A path that stays in the folder which it is relative to."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is no path below the folder: write one such as router.py")
    return name


def _pattern(text: str) -> str:
    try:
        re.compile(text, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _bounds(value: object) -> Bounds:
    try:
        return Bounds.model_validate(value)
    except ValidationError as error:
        raise PartError(explain(error, Bounds)) from None


Below = Annotated[str, AfterValidator(_inside)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Patterns = Annotated[list[Pattern], BeforeValidator(_one_or_more)]
Sides = Annotated[list[Side], BeforeValidator(_one_or_more), Field(min_length=1)]


class TimeLimit(Part):
    """How long a check may take."""

    virtual: Duration = VIRTUAL_NS
    """Of the lab's time: of each run, or of the program."""
    processor: Duration = PROCESSOR_NS
    """Of a processor, for the whole check: against what lets the lab's time stand still. It is not
    real time, of which a busy machine takes more for the same."""


class Check(Part):
    """What every check has."""

    id: str = Field(pattern=r"^[A-Za-z][\w-]*$", examples=["delay"])
    title: str = Field(min_length=1, examples=["The queue stays short"])
    points: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = Field(examples=[10])
    kind: str = Field(examples=["pings"])
    hint: str = ""
    """Shown when it fails."""
    time_limit: TimeLimit = TimeLimit()
    hidden: bool = False
    """Whether a student sees no more of it than points."""
    partial: bool = False
    """Whether a share of what is asked for gives a share of the points."""
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None
    """What is run with each of these seeds; those of the file, where it has none."""


class Measured(Check):
    """A check of runs: what of an experiment is the student's, and what the teacher's."""

    experiment: Below | None = Field(default=None, examples=["experiment.yaml"])
    """The student's."""
    take: Annotated[list[str], Field(min_length=1)] | None = None
    """The keys of it that count; the others are the teacher's. Without it all are the student's."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Keys that the teacher sets, whatever the student's file has."""
    module: Below | None = None
    """The folder of the student's kernel module, or with kmods/ in it."""
    code: bool = False
    """Whether the experiment may bring programs, which run beside what measures them."""


class StudyCheck(Measured):
    """The claims of a study, with the student's experiment in the place of its own."""

    kind: Literal["study"]
    study: str = Field(examples=["study.yaml"])

    @model_validator(mode="after")
    def _something(self) -> "StudyCheck":
        if self.experiment is None and self.module is None:
            raise ValueError("has nothing of the student's: name an `experiment` or a `module`")
        return self


class MetricCheck(Measured):
    """A metric of the student's experiment, within bounds."""

    kind: Literal["metric"]
    metric: Any = Field(examples=["bottleneck.queue_delay_ms.p95"])
    bounds: Annotated[Bounds, BeforeValidator(_bounds)] = Field(examples=[{"at_most": 20}])
    base: str | None = None
    """The teacher's experiment; `take` are keys of the student's that are put into it."""

    @model_validator(mode="after")
    def _something(self) -> "MetricCheck":
        if self.experiment is None and (self.module is None or self.base is None):
            raise ValueError(
                "has nothing of the student's: name an `experiment`, or a `module` and a `base`"
            )
        if self.take and self.base is None:
            raise ValueError("takes keys into no `base`: name the teacher's experiment")
        return self


class QdiscCheck(Check):
    """How the student's queue compares in a scenario of `characterise qdisc`."""

    kind: Literal["qdisc"]
    module: Below = Field(examples=["kmods"])
    scenario: str = Field(examples=["5.1.1"])
    """Its section or name."""
    judged: Annotated[dict[str, Sides], Field(min_length=1)] = Field(
        examples=[{"delay": "better", "goodput": ["better", "equal"]}]
    )
    """Words for metrics of the scenario, at every point."""
    against: str = "pfifo"
    """The rival."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Of the student's queue."""


class Network(Check):
    """A check of a program of the student's, in the lab."""

    network: str | None = None
    """A command that builds a network and leaves it at Mininet's prompt."""
    settle: Duration = 0
    """How long the network is left alone before it is looked at."""


class OutputCheck(Network):
    """What a program says."""

    kind: Literal["output"]
    command: str = Field(examples=["python3 count.py"])
    """With `network` it is the teacher's, and runs beside the network, out of its reach."""
    at: str | None = None
    """The host of the network that the command runs on."""
    files: list[str] = Field(default_factory=list)
    """The teacher's, laid beside those of the submission."""
    input: str = ""
    matches: Patterns = Field(default_factory=list)
    """Each of which the output has somewhere; ^ and $ are ends of lines."""
    lines: Annotated[list[str], BeforeValidator(_one_or_more)] = Field(default_factory=list)
    """Each of which is a line of it."""
    absent: Patterns = Field(default_factory=list)
    """None of which it has."""
    status: int | None = None

    @model_validator(mode="after")
    def _something(self) -> "OutputCheck":
        if not (self.matches or self.lines or self.absent) and self.status is None:
            raise ValueError("asks for nothing: give `matches`, `lines`, `absent` or `status`")
        if self.at and not self.network:
            raise ValueError("names a host `at` which the command runs, and no `network`")
        return self


class PingsCheck(Network):
    """Which hosts of the student's network reach each other."""

    kind: Literal["pings"]
    network: str = Field(examples=["router.py"])
    hosts: Annotated[dict[str, str], Field(min_length=2)] = Field(
        examples=[{"h1": "10.0.1.100", "h2": "10.0.2.100"}]
    )
    """The address of each."""
    reach: bool = True
    """Whether a pair does that `pairs` does not name."""
    pairs: dict[str, dict[str, bool | Annotated[StrictInt, Field(ge=0, le=60)]]] = Field(
        default_factory=dict
    )
    """From a host to another: true, false, or through how many routers."""

    @model_validator(mode="after")
    def _known(self) -> "PingsCheck":
        problems: list[Problem] = []
        for one, others in self.pairs.items():
            for host in (one, *others):
                if host not in self.hosts:
                    said = f"{host} is none of the hosts{nearest(host, self.hosts)}"
                    problems.append((("pairs", one), said))
            if one in others:
                problems.append((("pairs", one, one), "is the host itself"))
        for name, address in self.hosts.items():
            if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", address):
                problems.append((("hosts", name), f"{address!r} is no IPv4 address"))
        if problems:
            raise PartError(problems)
        return self

    def wanted(self, one: str, other: str) -> bool | int:
        """What a pair should do."""
        return self.pairs.get(one, {}).get(other, self.reach)


AnyCheck = StudyCheck | MetricCheck | QdiscCheck | OutputCheck | PingsCheck
KINDS: dict[str, type[Check]] = {
    "study": StudyCheck,
    "output": OutputCheck,
    "pings": PingsCheck,
    "qdisc": QdiscCheck,
    "metric": MetricCheck,
}


def _check(value: object) -> Any:
    """A check by its kind, whose keys are then told, and no other's."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(value, dict) and kind not in KINDS:
        said = f"{kind!r} is unknown{nearest(str(kind), KINDS)}" if kind else "is missing."
        raise PartError([(("kind",), f"{said} There are {', '.join(KINDS)}")])
    return part.read(KINDS.get(str(kind), Check), value)


class Described(Part):
    """What GRADE.yaml says."""

    title: str = Field(min_length=1, examples=["Bufferbloat"])
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None
    """What everything is run with, instead of the student's seed."""
    checks: Annotated[list[Annotated[Any, BeforeValidator(_check)]], Field(min_length=1)]


@dataclass(frozen=True)
class Sheet:
    """A grade file, read and checked."""

    path: Path
    title: str
    checks: Sequence[AnyCheck]
    seeds: Sequence[int] | None

    @property
    def most(self) -> float:
        """All points."""
        return round(sum(check.points for check in self.checks), 6)

    def seeds_of(self, check: Check) -> list[int] | None:
        """What a check is run with; None for what its experiment says."""
        found = check.seeds or self.seeds
        return list(found) if found else None

    def beside(self, name: str) -> Path:
        """A file of the teacher's."""
        return (self.path.parent / name).resolve()


def read(path: Path) -> Sheet:
    """The grade file, with all that it names. Raises UsageError, a line for each problem."""
    found = document.read(path, "a grade file", EXAMPLE)
    described = part.parsed(Described, found.data, path, found)
    sheet = Sheet(path.resolve(), described.title, described.checks, described.seeds)
    problems: list[Problem] = []
    for number, check in enumerate(sheet.checks):
        if check.id in [other.id for other in sheet.checks[:number]]:
            problems.append((("checks", number, "id"), f"{check.id} is another's, too"))
        problems += [(("checks", number, *at), said) for at, said in _wrong(sheet, check)]
    if problems:
        raise part.refusal(path, found, problems)
    return sheet


def _wrong(sheet: Sheet, check: AnyCheck) -> Iterator[Problem]:
    """What a check names that is not there, or cannot be read."""
    match check:
        case StudyCheck():
            yield from _wrong_study(sheet, check)
        case MetricCheck():
            yield from _wrong_metric(sheet, check)
        case QdiscCheck():
            yield from _wrong_scenario(check)
        case OutputCheck():
            for number, name in enumerate(check.files):
                if not sheet.beside(name).is_file():
                    yield ("files", number), f"there is no {name} beside the grade file"
        case PingsCheck():
            pass


def _wrong_study(sheet: Sheet, check: StudyCheck) -> Iterator[Problem]:
    try:
        study = reading.load(sheet.beside(check.study))
    except UsageError as error:
        yield ("study",), error.message
        return
    if not study.expects:
        yield ("study",), f"{check.study} has no claim: give it some, as `expect`"


def _wrong_metric(sheet: Sheet, check: MetricCheck) -> Iterator[Problem]:
    if check.base and not sheet.beside(check.base).is_file():
        yield ("base",), f"there is no {check.base} beside the grade file"
        return
    experiment = sheet.beside(check.base) if check.base else ROOT / "examples" / "codel.yaml"
    with tempfile.TemporaryDirectory(prefix="sandglass-grade-") as name:
        file = Path(name) / "study.yaml"
        file.write_text(yaml.safe_dump(metric_study(check, str(experiment))))
        try:
            reading.load(file)
        except UsageError as error:
            for line in error.message.splitlines():
                at, _, said = line.removeprefix(f"{file}:").partition(f"metrics.{VALUE}")
                if said:
                    yield ("metric",), said.lstrip(".: ")
                else:
                    yield ("base",), at.partition(" experiment: ")[2] or at


def _wrong_scenario(check: QdiscCheck) -> Iterator[Problem]:
    scenarios = suite.read(SUITE).described.scenarios
    for scenario in scenarios:
        if check.scenario in (scenario.section, scenario.name):
            for metric in check.judged:
                if metric not in scenario.judged:
                    near = nearest(metric, scenario.judged)
                    judged = ", ".join(scenario.judged)
                    said = f"{scenario.section} judges no {metric}{near} It judges {judged}"
                    yield ("judged", metric), said
            return
    names = [key for scenario in scenarios for key in (scenario.section, scenario.name)]
    yield ("scenario",), f"there is no {check.scenario}{nearest(check.scenario, names)}"


def metric_study(check: MetricCheck, experiment: Any) -> dict[str, Any]:
    """A study of one metric and one claim: what a `metric` check is."""
    bounds = check.bounds.model_dump(exclude_none=True)
    return {
        "title": check.title,
        "experiment": experiment,
        "metrics": {VALUE: check.metric},
        "expect": [{"claim": check.title, "metric": VALUE, "bounds": bounds}],
    }
