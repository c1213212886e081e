"""What a study's directory holds of results, and of which study: nothing of an earlier one."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sandglass.studies import targets
from sandglass.studies.study import Study

FILE = Path("logs/results.json")
"""In the study's directory. What has it is a study's directory."""


@dataclass(frozen=True)
class Manifest:
    """What has been written there besides the runs."""

    source: str = ""
    """The study's file."""
    measured: str = ""
    """Of what the table of the runs is (targets.measured)."""
    files: list[str] = field(default_factory=list)
    """What is there, or is to be: tables, pictures, page."""
    finished: str = ""
    """The hash of the study.yaml whose results these are; empty until they are all there."""


def read(out: Path) -> Manifest:
    """That of a directory; an empty one where no study has been."""
    path = out / FILE
    return Manifest(**json.loads(path.read_text())) if path.is_file() else Manifest()


def begin(out: Path, study: Study, text: str) -> None:
    """Write study.yaml, after the results of another one are gone.

    The table of the runs stays where it would be the same; Snakemake knows whether the runs are.
    """
    before, measured = read(out), targets.measured(study)
    now = Manifest(
        str(study.path.absolute()), measured, [*targets.tables(study), *targets.page(study)]
    )
    if before.finished == _hash(text) and before.measured == measured:
        now = replace(before, source=now.source, finished="")
    else:
        same = {targets.RUNS} if before.measured == measured else set()
        _remove(out, {*before.files, *now.files} - same)
    _write(out, now)
    (out / targets.STUDY).write_text(text)


def clear(out: Path) -> None:
    """Remove what is made of all runs, so that nothing there is of half of them."""
    _remove(out, read(out).files)


def add(out: Path, files: Iterable[str]) -> None:
    """Note files that are about to be written: those of a module have names of its own."""
    now = read(out)
    _write(out, replace(now, files=list(dict.fromkeys([*now.files, *files]))))


def finish(out: Path) -> None:
    """Note that all results of study.yaml are there."""
    _write(out, replace(read(out), finished=_hash((out / targets.STUDY).read_text())))


def finished(out: Path) -> bool:
    """Whether all results of study.yaml are there."""
    path = out / targets.STUDY
    return path.is_file() and read(out).finished == _hash(path.read_text())


def _remove(out: Path, files: Iterable[str]) -> None:
    for name in files:
        (out / name).unlink(missing_ok=True)


def _write(out: Path, manifest: Manifest) -> None:
    (out / FILE).parent.mkdir(parents=True, exist_ok=True)
    partial = (out / FILE).with_suffix(".partial")
    partial.write_text(json.dumps(asdict(manifest)) + "\n")
    partial.replace(out / FILE)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
