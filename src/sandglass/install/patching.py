"""Our patches on a kernel's tree that is of no series of ours: which fit, and what is gone.

Each patch is tried as the nearest series has it, then as the others do. kernel/guarantees.toml says
what each is for.

Nothing here needs more than the standard library, as in builds.py; with Python 3.10, tomli.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GUARANTEES = builds.ROOT / "kernel" / "guarantees.toml"
PATCHES = builds.ROOT / "kernel" / "patches"
VARIANTS = builds.ROOT / "kernel" / "variants"
"""Patches as a release wants them that has no lab of its own; the others are those of patches/."""
MINORS = 20
"""So many releases a major one has had: 7.0 came after 6.19."""
FUZZ = 2
"""Lines at a hunk's ends that may be others, where it fits nowhere exactly; patch's own measure."""


@dataclass(frozen=True)
class Guarantee:
    """What a patch is for."""

    keeps: str
    """What is gone without it."""
    needed: str = ""
    """Why there is no lab without it; empty: there is one."""


@dataclass(frozen=True)
class Fit:
    """What became of a patch."""

    name: str
    """Without .patch, as each series has it."""
    how: str
    """`fits`, `inexact`, `there` where the tree has it already, or `lost`."""
    series: str = ""
    """The one whose patch it is."""
    files: tuple[str, ...] = ()
    """Those that a lost one did not fit."""

    @property
    def guarantee(self) -> Guarantee:
        return guarantees()[self.name]


def guarantees() -> dict[str, Guarantee]:
    """What each of our patches is for, by its name without .patch."""
    table = tomllib.loads(GUARANTEES.read_text())
    return {name: Guarantee(**row) for name, row in table.items()}


def nearest(series: str, *places: Path) -> list[Path]:
    """The folders with patches of a series, that first which is the fewest releases from one."""

    def place(kernel: str) -> int:
        major, minor = builds.age(kernel)
        return MINORS * major + minor

    folders = [folder for each in places for folder in sorted(each.iterdir())]
    return sorted(folders, key=lambda folder: abs(place(folder.name) - place(series)))


def patches(series: str) -> dict[str, list[Path]]:
    """The patches that a tree of a series may get, by name: each as it is tried, in their order."""
    found: dict[str, list[Path]] = {}
    for folder in nearest(series, VARIANTS, PATCHES):
        for path in sorted(folder.glob("*.patch")):
            found.setdefault(path.stem, []).append(path)
    return dict(sorted(found.items()))


def options(series: str) -> str:
    """What the configuration of a tree of a series asks for besides that of a lab."""
    first = nearest(series, VARIANTS, PATCHES)[0] / "lab.config"
    return first.read_text() if first.is_file() else ""


def touched(paths: Iterable[Path]) -> set[str]:
    """The files of a tree that patches change or make."""
    text = "".join(path.read_text() for path in paths)
    return set(re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", text, re.M))


def apply(files: Path, series: str) -> list[Fit]:
    """Patch the files of a tree below a directory, as far as patches fit.

    What only another series has is tried, too, and not missed: the nearest does without.
    """
    expected = {path.stem for path in nearest(series, PATCHES)[0].glob("*.patch")}
    found = [_fit(files, name, tried) for name, tried in patches(series).items()]
    return [each for each in found if each.how != "lost" or each.name in expected]


def _fit(files: Path, name: str, tried: Sequence[Path]) -> Fit:
    for how, options in (
        ("fits", ("-F0",)),
        ("there", ("-F0", "-R")),
        ("inexact", (f"-F{FUZZ}",)),
    ):
        for path in tried:
            if _patch(files, path, *options, "--dry-run").returncode == 0:
                if how != "there":
                    _patch(files, path, *options).check_returncode()
                return Fit(name, how, path.parent.name)
    said = _patch(files, tried[0], "-F0", "--dry-run").stdout
    return Fit(name, "lost", tried[0].parent.name, tuple(_failed(said, tried[0])))


def _patch(files: Path, path: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    # Nobody is asked, and no file is left beside.
    command = [
        "patch",
        "-p1",
        "-f",
        "--no-backup-if-mismatch",
        "-r",
        "-",
        *options,
        "-i",
        str(path),
    ]
    return subprocess.run(
        command,
        cwd=files,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _failed(said: str, path: Path) -> list[str]:
    """The files that a patch did not fit, by patch's own words; all of it where none is named."""
    found = []
    for part in re.split(r"^(?:checking|patching) file ", said, flags=re.M)[1:]:
        if "FAILED" in part:
            found.append(part.split("\n", 1)[0].strip("'"))
    found += re.findall(r"^\|\+\+\+ b/(\S+)", said, re.M)  # a file that is not there
    return list(dict.fromkeys(found)) or sorted(touched([path]))


def check(fits: Iterable[Fit], version: str) -> None:
    """Raise SandglassError where a patch is lost without which there is no lab."""
    lines = [
        f"{each.name}.patch does not fit ({', '.join(each.files)}): {each.guarantee.needed}"
        for each in fits
        if each.how == "lost" and each.guarantee.needed
    ]
    if lines:
        raise SandglassError(
            f"Linux {version} can be no lab: {len(lines)} patches that it needs do not fit",
            "\n".join([*lines, "Put ones that do into kernel/variants (docs/kernel-trees.md)."]),
        )


def lost(fits: Iterable[Fit]) -> list[str]:
    """The guarantees that are gone."""
    return [each.guarantee.keeps for each in fits if each.how == "lost"]


def told(fits: Sequence[Fit]) -> list[str]:
    """What a build says of them, a line each."""
    usual = max({each.series for each in fits}, key=[each.series for each in fits].count)
    counts = {how: sum(each.how == how for each in fits) for how in ("fits", "inexact", "there")}
    first = f"patches of {usual}: {counts['fits'] + counts['inexact']} of {len(fits)} fit"
    lines = [first + (f", {counts['there']} are there already" if counts["there"] else "")]
    for each in fits:
        if each.how in ("fits", "inexact") and each.series != usual:
            lines.append(f"{each.name}: as for {each.series}")
        if each.how == "inexact":
            lines.append(f"{each.name}: fits, but for lines beside it that are others")
        if each.how == "lost":
            lines.append(f"{each.name} does not fit ({', '.join(each.files)})")
            needed = "no lab is without it" if each.guarantee.needed else "so this is gone"
            lines.append(f"  {needed}: {each.guarantee.needed or each.guarantee.keeps}")
    return lines
