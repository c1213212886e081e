"""The targets of `sandglass kselftest`: groups of Linux's own tests, and what is in each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandglass.errors import UsageError, nearest
from sandglass.selftests.tools import Built

TIMEOUT_S = 45
"""What a test may take in virtual time where its folder does not say: as of the kernel's runner."""
SETTINGS = "settings"
RUNNER = "ksft_runner.sh"
"""What runs the tests of a folder that are no programs."""
TDC = "tc-testing"


@dataclass(frozen=True)
class Target:
    """A group of tests, below tools/testing/selftests."""

    name: str
    folder: str
    about: str
    option: str = ""
    """Of the kernel's configuration, which it needs, without CONFIG_."""
    packetdrill: bool = False
    """Whether it needs the program."""


TARGETS = (
    Target("packetdrill", "net/packetdrill", "TCP, packet by packet", packetdrill=True),
    Target("tc-testing", TDC, "tdc: qdiscs, filters and actions by tc"),
    Target("net", "net", "sockets, routes, tunnels: what needs no hardware"),
    Target("mptcp", "net/mptcp", "Multipath TCP", option="MPTCP"),
    Target("kunit", "", "the kernel's unit tests", option="KUNIT"),
)


FOLDERS = [target.folder for target in TARGETS if target.folder]
"""What is built, whichever target is asked for."""


@dataclass(frozen=True)
class Test:
    """One program of a target's."""

    target: Target
    name: str
    command: tuple[str, ...]
    timeout_s: int
    """Of virtual time."""
    unbuilt: str = ""
    """Why its program is not there."""

    def __str__(self) -> str:
        return f"{self.target.name}:{self.name}"


def lacks(target: Target, config: Path) -> str | None:
    """Why a kernel has nothing of a target; None where it has.

    Args:
        config: the kernel's configuration.
    """
    if target.option and f"CONFIG_{target.option}=y\n" not in config.read_text():
        return f"the lab's kernel is built without CONFIG_{target.option}"
    return None


def tests(target: Target, built: Built) -> list[Test]:
    """The tests of a target, in the order of their names."""
    folder = built.tree / target.folder
    timeout_s = _timeout_s(folder / SETTINGS)
    if target.folder == TDC:
        found = sorted(folder.glob("tc-tests/**/*.json"))
        names = [str(path.relative_to(folder / "tc-tests")) for path in found]
        return [
            Test(target, name, ("python3", "tdc.py", "-f", f"tc-tests/{name}"), timeout_s)
            for name in names
        ]
    return [
        Test(target, name, tuple(_command(folder / name)), timeout_s, _unbuilt(target, name, built))
        for name in built.programs.get(target.folder, [])
    ]


def _unbuilt(target: Target, name: str, built: Built) -> str:
    if (built.tree / target.folder / name).exists():
        return ""
    return built.missing.get(f"{target.folder}/{name}", "it cannot be built here")


def _command(path: Path) -> Iterator[str]:
    """How the kernel's own runner starts a test (kselftest/runner.sh)."""
    if path.suffix == ".pkt":
        yield f"./{RUNNER}"
    elif path.is_file() and not path.stat().st_mode & 0o100:
        first = path.read_bytes().partition(b"\n")[0]
        if first.startswith(b"#!"):
            yield from first[2:].decode().split()
    yield f"./{path.name}"


def _timeout_s(settings: Path) -> int:
    said = settings.read_text() if settings.is_file() else ""
    found = re.search(r"^timeout=(\d+)", said, re.M)
    return int(found[1]) if found else TIMEOUT_S


def chosen(words: list[str]) -> dict[Target, list[str]]:
    """What somebody asks for by TARGET and TARGET:TEST: names of tests by target, none for all.

    Raises UsageError for a target that there is not.
    """
    there = {target.name: target for target in TARGETS}
    found: dict[Target, list[str]] = {}
    for word in words or there:
        name, _, test = word.partition(":")
        if name not in there:
            raise UsageError(
                f"{name} is no target{nearest(name, there)}",
                "`./sandglass kselftest --list` names them.",
            )
        found.setdefault(there[name], []).append(test)
    return {target: [] if "" in tests else tests for target, tests in found.items()}


def among(target: Target, wanted: list[str], there: list[Test]) -> list[Test]:
    """The tests of a target that somebody asks for; raises UsageError for one that there is not."""
    names = [test.name for test in there]
    for name in wanted:
        if name not in names:
            raise UsageError(
                f"{target.name} has no test {name}{nearest(name, names)}",
                f"`./sandglass kselftest --list {target.name}` names them.",
            )
    return [test for test in there if not wanted or test.name in wanted]
