"""The archive: everything laid out in a folder beside its place, then written in one go.

What is in it is docs/bundle.md's matter. A plain tar archive, since nearly all of it is compressed
already: any tar unpacks it, and equal content gives equal bytes whatever library compresses.
"""

import contextlib
import fcntl
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import track

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.install import archive, builds, labs
from sandglass.papers import reproduce, shelf
from sandglass.papers.bundle import code, description, subject, wheels
from sandglass.papers.bundle.subject import Subject

SUFFIX = ".tar"
SCRIPT = Path(__file__).with_name("reproduce.py")
BESIDE = ("LICENSE", "CITATION.cff")
"""What a bundle has of the checkout in its own top folder too."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    targets: Sequence[str]
    profile: str
    pythons: Sequence[str]
    records: bool


def write(wanted: Wanted, target: Path) -> None:
    """Write a bundle to the file `target`, and its checksum beside it.

    The file appears whole or not at all. Papers are reproduced where that is not up to date.

    Raises UsageError when the checkout is not at a commit, something wanted cannot be bundled, or
    there is such a file already; SandglassError when a part of it cannot be made.
    """
    if target.suffix != SUFFIX:
        raise UsageError(f"{target}: a bundle is a tar archive", f"Name it *{SUFFIX}.")
    commit = code.commit()
    for python in wanted.pythons:
        if python not in wheels.PYTHONS:
            raise UsageError(
                f"there are not all packages for Python {python}",
                f"There are for {', '.join(wheels.PYTHONS)}.",
            )
    for word in wanted.targets:
        _check(word)
    with _scratch(target) as scratch:
        subjects = [_subject(word, wanted, scratch) for word in wanted.targets]
        files = _gather(subjects, wanted, scratch)
        files |= description.write(scratch, target.stem, commit, wanted.pythons, subjects, files)
        packed = scratch / "archive"
        total = _pack(files, packed, target.stem, code.committed_s())
        sums = scratch / "sum"
        sums.write_text(f"{total}  {target.name}\n")
        sums.replace(f"{target}.sha256")
        try:
            os.link(packed, target)
        except FileExistsError:
            raise _taken(target) from None


def _taken(target: Path) -> UsageError:
    return UsageError(f"{target} is there already", "Remove it, or name another file.")


@contextlib.contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A folder beside `target` that is this process's alone, and goes when the block ends.

    What one that was killed has left there goes before.
    """
    if target.exists():
        raise _taken(target)
    folder = target.with_name(f".{target.name}.partial")
    folder.mkdir(exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise SandglassError(f"{target} is being written by another", "Wait for it.") from None
    try:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(held)


def _check(word: str) -> None:
    """Refuse what is neither a run nor a paper, before an hour goes into one named before it."""
    if (Path(word) / "run.json").is_file():
        return
    name = reproduce.named(word)
    if shelf.plain(name.partition("/")[0]) not in shelf.papers():
        raise UsageError(
            f"{word} is neither a finished run nor a paper{nearest(word, shelf.papers())}",
            "A run is a directory with a run.json; `./sandglass list papers` shows the papers.",
        )
    reproduce.targets(name)


def _subject(word: str, wanted: Wanted, scratch: Path) -> Subject:
    """What a word of the command line names: a run's directory, else a paper or a figure."""
    if (Path(word) / "run.json").is_file():
        return subject.of_run(Path(word), scratch, wanted.records)
    name = reproduce.named(word)
    subject.reproduced(name, wanted.profile)
    return subject.of_paper(name, wanted.profile, wanted.records)


def _gather(subjects: list[Subject], wanted: Wanted, scratch: Path) -> dict[str, Path]:
    """What a bundle is made of, by its place in it, but for what describes it."""
    names = [each.name for each in subjects]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"{', '.join(sorted(twice))} is named twice", "Rename one of the runs.")
    files: dict[str, Path] = {}
    for each in subjects:
        files |= each.files
    for path in files.values():
        if path.is_symlink() or not path.is_file():  # a lab may have left a link to anywhere
            raise UsageError(f"{path} is no file, and a bundle holds files", "Remove it.")
    for directory in builds.module_directories()[1:]:
        files |= subject.tree(directory, "kmods")
    code.write(scratch / "code")
    labs.export(builds.lab(), scratch / description.LAB)
    (scratch / "wheels").mkdir()
    wheels.fetch(wanted.pythons, scratch / "wheels")
    for folder in ("code", "wheels"):
        files |= {
            str(path.relative_to(scratch)): path
            for path in (scratch / folder).rglob("*")
            if path.is_file()
        }
    files |= {name: scratch / "code" / name for name in BESIDE}
    return files | {description.LAB: scratch / description.LAB, SCRIPT.stem: SCRIPT}


def _pack(files: Mapping[str, Path], target: Path, top: str, mtime_s: int) -> str:
    """Write a tar archive, the same for the same files; returns its checksum."""
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in track(sorted(files), "writing", console=labs.TERMINAL, transient=True):
            status = files[name].stat()
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mtime = status.st_size, mtime_s
            member.mode = 0o755 if status.st_mode & 0o100 or name == SCRIPT.stem else 0o644
            with files[name].open("rb") as content:
                tar.addfile(member, content)
    with target.open("rb") as file:
        os.fsync(file.fileno())
        return archive.checksum(file)
