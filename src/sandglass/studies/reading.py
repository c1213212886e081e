"""The study file, read, or refused with everything that is wrong with it, a line per problem."""

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document, kernel, reading, units
from sandglass.experiment.document import Document, Override, Value
from sandglass.experiment.part import Part
from sandglass.experiment.problems import EMPTY, KeyPath, Problem, explain, where
from sandglass.studies import agreement, defaults, extension, metric, vary
from sandglass.studies.claims import Expect, unknown
from sandglass.studies.measure import Measure
from sandglass.studies.metric import Metric
from sandglass.studies.plot import Plot
from sandglass.studies.points import MOST, Point, Setting, product, rooted, text
from sandglass.studies.statistics import Rule
from sandglass.studies.study import TAKEN, Compare, Study

KEYS = (
    *("title", "experiment", "vary", "replicas", "metrics", "compare", "plots", "expect"),
    *("module", "memory_mb"),
)
MOST_RUNS = 100_000
MEMORY_MB = 2500
NAME = re.compile(r"[A-Za-z_]\w*")


def load(
    path: Path,
    settings: Iterable[Override] = (),
    varied: Iterable[str] = (),
    replicas: int | None = None,
    axes: Mapping[str, Any] | None = None,
) -> Study:
    """Read a study file, or an experiment file as a study of what `varied` says.

    `axes` takes the place of axes of its `vary`, by their names, each as a file writes it. Every
    point's experiment is read too. Raises UsageError, which lists everything that is wrong,
    a line each.
    """
    found = document.read(path, "a study", "studies/queues.yaml")
    if "experiment" not in found.data and "topology" in found.data:
        data = {"experiment": path.name, "vary": {}}
        return _Reader(path, data, found, own=False).study(settings, varied, replicas)
    whole = dict(found.data)
    if axes:
        whole["vary"] = {**whole["vary"], **axes}
    return _Reader(path, whole, found, own=True).study(settings, varied, replicas)


def resolved(path: Path) -> Study:
    """A study that was read before, from the file that it left; its points are not read again."""
    found = document.read(path)
    return _Reader(path, found.data, found, own=True).study((), (), None, points=False)


def _in_one_lab(base: dict[str, Any], factors: Sequence[Sequence[Setting]]) -> dict[str, Any]:
    """The experiment in the lab that its most demanding point needs, so that points compare."""
    set_by = [setting.overrides for factor in factors for setting in factor]
    if "lab" in base or any("lab" in overrides for overrides in set_by):
        return base
    needed = kernel.least({**base, "title": None}, *set_by)
    return {**base, "lab": needed} if needed else base


class _Reader:
    """Reads one file; gathers what is wrong with it."""

    def __init__(self, path: Path, data: dict[str, Any], found: Document, own: bool) -> None:
        self.path = path
        self.data = data
        self.found = found
        self.own = own
        """Whether the file is a study, and not its experiment."""
        self.problems: list[Problem] = []
        self.lines: list[str] = []
        """What is wrong elsewhere, as it is said."""
        self.options: dict[KeyPath, str] = {}
        self.elsewhere: Document | None = None if own else found
        """The experiment's own file."""
        self.set: dict[KeyPath, str] = {}

    def study(
        self,
        settings: Iterable[Override],
        varied: Iterable[str],
        replicas: int | None,
        points: bool = True,
    ) -> Study:
        self._options(varied, replicas)
        for key in self.data:
            if key not in KEYS:
                near = nearest(key, KEYS)
                self._wrong((key,), f"unknown key{near} Keys here: {', '.join(KEYS)}")
            elif self.data[key] is None:
                self._wrong((key,), EMPTY)
        data = {key: value for key, value in self.data.items() if value is not None}
        base, source = self._experiment(data.get("experiment"), settings)
        factors = vary.factors(data.get("vary", {}), self._wrong)
        if source.parent != self.path.parent:
            factors = [[_beside(each, self.path.parent) for each in factor] for factor in factors]
        base = _in_one_lab(base, factors)
        axes = [axis for factor in factors for axis in factor[0].labels]
        if not self.own:
            self.data |= (more := self._default(base, factors))
            data |= more
        title = data.get("title", self.path.stem)
        if not isinstance(title, str) or not title.strip():
            self._wrong(("title",), f"{units.shown(title)} is not text: put it in quotes")
        count = self._replicas(data.get("replicas", 1))
        module = self._module(data.get("module"))
        metrics = self._metrics(data.get("metrics"), axes, module is not None)
        memory_mb = data.get("memory_mb", MEMORY_MB)
        if type(memory_mb) is not int or memory_mb < 1:
            self._wrong(("memory_mb",), "is not a whole number of megabytes, such as 2500")
        compare = self._compare(data.get("compare"), factors)
        plots = self._list("plots", Plot)
        expects = self._list("expect", Expect)
        self._runs(factors, count)
        self._raise()
        resolved = {"title": title, "experiment": rooted(base, source.parent)}
        resolved |= {key: self.data[key] for key in KEYS[2:] if key in self.data}
        if "vary" in resolved:
            for home in (self.path.parent, source.parent):
                resolved["vary"] = vary.rooted(resolved["vary"], home)
        if module:
            resolved["module"] = str(module)
        study = Study(
            path=self.path,
            title=title,
            experiment=base,
            source=source,
            factors=factors,
            replicas=count,
            metrics=metrics,
            compare=compare,
            plots=plots,
            expects=expects,
            module=module,
            memory_mb=memory_mb,
            data=resolved,
        )
        self._names(study)
        if points:
            self.problems += [] if self.problems else agreement.problems(study)
            self._points(study)
        self._raise()
        return study

    def _wrong(self, at: KeyPath, said: str) -> None:
        self.problems.append((at, said))

    def _raise(self) -> None:
        lines = list(dict.fromkeys([*map(self._said, self.problems), *self.lines]))
        if not lines:
            return
        shown = lines[: reading.MOST_TOLD]
        if more := len(lines) - len(shown):
            shown.append(f"{self.path}: and {more} more")
        raise UsageError("\n".join(shown))

    def _said(self, problem: Problem) -> str:
        at, said = problem
        for path, option in self.options.items():
            if all(a == b for a, b in zip(at, path, strict=False)):
                return f"{self.path}: {where(at)}: {said} (set by {option})"
        line = self.found.line(at) if self.own else None
        return f"{self.path}{'' if line is None else f':{line}'}: {where(at)}: {said}"

    def _options(self, varied: Iterable[str], replicas: int | None) -> None:
        """What the command line says comes into the file's data."""
        for written in varied:
            here = f"{self.path}: --vary {written}"
            name, _, values = written.partition("=")
            if not name or not values:
                raise UsageError(f"{here}: write key.path=value,value, such as rtt=20ms,100ms")
            axes = self.data.setdefault("vary", {})
            if isinstance(axes, dict):
                axes[name] = document.value(f"[{values}]", here)
                self.options[("vary", name)] = "--vary"
        if replicas is not None:
            self.data["replicas"] = replicas
            self.options[("replicas",)] = "--replicas"

    def _experiment(self, value: Any, settings: Iterable[Override]) -> tuple[dict[str, Any], Path]:
        """The experiment, as a mapping, and the file to which its paths are relative."""
        source = self.path
        base: dict[str, Any] = {}
        if "experiment" not in self.data:
            self._wrong(("experiment",), "is missing: give one, such as codel.yaml")
        elif isinstance(value, dict):
            base = dict(value)
        elif isinstance(value, str):
            source = self.path.parent / value
            try:
                self.elsewhere = self.found if not self.own else document.read(source)
                base = dict(self.elsewhere.data)
            except UsageError as error:
                self._wrong(("experiment",), error.message)
        elif value is not None:
            self._wrong(
                ("experiment",),
                f"{units.shown(value)} is no experiment: write a file's name, or its keys",
            )
        for setting in settings if base else ():
            self.set[document.override(base, setting, source)] = "--set"
        return base, source

    def _default(
        self, base: dict[str, Any], factors: Sequence[Sequence[Setting]]
    ) -> dict[str, Any]:
        """What a study of an experiment's file has that the file does not say."""
        experiments = [base]
        if math.prod(map(len, factors)) <= MOST_RUNS:
            with contextlib.suppress(UsageError):  # which `_points` tells
                experiments = [point.experiment(base)[0] for point in product(factors)]
        metrics = defaults.metrics(experiments)
        plots = defaults.plots(metrics, {next(iter(each[0].labels)): len(each) for each in factors})
        title = base.get("title", self.path.stem)
        return {"title": title, "metrics": metrics, "plots": plots}

    def _replicas(self, value: Any) -> int | Rule:
        if isinstance(value, dict):
            return self._part("replicas", Rule, value) or 1
        if type(value) is not int or not 1 <= value <= MOST:
            self._wrong(
                ("replicas",),
                f"{units.shown(value)} is no number of replicas: write 1 to {MOST}, or "
                "{of: METRIC, within: 5%, most: 30}",
            )
            return 1
        return value

    def _part(self, key: str, model: type[Part], value: Any) -> Any:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.problems += [((key, *at), said) for at, said in explain(error, model)]
            return None

    def _list(self, key: str, kind: Any) -> list[Any]:
        value = self.data.get(key, [])
        if not isinstance(value, list):
            if value is not None:
                self._wrong((key,), "is not a list: begin each entry with '- '")
            return []
        found = []
        for number, entry in enumerate(value):
            try:
                found.append(TypeAdapter(kind).validate_python(entry))
            except ValidationError as error:
                wrong = explain(error, Part)
                self.problems += [((key, number, *at), said) for at, said in wrong]
        return found

    def _metrics(self, value: Any, axes: Sequence[str], more: bool) -> dict[str, Metric]:
        if value is None and more:
            return {}
        if not isinstance(value, dict) or not value:
            self._wrong(
                ("metrics",), "is missing: give one, such as {goodput: flows.0.goodput_mbit}"
            )
            return {}
        found: dict[str, Metric] = {}
        for name, spec in value.items():
            at = ("metrics", name)
            if not NAME.fullmatch(name):
                self._wrong(at, f"{name!r} is no name: write letters, digits and _")
            elif name in TAKEN or name in axes:
                self._wrong(at, f"a metric cannot be called {name}: a column is called so")
            elif isinstance(spec, dict) and "measure" in spec:
                try:
                    found[name] = Measure.model_validate(spec)
                except ValidationError as error:
                    wrong = explain(error, Measure)
                    self.problems += [((*at, *inner), said) for inner, said in wrong]
            elif isinstance(spec, dict):
                if one := self._detailed(spec, at):
                    found[name] = one
            elif one := self._expression(spec, at):
                found[name] = one
        return found

    def _expression(self, spec: Any, at: KeyPath, unit: str | None = None) -> Metric | None:
        if spec is None or isinstance(spec, list | dict):
            self._wrong(at, EMPTY if spec is None else "is no expression: write text")
            return None
        try:
            return metric.expression(text(spec), unit)
        except ValueError as error:
            self._wrong(at, str(error))
            return None

    def _detailed(self, spec: Mapping[str, Any], at: KeyPath) -> Metric | None:
        """A metric with its unit, or of a table."""
        before = len(self.problems)
        keys = ("of", "table", "where", "unit")
        for key in spec:
            if key not in keys:
                near = nearest(key, keys)
                self._wrong((*at, key), f"unknown key{near} Keys here: {', '.join(keys)}")
            elif key != "of" and not isinstance(spec[key], str):
                self._wrong((*at, key), f"{units.shown(spec[key])} is not text")
        if "of" not in spec:
            self._wrong((*at, "of"), "is missing: write what is measured")
        elif "table" not in spec:
            found = self._expression(spec["of"], (*at, "of"), spec.get("unit"))
            if "where" in spec:
                self._wrong((*at, "where"), "is of a table: name the `table`")
            return found if len(self.problems) == before else None
        for key in ("of", "where"):
            if key in spec:
                try:
                    metric.check_sql(str(spec[key]))
                except ValueError as error:
                    self._wrong((*at, key), str(error))
        if len(self.problems) > before:
            return None
        return metric.Aggregate(
            spec["table"], str(spec["of"]), spec.get("where"), spec.get("unit", "")
        )

    def _compare(self, value: Any, factors: Sequence[Sequence[Setting]]) -> Compare | None:
        if value is None:
            return None
        labels: dict[str, list[str]] = {}
        for factor in factors:
            for axis in factor[0].labels:
                labels[axis] = list(dict.fromkeys(text(each.labels[axis]) for each in factor))
        if isinstance(value, dict) and "axis" not in value and "against" in value:
            against = value["against"]
            having = [axis for axis, own in labels.items() if _label(against) in own]
            if len(having) != 1:
                said = f"several axes have it: {', '.join(having)}. Name the `axis`"
                near = nearest(_label(against), {each for own in labels.values() for each in own})
                none = f"no axis has a value {units.shown(against)}{near}"
                self._wrong(("compare", "against"), said if having else none)
                return None
            value = {"axis": having[0]} | value
        found: Compare | None = self._part("compare", Compare, value)
        if found and found.axis not in labels:
            self._wrong(("compare", "axis"), unknown("axis", found.axis, labels))
        elif found and text(found.against) not in labels[found.axis]:
            own = labels[found.axis]
            self._wrong(
                ("compare", "against"),
                f"{found.axis} has no value {found.against}{nearest(text(found.against), own)}",
            )
        return found

    def _module(self, value: Any) -> Path | None:
        if value is None:
            return None
        path = self.path.parent / str(value)
        if not isinstance(value, str) or not path.is_file():
            self._wrong(("module",), f"{path} does not exist: name a Python file beside the study")
            return None
        try:
            extension.load(path)
        except UsageError as error:
            self._wrong(("module",), error.message)
        return path.resolve()

    def _runs(self, factors: Sequence[Sequence[Setting]], replicas: int | Rule) -> None:
        count = math.prod(map(len, factors))
        each = replicas if isinstance(replicas, int) else replicas.most
        if count * each > MOST_RUNS:
            self._wrong(
                ("vary",), f"{count} points of {each} replicas are more than {MOST_RUNS} runs"
            )

    def _names(self, study: Study) -> None:
        """What the parts after the runs are about has to be there."""
        rule = study.rule
        # What a module measures is known when it has done so.
        if rule and rule.of not in study.metrics and study.module is None:
            self._wrong(("replicas", "of"), unknown("metric", rule.of, study.metrics))
        labels = study.labels
        metrics = None if study.module else list(study.metrics)
        for number, plot in enumerate(study.plots):
            for at, said in plot.wrong(labels, metrics):
                self._wrong(("plots", number, *at), said)
        for number, expect in enumerate(study.expects):
            for at, said in expect.wrong(labels, metrics):
                self._wrong(("expect", number, *at), said)

    def _points(self, study: Study) -> None:
        """Every point's experiment has to be one."""
        for point in product(study.factors):
            if len(self.lines) > reading.MOST_TOLD:
                return
            try:
                data, behind = point.experiment(study.experiment)
            except UsageError as error:
                self._wrong(_astray(point, study).at, error.message.partition(": ")[2])
                continue
            try:
                reading.parse(data, study.source, self._blame(behind))
            except UsageError as error:
                self.lines += error.message.splitlines()

    def _blame(self, behind: Mapping[KeyPath, Setting]) -> Callable[[Problem], str]:
        """Says of a problem of a point's experiment where in the files it stands."""

        def said(problem: Problem) -> str:
            at, words = problem
            for path, setting in reversed(list(behind.items())):
                if all(a == b for a, b in zip(at, path, strict=False)):
                    return self._said((setting.at, f"{where(at)}: {words}"))
            if self.elsewhere is None:
                return self._said((("experiment", *at), words))
            source = self.path if not self.own else self.path.parent / self.data["experiment"]
            return reading.line(source, problem, self.elsewhere, self.set)

        return said


def _astray(point: Point, study: Study) -> Setting:
    """The setting of a point whose path leads nowhere."""
    for number, setting in enumerate(point.settings, 1):
        try:
            Point(point.settings[:number]).experiment(study.experiment)
        except UsageError:
            return setting
    raise AssertionError(point)


def _beside(setting: Setting, home: Path) -> Setting:
    """With files that lie beside the study, and not its experiment, found from there."""
    return replace(setting, overrides=rooted(dict(setting.overrides), home))


def _label(value: Any) -> str:
    return text(value) if isinstance(value, Value) else units.shown(value)
