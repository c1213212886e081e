"""An algorithm through a suite: its studies one after the other, then the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.experiment.document import Override
from sandglass.install.builds import WORK
from sandglass.studies import reading
from sandglass.studies.points import Setting, text
from sandglass.studies.study import Study
from sandglass.suites import abreast, contenders, report, sensitivity, suite
from sandglass.suites.contenders import Contender
from sandglass.suites.report import Asked
from sandglass.suites.subject import Subject, subject
from sandglass.suites.suite import FULL, Profile, Scenario, Suite
from sandglass.terminal import INTERRUPTED

RESULTS = WORK / "results" / "suites"


def wanted(
    kind: str,
    name: str,
    against: Sequence[str],
    settings: Mapping[str, Any],
    profile: Profile,
    only: Sequence[str],
    out: Path | None,
) -> Asked:
    """All that is to be run, read and checked.

    Args:
        kind: a folder of suites/.
        name: an algorithm, or the path of a module.
        against: rivals; the suite's own where there are none given.
        settings: options of the algorithm in question.
        only: sections or names of scenarios, all of them where there is none.

    Raises UsageError where something is wrong.
    """
    whole = suite.read(suite.SUITES / kind)
    about = subject(whole.described.subject)
    own = about.found(name)
    rivals = [about.found(each) for each in against or whole.described.against]
    who = contenders.contenders(whole, own, rivals, settings)
    scenarios = chosen(whole, only)
    studies = {each.name: study(whole, each, who, about, profile) for each in scenarios}
    return Asked(
        suite=whole,
        subject=about,
        contenders=who,
        studies=studies,
        scenarios=scenarios,
        profile=profile,
        home=(out or RESULTS / kind / own).absolute(),
        partial=bool(only),
    )


def characterise(asked: Asked, cores: int | None, cluster: Path | None) -> int:
    """Run what is left, write the report; returns an exit status.

    A scenario that fails does not keep the others from running; the report says that it did not
    end. An interrupted one does, and there is no report. `cluster` is a profile of Snakemake's.
    """
    count = len(asked.scenarios)
    scenarios = [
        (
            f"{number} of {count}: {each.section} {each.title}",
            asked.studies[each.name],
            asked.home / each.name,
        )
        for number, each in enumerate(asked.scenarios, 1)
    ]
    status = abreast.abreast(scenarios, cores, cluster)
    if status != INTERRUPTED:
        report.write(asked)
    return status


def chosen(whole: Suite, only: Sequence[str]) -> list[Scenario]:
    """The scenarios that are asked for, by sections or names. Raises UsageError."""
    scenarios = whole.described.scenarios
    if not only:
        return list(scenarios)
    found = [each for each in scenarios if {each.section, each.name} & set(only)]
    missing = set(only) - {key for each in found for key in (each.section, each.name)}
    if missing:
        known = ", ".join(f"{each.section} ({each.name})" for each in scenarios)
        raise UsageError(f"no scenario {', '.join(sorted(missing))}", f"There are {known}.")
    return found


def study(
    whole: Suite,
    scenario: Scenario,
    who: Sequence[Contender],
    about: Subject,
    profile: Profile,
) -> Study:
    """A scenario's study with all contenders on its axis, in the size of the profile."""
    path = whole.study(scenario)
    less = scenario.quick if profile != FULL else suite.Less()
    settings: list[Override] = list(less.set.items())
    base = reading.load(path, settings)
    axis, label = whole.described.axis, whole.described.baseline.label
    factors = {name: factor for factor in base.factors for name in factor[0].labels}
    if axis not in factors or [text(each.labels[axis]) for each in factors[axis]] != [label]:
        raise SandglassError(f"{path} needs an axis {axis} with one label, {label}")
    place = factors[axis][0].overrides
    lines = tuned(who[1], about) if scenario.tuned else who
    axes = {
        axis: {
            "values": {
                each.label: contenders.standing(
                    place,
                    whole.described.baseline.name,
                    each.having(scenario.options, about.fits),
                    base.experiment,
                    about.fits,
                )
                for each in lines
            }
        }
    }
    for name, labels in less.only.items():
        axes[name] = {"values": _kept(path, name, factors.get(name, ()), labels)}
    found = reading.load(path, settings, (), less.replicas, axes)
    _check(scenario, found)
    return found


def _check(scenario: Scenario, found: Study) -> None:
    """Raise SandglassError where the suite names what its study does not have."""
    graph = scenario.graph
    asked = [*scenario.judged, *((graph.delay, graph.goodput) if graph else ())]
    for name in asked:
        if name not in found.metrics:
            near = nearest(name, found.metrics)
            raise SandglassError(f"{found.path} has no metric {name}{near}")
    for axis, label in (graph.at if graph else {}).items():
        if text(label) not in map(text, found.labels.get(axis, ())):
            raise SandglassError(f"{found.path}: its axis {axis} has no {label} for the graph")


def tuned(own: Contender, about: Subject) -> list[Contender]:
    """The algorithm with its defaults, and with each of its options halved and doubled."""
    found = [own]
    for option, (half, double) in about.tuned(own.name).items():
        for word, value in ((sensitivity.HALF, half), (sensitivity.DOUBLE, double)):
            options = {**own.options, option: yaml.safe_load(value)}
            found.append(Contender(sensitivity.label(option, word), own.name, options))
    return found


def _kept(path: Path, name: str, factor: Sequence[Setting], labels: Sequence[Any]) -> Any:
    """The settings of an axis that a profile keeps, by their labels."""
    known = {text(each.labels[name]): each.overrides for each in factor}
    if missing := [text(each) for each in labels if text(each) not in known]:
        raise SandglassError(f"{path}: its axis {name} has no {', '.join(missing)}")
    return {text(each): known[text(each)] for each in labels}
