"""Trees of a kernel in small, and repositories of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = "VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\nEXTRAVERSION ={}\nNAME = Made Up\n"
CUBIC = "static int beta = 717;\n"
CLOCK = "one\ntwo\nticks of 256 ns\nfour\nfive\n"


def make(place: Path, version: str = "6.12.3") -> Path:
    """What of a kernel's tree our code reads, and a little more."""
    number, _, extra = version.partition("-")
    files = {
        "Makefile": MAKEFILE.format(*number.split("."), f" -{extra}" if extra else ""),
        "arch/um/Makefile": "core-y += arch/um/\n",
        "arch/um/time.c": CLOCK,
        "net/ipv4/tcp_cubic.c": CUBIC,
        "drivers/Makefile": "obj-y += gpu/ base/\n",
        "drivers/gpu/card.c": "no lab has it\n",
        ".gitignore": "*.o\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "scripts").mkdir()
    (place / "scripts" / "tool.sh").write_text("#!/bin/sh\n")
    (place / "scripts" / "tool.sh").chmod(0o755)
    (place / "scripts" / "link").symlink_to("tool.sh")
    return place


def git(place: Path, *words: str) -> str:
    """What git says, of an author that no machine has to know; without git its test is skipped."""
    if not shutil.which("git"):
        pytest.skip("there is no git here")
    who = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    command = ["git", *who, "-C", str(place), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(place: Path, subject: str = "made") -> str:
    """Commit all that lies there; returns the commit."""
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(place, "rev-parse", "HEAD")


def repository(place: Path, version: str = "6.12.3") -> Path:
    """A checkout of one commit."""
    make(place, version)
    git(place, "init", "--quiet", "--initial-branch", "main")
    commit(place)
    return place


def everything(place: Path) -> dict[str, tuple[int, int, bytes]]:
    """All that lies in a directory, git's own files included: mode, time and content."""
    return {
        str(path.relative_to(place)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(place.rglob("*"))
    }
