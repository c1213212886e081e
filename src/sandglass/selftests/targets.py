"""The targets of `sandglass kselftest`: groups of Linux's own tests, and what is in each."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandglass.errors import UsageError, nearest
from sandglass.install import builds
from sandglass.lab.lab import CODE
from sandglass.selftests.tools import Built

TIMEOUT_S = 45
"""What a test may take in virtual time where its folder does not say: as of the kernel's runner."""
SETTINGS = "settings"
RUNNER = "ksft_runner.sh"
"""What runs the tests of a folder that are no programs."""
TDC = "tc-testing"
SCAPY, SCAPY_PLUGIN = "/usr/lib/python3/dist-packages/scapy", "scapyPlugin"
TDC_BEGINS = (
    "for module in $0; do modprobe -q $module; done;"
    f' cp {CODE}/src/sandglass/selftests/tdc_config_local.py .; exec python3 tdc.py "$@"'
)
"""What tdc.sh does before it runs tdc.py, and settings of ours. $0 is the list of modules."""
NO_SCAPY = "the lab has no scapy: ./sandglass lab build --with python3-scapy"


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
    lacks: str = ""
    """What it cannot run without, in words."""

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


def tests(target: Target, built: Built, root: Path) -> list[Test]:
    """The tests of a target for a lab's root, in the order of their names."""
    folder = built.tree / target.folder
    timeout_s = _timeout_s(folder / SETTINGS)
    if target.folder == TDC:
        scapy = builds.is_in_root(root, SCAPY)
        wanted = re.findall(r"^try_modprobe (\w+)", (folder / "tdc.sh").read_text(), re.M)
        found = sorted(folder.glob("tc-tests/**/*.json"))
        begin = ("sh", "-c", TDC_BEGINS, " ".join(wanted))
        return [test for path in found for test in _tdc(target, path, begin, timeout_s, scapy)]
    return [
        Test(target, name, tuple(_command(folder / name)), timeout_s, _unbuilt(target, name, built))
        for name in built.programs.get(target.folder, [])
    ]


def _tdc(
    target: Target, path: Path, begin: tuple[str, ...], timeout_s: int, scapy: bool
) -> Iterator[Test]:
    """A file of tdc's tests; those that want scapy apart, where that is missing.

    tdc.py loads what any of its tests wants before it runs one.
    """
    name = str(path.relative_to(path.parents[1]))
    command = (*begin, "-f", f"tc-tests/{name}")
    every = json.loads(path.read_text())
    others = [each["id"] for each in every if SCAPY_PLUGIN not in str(each.get("plugins"))]
    if scapy or len(others) == len(every):
        yield Test(target, name, command, timeout_s)
        return
    if others:
        yield Test(target, name, (*command, "-e", *others), timeout_s)
    yield Test(target, f"{name}+scapy", command, timeout_s, NO_SCAPY)


def _unbuilt(target: Target, name: str, built: Built) -> str:
    if (built.tree / target.folder / name).exists():
        return ""
    return (
        f"it is not built: {built.missing.get(f'{target.folder}/{name}', 'make does not say why')}"
    )


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
