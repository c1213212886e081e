"""What `sandglass kselftest` does: which tests of which source, in which lab, and what is told."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from sandglass.install import builds
from sandglass.selftests import known, report, running, source, targets, tools
from sandglass.selftests.targets import Target, Test
from sandglass.terminal import complain, harmless, put


@dataclass(frozen=True)
class Session:
    """Tests that are built, and what they run in."""

    tests: list[Test]
    left_out: Mapping[str, str]
    """Why there is nothing of a target, by its name."""
    setting: running.Setting
    listed: known.Known
    about: Mapping[str, str]
    """What is told at the beginning."""


def listing() -> list[tuple[str, str]]:
    """Each target, with what it is, or why the lab's kernel has nothing of it."""
    config = _config(builds.lab_kernel())
    return [
        (target.name, f"{target.about}{_but(targets.lacks(target, config))}")
        for target in targets.TARGETS
    ]


def _but(lacking: str | None) -> str:
    return f" (none: {lacking})" if lacking else ""


def _config(kernel: builds.LabKernel) -> Path:
    return kernel.linux.parent / "config"


def opened(
    words: list[str],
    *,
    tree: Path | None,
    packetdrill: Path | None,
    list_file: Path | None,
    syscall_ns: int,
    seed: int,
    memory_mb: int,
) -> Session:
    """The tests that somebody asks for, built for today's lab.

    Raises UsageError for a target or a test that there is not, SandglassError when they cannot be
    built.
    """
    wanted = targets.chosen(words)
    listed = known.read(builds.series(builds.chosen_kernel()), list_file or known.FILE)
    kernel = builds.lab_kernel()
    program = None
    if packetdrill or any(target.packetdrill for target in wanted):
        program = tools.packetdrill(packetdrill, kernel.root)
    left_out = {
        target.name: why
        for target in wanted
        if (why := targets.lacks(target, _config(kernel)) or _no_program(target, program))
    }
    there = [target for target in wanted if target.name not in left_out]
    tests: list[Test] = []
    about = {"lab": f"{kernel.lab}, Linux {kernel.release}"}
    root = Path()
    if there:
        origin = source.of_tree(tree) if tree else source.of_lab(kernel)
        built = tools.built(origin, targets.FOLDERS, kernel.root)
        root = built.tree
        about["tests"] = origin.name
        for target in there:
            every = targets.tests(target, built, kernel.root)
            chosen = targets.among(target, wanted[target], every)
            tests += chosen if wanted[target] else [_unless_slow(test, listed) for test in chosen]
    if program:
        about["packetdrill"] = program.name.partition("-")[0]
    about["a system call"] = f"{syscall_ns} ns"
    about |= {name: f"left out: {why}" for name, why in left_out.items()}
    setting = running.Setting(root, program, syscall_ns, seed, memory_mb)
    return Session(tests, left_out, setting, listed, about)


def _unless_slow(test: Test, listed: known.Known) -> Test:
    """A test that nobody has named: a slow one does not run."""
    entry = listed.entry(test)
    if entry is None or entry.verdict != "slow":
        return test
    return replace(test, lacks=f"{entry.why}; it runs if it is named")


def _no_program(target: Target, program: Path | None) -> str | None:
    if target.packetdrill and program is None:
        return "there is no packetdrill yet: name its source, --packetdrill DIR"
    return None


def run(session: Session, repeat: int, json_file: Path | None) -> bool:
    """Run all tests and tell of them; returns whether none failed that the list does not have."""
    say(*report.head(len(session.tests), session.about))
    found: list[report.Told] = []
    terminal = Console(stderr=True)
    with Progress(console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        bar = progress.add_task("tests", total=len(session.tests))
        for number, result in enumerate(running.run(session.tests, session.setting, repeat), 1):
            found.append(report.told(result, session.listed))
            say(*report.points(number, found[-1]))
            progress.advance(bar)
    if json_file:
        document = report.as_json(session.about, found)
        json_file.write_text(json.dumps(document, indent=1) + "\n")
    put(report.table(found), stderr=True)
    for remark in report.remarks(found):
        complain(remark)
    return not any(each.failed for each in found)


def say(*lines: str) -> None:
    """Write lines to standard output as they are: programs read them."""
    for line in lines:
        sys.stdout.write(harmless(line) + "\n")
    sys.stdout.flush()
