"""Studies, from a script or a notebook."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.errors import SandglassError
from sandglass.library.runs import Place, lab, optional, plain
from sandglass.offered import found
from sandglass.results import series
from sandglass.results.series import Run
from sandglass.studies import conduct, manifest, tables, targets
from sandglass.studies import reading as studies


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
    file = found(Path(file))
    wanted = studies.load(file, plain(settings or {}, "settings").items(), [], None)
    home = (optional(out) or conduct.home(file)).absolute()
    lab()
    if conduct.conduct(wanted, home, cores, None):
        raise SandglassError(f"the study {file} failed", f"What failed: {home}/logs")
    return load_study(home)


def load_study(directory: Place) -> StudyResult:
    """The finished study in a directory. Raises SandglassError where there is none."""
    home = Path(directory)
    if not manifest.finished(home):
        raise SandglassError(f"{home} has no finished study", "the study has to be done first")
    return StudyResult(home, tuple(studies.resolved(home / targets.STUDY).axes))
