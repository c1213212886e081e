"""What `import sandglass` offers: runs and studies from a script or a notebook."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import document, kernel, reading
from sandglass.experiment.experiment import Experiment
from sandglass.install import setup_lab
from sandglass.results import series
from sandglass.results.series import Run
from sandglass.results.view import page
from sandglass.run import runs as running
from sandglass.studies import conduct, manifest, tables, targets
from sandglass.studies import reading as studies
from sandglass.terminal import progress

Place = str | os.PathLike[str]


def run(
    experiment: Place | Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    out: Place | None = None,
    *,
    cached: bool = False,
) -> Run:
    """Run an experiment in the lab, which is built first where it is not there.

    Args:
        experiment: a file, or what would stand in one; paths in that are relative to the working
            directory.
        settings: keys to change, by their paths: {"bottleneck.queue.kind": "pie"}.
        seed: instead of the experiment's own.
        out: where the results go, by default below results/runs. What an earlier run left there is
            replaced.
        cached: take the run from the cache of runs, or keep it there.

    Raises:
        SandglassError: the experiment is none that can be run, or the run failed.
    """
    wanted, source = _experiment(experiment, settings or {}, seed)
    _lab(kernel.wanted(wanted))
    with progress(wanted.title) as advance:
        done = running.run(wanted, source, _path(out), cached=cached, progress=advance)
    return load(done.path)


def load(directory: Place) -> Run:
    """The finished run in a directory. Raises SandglassError where there is none."""
    return series.load(Path(directory), {})


def view(*runs: Run, out: Place | None = None) -> Path:
    """Write the page of one run, or of several over each other; returns its file.

    That is view.html in the run's directory, of several results/view.html, unless `out` names one.
    """
    if not runs:
        raise UsageError("view() is of runs", "Give it one, or several: view(run)")
    return page.view([run.directory for run in runs], _path(out))


@dataclass(frozen=True)
class StudyResult:
    """A finished study: its directory and tables, whose columns docs/studies.md has."""

    directory: Path
    axes: tuple[str, ...]

    @property
    def runs(self) -> pl.DataFrame:
        """A row for each run: axes, replica, seed, metrics."""
        return self._table(targets.RUNS)

    @property
    def summary(self) -> pl.DataFrame:
        """A row for each point and metric: mean, spread and its 95 % interval."""
        return self._table(targets.SUMMARY)

    @property
    def differences(self) -> pl.DataFrame:
        """The same of paired differences. Raises SandglassError where nothing is compared."""
        return self._table(targets.DIFFERENCES)

    @property
    def claims(self) -> pl.DataFrame:
        """What was expected, and what came of it. Raises SandglassError where nothing was."""
        return self._table(targets.CLAIMS)

    @property
    def page(self) -> Path:
        """The study's page."""
        return self.directory / targets.INDEX

    def each(self) -> list[Run]:
        """The runs, in the order of `runs`, each with its values on the axes as `axes`."""
        return [
            series.load(self.directory / row["directory"], {name: row[name] for name in self.axes})
            for row in self.runs.iter_rows(named=True)
        ]

    def _table(self, name: str) -> pl.DataFrame:
        if not (self.directory / name).is_file():
            raise SandglassError(f"{self.directory} has no {name}")
        study = studies.resolved(self.directory / targets.STUDY)
        return tables.read(name, study, self.directory)


def study(
    file: Place,
    settings: Mapping[str, Any] | None = None,
    out: Place | None = None,
    *,
    cores: int | None = None,
) -> StudyResult:
    """Do a study, or what is left of it.

    Args:
        settings: keys of its experiment to change, as in `run`.
        out: its directory, by default below results/studies.
        cores: labs at once; all processors by default.

    Raises:
        SandglassError: the study cannot be done, or something in it failed.
    """
    wanted = studies.load(Path(file), _plain(settings or {}, "settings").items(), [], None)
    home = (_path(out) or conduct.home(Path(file))).absolute()
    _lab()
    if conduct.conduct(wanted, home, cores, None):
        raise SandglassError(f"the study {file} failed", f"What failed: {home}/logs")
    return load_study(home)


def load_study(directory: Place) -> StudyResult:
    """The finished study in a directory. Raises SandglassError where there is none."""
    home = Path(directory)
    if not manifest.finished(home):
        raise SandglassError(f"{home} has no finished study", "the study has to be done first")
    return StudyResult(home, tuple(studies.resolved(home / targets.STUDY).axes))


def _experiment(
    given: Place | Mapping[str, Any], settings: Mapping[str, Any], seed: int | None
) -> tuple[Experiment, Path | None]:
    """The experiment with its changes, and its file."""
    changes = _plain(settings, "settings")
    seed = _plain(seed, "seed")
    if not isinstance(given, Mapping):
        return reading.load(Path(given), changes.items(), seed), Path(given)
    data = _plain(given, "experiment")
    for key, value in changes.items():
        document.put(data, key, value, f"settings: {key}")
    if seed is not None:
        data["seed"] = seed
    return reading.parse(data, Path("experiment")), None


def _plain(value: Any, here: str) -> Any:
    """A copy of what a file could hold. Raises UsageError, which says where something else is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, f"{here}[{number}]") for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        hint = "Write text, a number, a list or a mapping: str(path), array.tolist()"
        raise UsageError(f"{here}: a {kind} is nothing that an experiment file can hold", hint)
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"{here}: the key {key!r} is not text: put it in quotes")
    return {key: _plain(each, f"{here}: {key}") for key, each in value.items()}


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)


def _lab(wanted: str | None = None) -> None:
    try:
        setup_lab.lab(wanted)
    except SystemExit:  # what failed has said so
        raise UsageError("the lab could not be built", "Try: ./sandglass setup") from None
