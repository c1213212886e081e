"""The reference of suites: what reports said when they were last made for the record.

results/reference/suites/SUITE/ has three tables of all reports of a suite, which name each in the
column `report`: every mean with its interval, every word with what it follows from, and where each
scenario's runs come from. python -m sandglass.suites.reference REPORT... puts reports, as
`characterise` left them, in the place of those of the same names.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.results import compact, series
from sandglass.results.export.whole import write_all
from sandglass.suites import suite
from sandglass.suites.report import JSON, MEANS_CSV
from sandglass.terminal import program

REFERENCE = builds.ROOT / "results" / "reference" / "suites"
TABLES = {
    "means": ("scenario", "label", "point", "metric", "n", "mean", "low", "high"),
    "words": ("scenario", "point", "metric", "against", "margins", "p", "p_holm", "word"),
    "origins": (
        *("profile", "scenario", "kernel_release", "kernel_build", "modules", "lab_build"),
        *("commits", "seeds", "runs", "durations", "digest", "virtual_s", "wall_s"),
    ),
}
"""Their names and columns, but for `report`."""
DIGITS = 6
"""Of floats. Pages show four; of five some would be rounded twice."""
TYPES = {
    **dict.fromkeys(("label", "point", "against"), pl.String()),
    **dict.fromkeys(("mean", "low", "high", "margins", "p", "p_holm"), pl.Float64()),
}
"""Columns that a report may have nothing in, or what looks like another type."""


def read(name: str, table: str) -> pl.DataFrame:
    """One of a suite's TABLES."""
    return compact.read(_file(name, table))


def of_report(home: Path) -> tuple[str, dict[str, pl.DataFrame]]:
    """A report's suite, and what would be kept of it.

    Raises SandglassError where there is no report.
    """
    told = _told(home)
    means = pl.read_csv(home / MEANS_CSV, infer_schema_length=None)
    words = pl.DataFrame(told["words"], infer_schema_length=None)
    origins = pl.DataFrame([_origin(told, each) for each in told["scenarios"] if each["origin"]])
    found = {"means": means, "words": words, "origins": origins}
    return told["suite"]["subject"], {
        table: _short(rows, told["name"]).select("report", *TABLES[table])
        for table, rows in found.items()
    }


def renew(homes: Sequence[Path]) -> None:
    """Put reports in the place of those of the same names; all of them or none.

    Raises SandglassError where one is not there, is of another profile or lacks a scenario.
    """
    made: dict[Path, list[pl.DataFrame]] = {}
    for home in homes:
        _check(home)
        name, tables = of_report(home)
        for table, rows in tables.items():
            made.setdefault(_file(name, table), []).append(rows)
    write_all({file: compact.packed(_beside(file, pl.concat(rows))) for file, rows in made.items()})


def _beside(file: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of some reports, beside those of others that a file has, by report."""
    if file.is_file():
        others = ~pl.col("report").is_in(rows["report"].unique().to_list())
        rows = pl.concat([compact.read(file).filter(others), rows])
    return rows.sort("report", maintain_order=True)


def _file(name: str, table: str) -> Path:
    return REFERENCE / name / f"{table}.parquet"


def _told(home: Path) -> dict[str, Any]:
    if not (home / JSON).is_file():
        raise SandglassError(
            f"{home} has no {JSON}", "./sandglass characterise SUITE NAME makes a report"
        )
    found: dict[str, Any] = json.loads((home / JSON).read_text())
    return found


def _check(home: Path) -> None:
    told = _told(home)
    if told["profile"] != suite.QUICK:
        raise UsageError(f"{home} is of the profile {told['profile']}, and not {suite.QUICK}")
    there = {each["name"] for each in told["scenarios"] if each["origin"]}
    for each in suite.read(suite.SUITES / told["suite"]["subject"]).described.scenarios:
        if each.name not in there:
            raise UsageError(f"{home} lacks the scenario {each.name}", "make it without --only")


def _origin(told: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    found = scenario["origin"]
    modules = " ".join(f"{name}:{build}" for name, build in found["modules"].items())
    return {
        **found,
        "profile": told["profile"],
        "scenario": scenario["name"],
        "modules": modules,
    }


def _short(rows: pl.DataFrame, report: str) -> pl.DataFrame:
    typed = rows.cast({name: kind for name, kind in TYPES.items() if name in rows.columns})
    few = series.rounded(typed, DIGITS)
    return few.with_columns(pl.col(pl.String).fill_null(""), report=pl.lit(report))


if __name__ == "__main__":
    program(lambda: renew([Path(each) for each in sys.argv[1:]]))
