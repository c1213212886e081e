"""What a study varies: the key `vary` of its file, as axes and what their values set."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandglass.errors import nearest
from sandglass.experiment import units
from sandglass.experiment.document import Value
from sandglass.experiment.problems import EMPTY, KeyPath
from sandglass.studies import points
from sandglass.studies.points import Setting, text
from sandglass.studies.study import TAKEN

ZIP, CASES = "zip", "cases"
NOT_IN_A_NAME = re.compile(r"""["{}*^$\\`]""")
"""The name of an axis is that of a column: what is not read back from the head of a table, or means
something else to Polars or plotnine."""

Wrong = Callable[[KeyPath, str], None]
"""Takes down where something is wrong, and what."""


def factors(value: Any, wrong: Wrong) -> list[list[Setting]]:
    """The axes, those that go in step together; what cannot be read is told and left out."""
    if not isinstance(value, dict):
        wrong(("vary",), "is not a mapping: write name: [value, value]")
        return []
    found = []
    for name, spec in value.items():
        at: KeyPath = ("vary", name)
        if name == ZIP:
            found.append(_zipped(spec, at, wrong))
        elif name == CASES:
            found.append(_cases(spec, at, wrong))
        else:
            found.append(_axis(name, spec, at, wrong))
    found = [factor for factor in found if factor]
    _distinct(found, wrong)
    return found


def _axis(name: str, spec: Any, at: KeyPath, wrong: Wrong) -> list[Setting]:
    """The settings of one axis, in any of its forms."""
    if not name.strip() or not name.isprintable() or NOT_IN_A_NAME.search(name):
        wrong(
            at,
            f"{units.shown(name)} is no name of an axis: write letters, digits and spaces. What a "
            "picture calls it is its entry in `labels`",
        )
        return []
    if name in TAKEN:
        wrong(at, f"an axis cannot be called {name}: a column is called so")
        return []
    key: str | None = name
    values, place = spec, at
    if isinstance(spec, dict):
        for each in spec:
            if each not in ("key", "values"):
                near = nearest(each, ("key", "values"))
                wrong((*at, each), f"unknown key{near} Keys here: key, values")
        values, place = spec.get("values"), (*at, "values")
        key = spec.get("key", name if isinstance(values, list) else None)
        if key is not None and (not isinstance(key, str) or not key):
            wrong((*at, "key"), "is not a key's path, such as bottleneck.queue")
            return []
    if isinstance(values, dict) and values:
        pairs = [(label, value, (*place, label)) for label, value in values.items()]
    elif isinstance(values, list) and values:
        pairs = [(value, value, (*place, n)) for n, value in enumerate(values)]
    else:
        wrong(place, "needs a list of values, such as [20ms, 100ms]")
        return []
    found = [_setting(name, key, *pair, wrong) for pair in pairs]
    labels = [each.labels[name] for each in found if each]
    numbers = [label for label in labels if type(label) in (int, float)]
    counts = [*Counter(map(text, labels)).items(), *Counter(numbers).items()]  # 1 is 1.0
    for label in {text(label) for label, count in counts if count > 1}:
        wrong(at, f"has {label} twice: remove one of them")
    return [each for each in found if each]


def _setting(
    name: str, key: str | None, label: Any, value: Any, at: KeyPath, wrong: Wrong
) -> Setting | None:
    if label is None or value is None:
        wrong(at, EMPTY)
    elif not isinstance(label, Value):
        wrong(at, "needs a label: write values as a mapping, such as {CoDel: {…}}")
    elif isinstance(label, float) and not math.isfinite(label):
        wrong(at, f"{label} is no value")
    elif key is None and not isinstance(value, dict):
        wrong(at, "sets no key: give the axis a `key`, or write what it sets, {key.path: value}")
    else:
        overrides = value if key is None else {key: value}
        if "seed" not in overrides:
            return Setting({name: label}, overrides, at)
        wrong(at, "sets the seed, which each replica has its own of: write `replicas`")
    return None


def _zipped(spec: Any, at: KeyPath, wrong: Wrong) -> list[Setting]:
    """Axes whose values go in step."""
    if not isinstance(spec, dict) or len(spec) < 2:
        wrong(at, "needs two axes or more, such as {rtt: [20ms, 100ms], duration: [10s, 50s]}")
        return []
    axes = {name: _axis(name, each, (*at, name), wrong) for name, each in spec.items()}
    lengths = {name: len(settings) for name, settings in axes.items()}
    if 0 in lengths.values():
        return []
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} {length}" for name, length in lengths.items())
        wrong(at, f"its axes need as many values each, and have: {counted}")
        return []
    return [_together(row) for row in zip(*axes.values(), strict=True)]


def _cases(spec: Any, at: KeyPath, wrong: Wrong) -> list[Setting]:
    """Points that are written one by one."""
    if not isinstance(spec, list) or not spec:
        wrong(at, "needs a list of cases, such as [{rtt: 20ms}, {rtt: 100ms}]")
        return []
    found = []
    for number, case in enumerate(spec):
        place = (*at, number)
        if not isinstance(case, dict) or not case:
            wrong(place, "is not a case: write {key.path: value}")
        elif isinstance(spec[0], dict) and case.keys() != spec[0].keys():
            wrong(place, f"sets other keys than the first: {', '.join(spec[0])}")
        else:
            row = [
                _axis(name, _alone(value), (*place, name), wrong) for name, value in case.items()
            ]
            for name, settings in zip(case, row, strict=True):
                if len(settings) > 1:
                    wrong((*place, name), "has several values: a case is one point")
            if all(row):
                found.append(_together([settings[0] for settings in row]))
    labels = [tuple(each.labels.values()) for each in found]
    if len(set(labels)) < len(labels):
        wrong(at, "has a case twice: remove one of them")
    return found


def _alone(value: Any) -> Any:
    """What a case says of an axis: a value, or with a label, {key: bottleneck.queue, values: …}."""
    return value if isinstance(value, dict) and "values" in value else [value]


def rooted(value: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """What is varied, with files that values name beside `home` found from anywhere.

    The labels stay as they are.
    """
    found: dict[str, Any] = {}
    for name, spec in value.items():
        if name == ZIP:
            found[name] = {axis: _rooted(axis, each, home) for axis, each in spec.items()}
        elif name == CASES:
            found[name] = [{axis: _case(axis, case[axis], home) for axis in case} for case in spec]
        else:
            found[name] = _rooted(name, spec, home)
    return found


def _rooted(name: str, spec: Any, home: Path) -> Any:
    """An axis; a list of files becomes a mapping, with what they were called as labels."""
    whole = spec if isinstance(spec, dict) else {"values": spec}
    values, key = whole["values"], whole.get("key", name)
    if isinstance(values, dict):
        labelled = {label: points.rooted(each, home, key) for label, each in values.items()}
        return spec if labelled == values else whole | {"values": labelled}
    there = points.rooted(values, home, key)
    if there == values:
        return spec
    return {"key": name} | whole | {"values": dict(zip(map(text, values), there, strict=True))}


def _case(name: str, value: Any, home: Path) -> Any:
    alone = _alone(value)
    own = _rooted(name, alone, home)
    return value if own == alone else own


def _distinct(factors: Sequence[Sequence[Setting]], wrong: Wrong) -> None:
    """No two axes of one name, and none that undoes what one before it sets."""
    seen: set[str] = set()
    done: dict[str, str] = {}
    for factor in factors:
        names = list(factor[0].labels)
        for name in names:
            if name in seen:
                wrong(factor[0].at[:-1], f"there are two axes called {name}")
            seen.add(name)
        own = dict.fromkeys(key for each in factor for key in each.overrides)
        for key in own:
            for other, axis in done.items():
                if f"{other}.".startswith(f"{key}."):
                    wrong(
                        factor[0].at[:2],
                        f"sets {key} after {axis} has set {other}: put it before, or remove it",
                    )
        done |= dict.fromkeys(own, names[0])


def _together(settings: Sequence[Setting]) -> Setting:
    labels = {axis: label for each in settings for axis, label in each.labels.items()}
    overrides = {key: value for each in settings for key, value in each.overrides.items()}
    return Setting(labels, overrides, settings[0].at)
