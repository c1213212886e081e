"""A suite: which studies an algorithm goes through, what is judged in each, and by which margins.

A folder of suites/ has a `suite.yaml` and beside it a study file for each scenario. A study file is
one like any other (docs/studies.md) and can be run by itself. It has an axis, called as `axis`
says, with one label, that of the baseline, which says in which keys an algorithm stands:

    vary:
      queue: {values: {drop-tail: {bottleneck.queue: {kind: pfifo, limit: 1bdp}}}}

The engine adds a label for NAME and for each rival (contenders.py). The keys of suite.yaml:

    title        of the report
    document     what the scenarios are from, in words
    subject      what is judged: the name of a module of this package, such as qdisc
    axis         of all its studies, on which algorithms stand
    baseline     name and label of what everything is compared with: {name: pfifo, label: drop-tail}
    against      names of the rivals, where the command line has none
    contenders   options of single algorithms, by name. They go beside the algorithm's name: into
                 the mapping that holds it, or to the keys beside its key. A text $key.path is that
                 key of the scenario's experiment; null takes an option of the baseline away
    margins      by name: `better`, more or less; `within`, a share of the baseline's mean, and
                 `least`, in the metric's unit. What differs by no more than the larger is equal
    report       what the page says of all scenarios: a list of sentences
    scenarios    in the order of the report, each with
        study      the file
        title      in words
        section    of the document
        weight     must, should or may
        words      those of the document about its weight
        stated     what the document says, in a sentence
        redesign   what is ours where it is silent: a list
        judged     which metrics are judged, and the margin of each: {goodput: goodput}
        graph      for the summary: {delay: METRIC, goodput: METRIC, at: {rtt: 100ms}}, or nothing
        options    that every contender is given who takes them: {ecn: true}
        tuned      true: instead of against rivals, NAME runs against itself, with each of its
                   options halved and doubled (sensitivity.py)
        quick      what is less in the profile quick: `replicas`; `only`, which labels of an axis
                   stay, {rtt: [20ms]}; `set`, keys of the experiment, {duration: 30s}
    prompts      what no run can show, and the author writes: each with section, weight, title, ask
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document, part
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part
from sandglass.install.builds import ROOT

SUITES = ROOT / "suites"
FILE = "suite.yaml"
QUICK, FULL = "quick", "full"
Profile = Literal["quick", "full"]
Weight = Literal["must", "should", "may"]


def _share(value: str) -> float:
    text = value.strip()
    if not text.endswith("%"):
        raise ValueError(f"{value} is no share: write one such as 10%")
    return float(text[:-1]) / 100


def _is_share(value: str) -> str:
    _share(value)
    return value


class Margin(Part):
    """By how much a metric has to differ before it counts, and which way is better."""

    better: Literal["more", "less"]
    within: Annotated[str, AfterValidator(_is_share)] = "0%"
    least: float = 0

    @property
    def share(self) -> float:
        """`within` as a number."""
        return _share(self.within)

    def is_share(self, mean: float) -> bool:
        """Whether `within` is what counts at such a mean of the baseline."""
        return self.share * abs(mean) >= max(self.least, 1e-300)

    def width(self, mean: float) -> float:
        """In the metric's unit."""
        return max(self.share * abs(mean), self.least)


class Baseline(Part):
    """What everything is compared with."""

    name: str
    label: str


class Graph(Part):
    """The metrics of a scenario's delay/goodput graph (RFC 7928, 2.7), and the point it is of."""

    delay: str
    goodput: str
    at: dict[str, Value] = Field(default_factory=dict)


class Less(Part):
    """What a profile does less of."""

    replicas: int | None = None
    only: dict[str, list[Value]] = Field(default_factory=dict)
    set: dict[str, Any] = Field(default_factory=dict)


class Scenario(Part):
    """A study of the suite, and what the document says of it."""

    study: str
    title: str
    section: str
    weight: Weight
    words: str
    stated: str
    redesign: list[str] = Field(default_factory=list)
    judged: dict[str, str]
    graph: Graph | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    tuned: bool = False
    quick: Less = Less()

    @property
    def name(self) -> str:
        """Of its directory and its figures."""
        return Path(self.study).stem


class Prompt(Part):
    """What the author has to write."""

    section: str
    weight: Weight
    title: str
    ask: str


class Described(Part):
    """What suite.yaml says."""

    title: str
    document: str
    subject: str
    axis: str
    baseline: Baseline
    against: list[str]
    contenders: dict[str, dict[str, Any]] = Field(default_factory=dict)
    margins: dict[str, Margin]
    report: list[str] = Field(default_factory=list)
    scenarios: list[Scenario]
    prompts: list[Prompt] = Field(default_factory=list)


@dataclass(frozen=True)
class Suite:
    """A suite that was read, and its folder."""

    folder: Path
    described: Described

    def study(self, scenario: Scenario) -> Path:
        """The file of a scenario."""
        return self.folder / scenario.study

    def options(self, name: str) -> Mapping[str, Any]:
        """Of an algorithm."""
        return self.described.contenders.get(name, {})


def read(folder: Path) -> Suite:
    """The suite of a folder. Raises UsageError, which says all that is wrong, a line each."""
    path = folder / FILE
    found = document.read(path, "a suite", "../suites/qdisc/suite.yaml")
    data = dict(found.data)
    contenders = data.pop("contenders", {})  # whose options may be null
    described = part.parsed(Described, data, path, found)
    suite = Suite(folder, described.model_copy(update={"contenders": contenders}))
    if wrong := [f"{path}: {line}" for line in _wrong(suite)]:
        raise UsageError("\n".join(wrong))
    return suite


def _wrong(suite: Suite) -> Iterator[str]:
    """What the scenarios name and the suite does not have."""
    for scenario in suite.described.scenarios:
        if not suite.study(scenario).is_file():
            yield f"{scenario.section}: there is no study {scenario.study}"
        for metric, margin in scenario.judged.items():
            if margin not in suite.described.margins:
                near = nearest(margin, suite.described.margins)
                yield f"{scenario.section}: {metric} has an unknown margin {margin}{near}"
