"""What a bundle says of itself: README, list of what is to be repeated, RO-Crate, checksums."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from sandglass.install import archive, builds
from sandglass.papers.bundle import crate, subject, wheels
from sandglass.papers.bundle.crate import Described
from sandglass.papers.bundle.reproduce import SUMS
from sandglass.papers.bundle.subject import Part, Subject

FORMAT = 1
LAB = "sandglass.lab"
README = "README.md"
REPEATED = "bundle.json"
METADATA = "ro-crate-metadata.json"
TEMPLATE = Path(__file__).with_name("README.md.jinja")


def write(
    folder: Path,
    name: str,
    commit: str,
    pythons: Sequence[str],
    subjects: Sequence[Subject],
    files: Mapping[str, Path],
) -> dict[str, Path]:
    """Write the description of a bundle of these files into `folder`; returns it by its places."""
    about = repeated(commit, pythons, subjects)
    made = {
        README: _write(folder / README, _readme(name, subjects, about, files)),
        REPEATED: _write(folder / REPEATED, json.dumps(about, indent=1) + "\n"),
    }
    described = {path: _describe(file) for path, file in sorted({**files, **made}.items())}
    text = crate.metadata(name, _sentence(subjects), subjects, described, commit)
    made[METADATA] = _write(folder / METADATA, text)
    described[METADATA] = _describe(made[METADATA])
    sums = "".join(f"{described[path].sha256}  {path}\n" for path in sorted(described))
    return made | {SUMS: _write(folder / SUMS, sums)}


def repeated(commit: str, pythons: Sequence[str], subjects: Sequence[Subject]) -> dict[str, Any]:
    """What bundle.json holds: what `reproduce` repeats with what, in whole and in short."""
    parts = [part for each in subjects for part in each.parts]
    whole = _list([command for each in subjects for command in each.commands], parts)
    whole["tables"] += [table for each in subjects for table in each.tables]
    chosen = subject.short(parts)
    brief = _list([part.command for part in chosen], chosen)
    return {
        "format": FORMAT,
        "commit": commit,
        "lab": builds.lab().id,
        "lab_file": LAB,
        "glibc": ".".join(map(str, wheels.GLIBC)),
        "pythons": list(pythons),
        "whole": whole,
        "short": whole if chosen == parts else brief,
    }


def _list(commands: list[list[str]], parts: Iterable[Part]) -> dict[str, list[Any]]:
    return {
        "commands": commands,
        "runs": sorted({run for part in parts for run in part.runs}),
        "tables": [table for part in parts for table in part.tables],
    }


def _readme(
    name: str, subjects: Sequence[Subject], about: dict[str, Any], files: Mapping[str, Path]
) -> str:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    parts = [part for each in subjects for part in each.parts]
    took_s = dict(pair for part in parts for pair in part.runs.items())
    return environment.from_string(TEMPLATE.read_text()).render(
        about,
        name=name,
        subjects=subjects,
        chosen=subject.short(parts),
        minutes=math.ceil(sum(took_s.values()) / 60),
        memory_mb=max(each.memory_mb for each in subjects),
        folders={path.partition("/")[0] for path in files},
        of_paper=any(each.of_paper for each in subjects),
        records=any(path.endswith(".parquet") for path in files),
    )


def _sentence(subjects: Sequence[Subject]) -> str:
    """What the bundle is of."""
    return "; ".join(f"{each.name}: {each.title}" for each in subjects)


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _describe(path: Path) -> Described:
    with path.open("rb") as file:
        return Described(archive.checksum(file), path.stat().st_size)
