"""Runs, from a script or a notebook."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sandglass.errors import UsageError
from sandglass.experiment import document, kernel, reading
from sandglass.experiment.experiment import Experiment
from sandglass.install import setup_lab
from sandglass.offered import found
from sandglass.results import series
from sandglass.results.series import Run
from sandglass.results.view import page
from sandglass.run import runs as running
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
        experiment: a file, an example by its name, or what would stand in a file; paths in that
            are relative to the working directory.
        settings: keys to change, by their paths: {"bottleneck.queue.kind": "pie"}.
        seed: instead of the experiment's own.
        out: where the results go, by default below results/runs. What an earlier run left there is
            replaced.
        cached: take the run from the cache of runs, or keep it there.

    Raises:
        SandglassError: the experiment is none that can be run, or the run failed.
    """
    wanted, source = _experiment(experiment, settings or {}, seed)
    lab(kernel.wanted(wanted), wanted.packages)
    with progress(wanted.title) as advance:
        done = running.run(wanted, source, optional(out), cached=cached, progress=advance)
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
    return page.view([run.directory for run in runs], optional(out))


def _experiment(
    given: Place | Mapping[str, Any], settings: Mapping[str, Any], seed: int | None
) -> tuple[Experiment, Path | None]:
    """The experiment with its changes, and its file."""
    changes = plain(settings, "settings")
    seed = plain(seed, "seed")
    if not isinstance(given, Mapping):
        file = found(Path(given))
        return reading.load(file, changes.items(), seed), file
    data = plain(given, "experiment")
    for key, value in changes.items():
        document.put(data, key, value, f"settings: {key}")
    if seed is not None:
        data["seed"] = seed
    return reading.parse(data, Path("experiment")), None


def plain(value: Any, here: str) -> Any:
    """A copy of what a file could hold. Raises UsageError, which says where something else is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(each, f"{here}[{number}]") for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        hint = "Write text, a number, a list or a mapping: str(path), array.tolist()"
        raise UsageError(f"{here}: a {kind} is nothing that an experiment file can hold", hint)
    for key in value:
        if not isinstance(key, str):
            raise UsageError(f"{here}: the key {key!r} is not text: put it in quotes")
    return {key: plain(each, f"{here}: {key}") for key, each in value.items()}


def optional(place: Place | None) -> Path | None:
    """A place that may be left out, as a path."""
    return None if place is None else Path(place)


def lab(wanted: str | None = None, packages: Sequence[str] = ()) -> None:
    """Make sure that there is a lab of a kernel, with Debian packages besides.

    Raises UsageError when it cannot be built.
    """
    try:
        setup_lab.lab(wanted, packages)
    except SystemExit:  # what failed has said so
        raise UsageError("the lab could not be built", "Try: ./sandglass setup") from None
