"""Checks of programs in the lab: what one says, and which hosts of a network reach each other.

The student's program runs sealed off from what looks at it (probe.py). Each seed has a lab and a
copy of the submission of its own.
"""

import json
import re
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import units
from sandglass.grading import probe
from sandglass.grading.outcome import Outcome, failed
from sandglass.grading.sheet import SECOND_NS, Network, OutputCheck, PingsCheck, Sheet
from sandglass.lab import lab
from sandglass.run import script

PROGRAM = "src/sandglass/grading/probe.py"
MEMORY_MB = 1024
SEED = 1
"""Where nobody says another one."""
MOST_SHOWN = 20
"""Lines of what a program has said."""
ENDED = (
    "the program ended before its network could be looked at",
    "It has to leave the network at Mininet's prompt: CLI(net).",
)


def output(check: OutputCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """Run a program, and look at what it says."""
    seeds = sheet.seeds_of(check)
    files = [sheet.beside(name) for name in check.files]
    wrong: dict[int, str] = {}
    shown: list[str] = []
    for seed in seeds or [SEED]:
        with tempfile.TemporaryDirectory(dir=home) as name:
            told = _told(check, seed, submission, Path(name), files)
        if problem := _problem(check, told):
            said = [] if seeds else _said(told)
            return failed(*problem, *said)
        for number, (right, line) in enumerate(_conditions(check, told)):
            if not right:
                wrong.setdefault(number, line)
                shown = [] if seeds else _said(told)
    of = len(list(_conditions(check, {"said": "", "status": None})))
    return Outcome(of - len(wrong), of, [*wrong.values(), *shown] or ["as it should be"])


def pings(check: PingsCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """Have the hosts of a network ping each other."""
    wrong: dict[str, str] = {}
    for seed in sheet.seeds_of(check) or [SEED]:
        with tempfile.TemporaryDirectory(dir=home) as name:
            told = _told(check, seed, submission, Path(name), [])
        if problem := _problem(check, told):
            return failed(*problem)
        for pair, routers in told["pairs"].items():
            one, other = pair.split(" ")
            wanted = check.wanted(one, other)
            if not _is_as(routers, wanted):
                found, should = _way(routers), _way(wanted)
                wrong.setdefault(pair, f"no {one} to {other}: {found}; expected: {should}")
    pairs = len(check.hosts) * (len(check.hosts) - 1)
    right = pairs - len(wrong)
    return Outcome(
        right, pairs, [f"{right} of {pairs} pairs are as they should be", *wrong.values()]
    )


def _is_as(routers: int | None, wanted: bool | int) -> bool:
    """Whether a pair does what it should."""
    if isinstance(wanted, bool):
        return (routers is not None) == wanted
    return routers == wanted


def _way(routers: bool | int | None) -> str:
    if routers is None or routers is False:
        return "does not reach it"
    if routers is True:
        return "reaches it"
    return f"reaches it through {routers} router{'s' if routers != 1 else ''}"


def _conditions(check: OutputCheck, told: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """What is asked for of the output, each with what is said where it is not so."""
    said = told["said"]
    for pattern in check.matches:
        found = re.search(pattern, said, re.MULTILINE)
        yield bool(found), f"no the output has nothing like /{pattern}/"
    lines = [line.rstrip() for line in said.splitlines()]
    for line in check.lines:
        yield line.rstrip() in lines, f"no the output has no line {line!r}"
    for pattern in check.absent:
        yield (
            not re.search(pattern, said, re.MULTILINE),
            f"no the output has something like /{pattern}/",
        )
    if check.status is not None:
        status = told["status"]
        yield status == check.status, f"no the status is {status}; expected: {check.status}"


def _problem(check: Network, told: dict[str, Any]) -> list[str]:
    """Why there is nothing to judge, if there is not."""
    match told["problem"]:
        case None:
            return []
        case "ended":
            return [*ENDED, *_said(told)]
        case "late":
            allowed = units.format_time(check.time_limit.virtual)
            what = "came to no prompt" if check.network else "did not end"
            return [f"the program {what} within {allowed} of the lab's time"]
        case "floods":
            return [f"the program said more than {probe.MOST_SAID // 10**6} MB, and was ended"]
    return [str(told["problem"])]


def _said(told: dict[str, Any]) -> list[str]:
    """The end of what a program has said, as it may be shown."""
    lines = told["said"].splitlines()
    left = len(lines) - MOST_SHOWN
    head = ["It said:" if left <= 0 else f"It said, after {left} lines:"] if lines else []
    return [*head, *(f"  {line}" for line in lines[-MOST_SHOWN:])]


def _told(
    check: OutputCheck | PingsCheck, seed: int, submission: Path, home: Path, files: list[Path]
) -> dict[str, Any]:
    """What the probe tells of a program. Raises SandglassError where the lab does not get so far.

    The submission's copy and the run's directory are below `home`.
    """
    here, directory = home / "here", home / "run"
    shutil.copytree(submission, here)
    private = directory / probe.FILES
    private.mkdir(parents=True)
    for file in files:
        shutil.copy(file, private if check.network else here)
    asked, given = None, ""
    if isinstance(check, OutputCheck):
        given = check.input
        asked = _command(check.command, private if check.network else here)
    command = _command(check.network, here) if check.network else asked
    word = secrets.token_hex(16)
    public = {"seed": seed, "here": lab.HERE, "command": command, "input": given}
    secret = {
        "word": word,
        "virtual_s": check.time_limit.virtual / SECOND_NS,
        "settle_s": check.settle / SECOND_NS,
        "network": bool(check.network),
        "hosts": check.hosts if isinstance(check, PingsCheck) else None,
        "command": asked,
        "at": check.at if isinstance(check, OutputCheck) else None,
        "input": given,
    }
    if check.network:
        public["input"] = ""
    (directory / probe.PUBLIC).write_text(json.dumps(public))
    (directory / probe.SECRET).write_text(json.dumps(secret))
    lab.execute(
        PROGRAM,
        directory,
        memory_mb=MEMORY_MB,
        seed=seed,
        clock=lab.clock(lab.SYSCALL_NS),
        prompt=False,
        here=here,
    )
    found = (directory / "console.log").read_bytes()
    _, _, line = found.rpartition(f"\n{word}".encode())
    if not line:
        raise SandglassError("the program has ended the lab")
    told: dict[str, Any] = json.loads(line.splitlines()[0])
    return told


def _command(text: str | None, here: Path) -> list[str]:
    """A command as the lab starts it. Raises UsageError for one that it would not find."""
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    if not words:
        raise UsageError("the command is empty")
    return script.found(words, here)
