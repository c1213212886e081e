"""The files that a study leaves, and of what in the study each of them depends."""

import hashlib
import json
from pathlib import Path

from sandglass.install import builds
from sandglass.studies.study import Study

STUDY = "study.yaml"
RUNS = "runs.csv"
SUMMARY = "summary.csv"
DIFFERENCES = "differences.csv"
CLAIMS = "claims.csv"
INDEX = "index.html"

MEASURE = tuple(f"src/sandglass/{name}" for name in ("agent", "experiment", "results", "studies"))
"""The folders whose code turns runs into tables, pictures and page."""


def tables(study: Study) -> list[str]:
    """The tables, the runs' first."""
    found = [RUNS, SUMMARY]
    if study.compare:
        found.append(DIFFERENCES)
    if study.expects:
        found.append(CLAIMS)
    return found


def pictures(study: Study) -> list[str]:
    """What the study's plots are called, without what they end in."""
    return [f"plot{number}" for number in range(1, len(study.plots) + 1)]


def page(study: Study) -> list[str]:
    """The page, and the pictures in it; those of a module have names of its own."""
    return [INDEX, *(f"{name}.{kind}" for name in pictures(study) for kind in ("svg", "png"))]


def measured(study: Study) -> str:
    """What decides the table of the runs, besides the runs: the study, its module and our code.

    All else is made of this table, so that a change of our code makes all anew but the runs.
    """
    return builds.fingerprint(_code(), _of(study, "vary", "metrics", "module"))


def judged(study: Study) -> str:
    """What decides the statistics, besides the table of the runs."""
    return _of(study, "replicas", "compare", "expect")


def shown(study: Study) -> str:
    """What decides the page, besides the tables."""
    return _of(study, "title", "experiment", "vary", "metrics", "plots", "module")


def _code() -> list[Path]:
    return [
        path
        for folder in MEASURE
        for path in sorted((builds.ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".jinja")
    ]


def _of(study: Study, *keys: str) -> str:
    """A text that changes with some of a study's keys, and with its module where that counts.

    A module may import what lies beside it.
    """
    said = json.dumps({key: study.data.get(key) for key in keys}, default=str)
    found = hashlib.sha256(said.encode())
    if study.module and "module" in keys:
        for path in sorted(study.module.parent.glob("*.py")):
            found.update(f"{path.name}\n{path.read_text()}".encode())
    return found.hexdigest()
