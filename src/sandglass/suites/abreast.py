"""Scenarios of a suite, two at a time: while pages of one are drawn, another's labs run."""

import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

from rich.console import Console

from sandglass.studies import conduct
from sandglass.studies.study import Study
from sandglass.terminal import INTERRUPTED, program

AT_ONCE = 2
"""With more, labs would only wait for one another."""
GRACE_S = 10
"""What those that a terminal interrupted with us have to end."""


def abreast(
    scenarios: Sequence[tuple[str, Study, Path]], cores: int | None, cluster: Path | None
) -> int:
    """Conduct them; returns an exit status: INTERRUPTED, or the first that is not 0.

    One that fails does not keep the others from running.

    Args:
        scenarios: what is said when one begins, its study, and its directory.
        cores: labs at once, of all together.
        cluster: a profile of Snakemake's.
    """
    wide = cores or len(os.sched_getaffinity(0))
    lanes = AT_ONCE if cluster else min(AT_ONCE, wide)
    free = [wide // lanes + (number < wide % lanes) for number in range(lanes)]
    # Not forked: threads of Polars would be lost in the copy, with the locks that they hold.
    context = multiprocessing.get_context("spawn")
    console = Console(highlight=False, markup=False, emoji=False)
    waiting, running = list(scenarios), dict[int, tuple[SpawnProcess, int]]()
    status = 0
    try:
        while waiting or running:
            while waiting and free:
                title, study, out = waiting.pop(0)
                share = free.pop()
                console.print(title, style="bold")
                process = context.Process(target=_conduct, args=(study, out, share, cluster, lanes))
                process.start()
                running[process.sentinel] = process, share
            for ended in wait(list(running)):
                process, share = running.pop(cast(int, ended))
                process.join()
                free.append(share)
                if process.exitcode == INTERRUPTED:
                    waiting.clear()
                    status = INTERRUPTED
                status = status or abs(process.exitcode or 0)
    except KeyboardInterrupt:
        for process, _ in running.values():
            process.join(GRACE_S)  # at a terminal they have got it, too
            process.terminate()
        for process, _ in running.values():
            process.join()
        return INTERRUPTED
    return status


def _conduct(study: Study, out: Path, cores: int, cluster: Path | None, lanes: int) -> None:
    """Conduct one to the end of its process."""
    program(lambda: _ended(conduct.conduct(study, out, cores, cluster, lanes)))


def _ended(status: int) -> None:
    raise SystemExit(status)
