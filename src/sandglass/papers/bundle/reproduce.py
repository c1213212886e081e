#!/usr/bin/env -S python3 -I
"""Repeats what this bundle holds, and compares it with what is in results/.

    ./reproduce             everything
    ./reproduce --short     what takes no more than ten minutes

Every file of the bundle is checked first, by the checksums in SHA256SUMS. Then all that it takes is
set up in the folder work/ beside this script, and left there. Nothing is fetched from a network.
What is repeated is the bundle's own code, Python packages and kernel: they run as you. The
checksums tell what was damaged, and not who made it.
The exit status is 0 when all runs and tables are equal, 1 when one differs or could not be
repeated, 2 when that was not tried: the bundle is damaged, or this is not a machine for it.

What came with Python is all that this needs, since it looks at the rest. With -I no file beside it
stands in for a module of Python's.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"
CODE = WORK / "code"
SUMS = "SHA256SUMS"
LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
LAID = ("code", "experiments", "kmods", "papers")
"""What is copied before it is used, since using it changes it."""
FINISHED = WORK / "finished"
OWNER = "bundle"
"""In work/: which bundle it is of."""
CPP_LIBRARY = "libstdc++.so.6"
CHUNK = 1 << 20


def main() -> int:
    """Check, set up, repeat, compare."""
    parser = argparse.ArgumentParser(description="Repeat what this bundle holds, and compare.")
    text = "only what takes no more than ten minutes"
    parser.add_argument("--short", action="store_true", help=text)
    short = parser.parse_args().short
    say("this runs the bundle's own code, Python packages and kernel, as you and with your rights")
    say("its checksums tell what was damaged, not who made it: go on if you trust its maker")
    say("checking the files of the bundle")
    problems = list(damages())
    if problems:
        refuse("this bundle is damaged: unpack it again\n  " + "\n  ".join(problems))
    about = json.loads((HERE / "bundle.json").read_text())
    check_machine(about)
    wanted = about["short" if short else "whole"]
    lay()
    environment = surroundings(about)
    say("setting up Python and the lab in work/: a minute or two")
    call(["lab", "import", str(HERE / about["lab_file"])], environment, TMPDIR=str(WORK / "tmp"))
    failed = False
    for command in wanted["commands"]:
        say("./sandglass " + " ".join(command))
        failed |= call(command, environment, check=False) != 0
    equal = compare(wanted)
    FINISHED.touch()
    say("its pages, figures and records are in work/code/results")
    if failed or not equal:
        say("NOT everything could be repeated with equal results")
        return 1
    say("everything came out equal")
    return 0


def say(text: str) -> None:
    """A line for whoever looks on."""
    print("reproduce: " + text, flush=True)


def refuse(text: str) -> NoReturn:
    """End here, before anything was done."""
    print("reproduce: " + text, file=sys.stderr)
    raise SystemExit(2)


def damages() -> Iterator[str]:
    """What is not as the list of checksums says, in words."""
    if not is_file(HERE / SUMS):
        yield SUMS + " is missing"
        return
    *lines, rest = (HERE / SUMS).read_bytes().decode(errors="replace").split("\n")
    listed: dict[str, str] = {}
    for line in [*lines, *rest.split()]:
        found = LINE.fullmatch(line)
        if not found:
            yield SUMS + " has a line that is none of a checksum"
            return
        listed[found[2]] = found[1]
    there = set(files())
    for name in sorted(there - set(listed)):
        yield name + " is not of it"
    for name in sorted(listed):
        if name not in there:
            yield name + " is missing"
        elif checksum(HERE / name) != listed[name]:
            yield name + " was altered"


def files() -> Iterator[str]:
    """The bundle's own files, but for the list of them."""
    for folder, folders, names in os.walk(str(HERE)):
        place = Path(folder)
        if place == HERE:
            folders[:] = [name for name in folders if name != WORK.name]
            names.remove(SUMS)
        # A link to a folder is no folder of ours, and to be named too.
        names += [name for name in folders if (place / name).is_symlink()]
        yield from (str((place / name).relative_to(HERE)) for name in names)


def checksum(path: Path) -> str:
    """SHA-256 of a file's content; of a link or a pipe, none."""
    digest = hashlib.sha256()
    if not is_file(path):
        return ""
    with path.open("rb") as file:
        for block in iter(lambda: file.read(CHUNK), b""):
            digest.update(block)
    return digest.hexdigest()


def is_file(path: Path) -> bool:
    """Whether there is a file at a place itself, and not where a link leads."""
    return path.is_file() and not path.is_symlink()


def check_machine(about: dict[str, Any]) -> None:
    """Refuse a machine that the lab or the Python packages are not made for."""
    python = "{}.{}".format(*sys.version_info[:2])
    if python not in about["pythons"]:
        known = ", ".join(about["pythons"])
        refuse(
            f"this is Python {python}, and the bundle has packages for {known}\n"
            "  start it with one of these, such as: python3.11 -I reproduce"
        )
    if platform.machine() != "x86_64" or sys.platform != "linux":
        refuse("the lab is a program for Linux on x86-64, which this machine is not")
    library, version = platform.libc_ver()
    if library != "glibc" or number(version) < number(about["glibc"]):
        here = f"{library} {version}".strip() or "another one"
        refuse(f"the Python packages need glibc {about['glibc']} or later; here is {here}")
    try:
        ctypes.CDLL(CPP_LIBRARY)
    except OSError:
        refuse(f"the bundle's NumPy needs the C++ library {CPP_LIBRARY}, which is not here")
    if not re.search(r"\bavx2\b", Path("/proc/cpuinfo").read_text()):
        refuse("the bundle's Polars needs a processor with AVX2, which this one has not")


def number(version: str) -> tuple[int, ...]:
    """2.36 as (2, 36)."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def lay() -> None:
    """Copy what is to be used into work/. What an interrupted repetition has done stays there."""
    clear()
    if FINISHED.exists():
        for name in LAID:
            shutil.rmtree(str(WORK / name), ignore_errors=True)
        FINISHED.unlink()
    for name in ("home", "tmp"):
        (WORK / name).mkdir(parents=True, exist_ok=True)
    for name in LAID:
        if (HERE / name).is_dir() and not (WORK / name).exists():
            partial = WORK / (name + ".partial")
            shutil.rmtree(str(partial), ignore_errors=True)
            shutil.copytree(str(HERE / name), str(partial))
            partial.rename(WORK / name)


def clear() -> None:
    """Make work/ anew unless a repetition of this very bundle has made it.

    The checksums do not cover it, and an archive may hold a folder of that name.
    """
    mine = hashlib.sha256(identity()).hexdigest()
    if not WORK.is_symlink() and checksum(WORK / OWNER) == mine:
        return
    if os.path.lexists(str(WORK)):
        say("work/ was not made by a repetition of this bundle: it is made anew")
        try:
            shutil.rmtree(str(WORK)) if WORK.is_dir() and not WORK.is_symlink() else WORK.unlink()
        except OSError as error:
            refuse(f"remove the folder work: {error}")
    WORK.mkdir()
    (WORK / OWNER).write_bytes(identity())


def identity() -> bytes:
    """What tells this bundle from all others, and from itself unpacked again.

    Besides the checksums' own it is where the file with them lies on the disk and since when (its
    ctime), which whoever made the archive cannot know.
    """
    status = (HERE / SUMS).stat()
    return f"{checksum(HERE / SUMS)} {status.st_ino} {status.st_ctime_ns}\n".encode()


def surroundings(about: dict[str, Any]) -> dict[str, str]:
    """The variables that everything runs with: nothing of the user's, nothing outside of work/."""
    [pip] = (HERE / "wheels").glob("pip-*.whl")
    found = {
        "PATH": os.environ.get("PATH", os.defpath),
        "TERM": os.environ.get("TERM", "dumb"),
        "LANG": "C.UTF-8",
        "USER": "sandglass",
        "HOME": str(WORK / "home"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": (HERE / "wheels").as_uri(),
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INDEX": "1",
        "SANDGLASS_CACHE": str(WORK / "cache"),
        "SANDGLASS_LAB": about["lab"],
        "SANDGLASS_PIP": str(pip),
        "SANDGLASS_PYTHON": sys.executable,
        "SANDGLASS_RUNS_LIMIT": "0",
    }
    for variable, folder in (("SANDGLASS_KMODS", "kmods"), ("SANDGLASS_PAPERS", "papers")):
        if (WORK / folder).is_dir():
            found[variable] = str(WORK / folder)
    return found


def call(words: list[str], environment: dict[str, str], *, check: bool = True, **more: str) -> int:
    """Run the code's ./sandglass; returns its exit status, or ends here if that is checked."""
    command = [str(CODE / "sandglass"), *words]
    status = subprocess.call(command, cwd=str(CODE), env={**environment, **more})
    if check and status:
        say("this could not be set up; the lines above say why")
        raise SystemExit(1)
    return status


def compare(wanted: dict[str, Any]) -> bool:
    """Say of each run and table whether it is equal to the bundle's; true when all are."""
    all_equal = True
    for name in wanted["runs"]:
        then, now = (digest(place / name) for place in (HERE, CODE))
        all_equal &= told(name, then, now)
    for name in wanted["tables"]:
        then, now = (table(place / name) for place in (HERE, CODE))
        all_equal &= told(name, then, now)
    return all_equal


def told(name: str, then: str, now: str) -> bool:
    """Print one comparison."""
    if then == now:
        print(f"equal    {then[:16]}                     {name}")
    else:
        print(f"DIFFERS  {then[:16]} is now {now[:16] or 'not there':16}  {name}")
    return then == now


def digest(run: Path) -> str:
    """The digest over all that a run recorded."""
    with contextlib.suppress(OSError):
        return str(json.loads((run / "run.json").read_text())["digest"])
    return ""


def table(path: Path) -> str:
    """The checksum of a table."""
    with contextlib.suppress(OSError):
        return checksum(path)
    return ""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
