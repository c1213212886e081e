"""Programs that workloads start: are they there, and in which version?"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


INSTALL = "In the lab: name its Debian package in the experiment, packages: [NAME]. Else: install."
"""What to do about a program that is missing."""


def require(programs: Iterable[str], workload: str) -> None:
    """Are the programs of a workload there?

    Raises:
        RunError: naming the first that is not.
    """
    import shutil

    for program in programs:
        if not shutil.which(program):
            raise RunError(
                f"{program} is not installed, {workload} needs it",
                INSTALL,
            )


def versions(programs: Mapping[str, str | None]) -> dict[str, str]:
    """Versions of programs, by what makes each name its own; None: nothing does."""
    named = {}
    for program, option in sorted(programs.items()):
        if option is None:
            continue
        done = subprocess.run(
            [program, option],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        found = re.findall(r"\d+(?:\.\d+)+|\b\d{8}\b", done.stdout)
        if found:
            named[program] = found[0]
    return named
