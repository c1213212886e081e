"""Who stands on a study's axis: the baseline, the algorithm in question, and its rivals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandglass.experiment import document
from sandglass.suites.suite import Suite

Fits = Callable[[str, str], bool]
"""Whether an algorithm, by its name, takes an option that the baseline is given."""


@dataclass(frozen=True)
class Contender:
    """An algorithm, as tables and figures call it, and its options."""

    label: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def having(self, options: Mapping[str, Any], fits: Fits) -> "Contender":
        """With those of the options that it takes; its own go before them."""
        own = {option: value for option, value in options.items() if fits(self.name, option)}
        return replace(self, options={**own, **self.options})


def contenders(
    suite: Suite, name: str, rivals: Sequence[str], own: Mapping[str, Any]
) -> list[Contender]:
    """Baseline, NAME, rivals, each once; `own` are options of NAME besides the suite's."""
    baseline = suite.described.baseline
    found = [
        Contender(baseline.label, baseline.name, suite.options(baseline.name)),
        Contender(name, name, {**suite.options(name), **own}),
    ]
    for rival in dict.fromkeys(rivals):
        if rival not in (name, baseline.name):
            found.append(Contender(rival, rival, suite.options(rival)))
    return found


def standing(
    place: Mapping[str, Any],
    baseline: str,
    contender: Contender,
    experiment: Mapping[str, Any],
    fits: Fits,
) -> dict[str, Any]:
    """What the axis sets for a contender: that for the baseline, with the contender in its place.

    `place` has values by key paths; wherever a value is the baseline's name it becomes the
    contender's, and the contender's options come beside it. An option that the baseline has there
    and the contender does not take is left out.
    """
    found: dict[str, Any] = {}
    for key, value in place.items():
        if value == baseline:
            beside = key.rpartition(".")[0]
            found[key] = contender.name
            for option, given in _given(contender, experiment).items():
                found[f"{beside}.{option}" if beside else option] = given
        else:
            found[key] = _replaced(value, baseline, contender, experiment, fits)
    return found


def _replaced(
    value: Any, baseline: str, contender: Contender, experiment: Mapping[str, Any], fits: Fits
) -> Any:
    if isinstance(value, list):
        return [_replaced(each, baseline, contender, experiment, fits) for each in value]
    if not isinstance(value, dict):
        return value
    names = [key for key in value if value[key] == baseline]
    inner = {
        key: _replaced(each, baseline, contender, experiment, fits)
        for key, each in value.items()
        if key not in names
    }
    if not names:
        return inner
    kept = {option: each for option, each in inner.items() if fits(contender.name, option)}
    merged = dict.fromkeys(names, contender.name) | kept | _given(contender, experiment)
    return {key: each for key, each in merged.items() if each is not None}


def _given(contender: Contender, experiment: Mapping[str, Any]) -> dict[str, Any]:
    """A contender's options, with what they take from the experiment."""
    return {
        option: _of(experiment, value[1:])
        if isinstance(value, str) and value.startswith("$")
        else value
        for option, value in contender.options.items()
    }


def _of(experiment: Mapping[str, Any], path: str) -> Any:
    return document.at(experiment, path)
