"""One check, in a process of its own: python -m sandglass.grading.worker, told in JSON.

Who started it ends it when it takes too long. It writes what came of the check to a file that no
lab sees. What it says itself is of no account: a lab's programs say it.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandglass.cage import system_calls
from sandglass.errors import SandglassError
from sandglass.grading import sheet as sheets
from sandglass.grading.outcome import Outcome, failed
from sandglass.grading.sheet import AnyCheck, Sheet
from sandglass.terminal import program


def done(check: AnyCheck, sheet: Sheet, submission: Path, home: Path) -> Outcome:
    """The outcome of a check. What fails in it is the submission's failure."""
    try:
        return _judge(check)(check, sheet, submission, home)
    except SandglassError as error:
        # where a lab was when time stood still is not the same each time
        stood_still = "and was ended" in error.message
        return failed(error.message, *([] if stood_still else [error.hint or ""]))


def _judge(check: AnyCheck) -> Callable[..., Outcome]:
    # each takes modules that the others do not
    if check.kind in ("output", "pings"):
        from sandglass.grading import networks  # noqa: PLC0415

        return networks.output if check.kind == "output" else networks.pings
    from sandglass.grading import measured  # noqa: PLC0415

    found: dict[str, Callable[..., Outcome]] = {
        "study": measured.study,
        "metric": measured.metric,
        "qdisc": measured.qdisc,
    }
    return found[check.kind]


def main() -> None:
    """Do the check that standard input names; end, with the lab, when who asked has ended."""
    system_calls.prctl(system_calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    told: dict[str, Any] = json.load(sys.stdin)
    if os.getppid() != told["parent"]:  # it died before it could be told
        return
    sheet = sheets.read(Path(told["sheet"]))
    (check,) = (each for each in sheet.checks if each.id == told["check"])
    outcome = done(check, sheet, Path(told["submission"]), Path(told["home"]))
    Path(told["result"]).write_text(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    program(main)
