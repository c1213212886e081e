"""Any program of the lab, run on one host: `workload: command` with its words in `argv`.

In a word {to} stands for the other host's address, {from} for the own one, {NAME} for that of any
host; other braces stay as they are. What the program says is kept as command-ID.txt; neither that
nor another file that it writes may become larger than 256 MiB. It is stopped at the flow's end,
without that being a failure; ended before, its status counts unless `any_status` says otherwise.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from sandglass.agent import kernel, programs
from sandglass.agent.declare import FLAG, TEXTS, WORDS, Column, Option
from sandglass.agent.failure import RunError
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent.plan import Flow, Result
    from sandglass.agent.testbed import Testbed

SECOND_NS = 1_000_000_000
GRACE_S = 1.0
LARGEST_FILE = 256 << 20  # bytes
LAST_WORDS = 3  # lines of a program that failed
IPV6 = True
OPTIONS = {
    "argv": Option(
        TEXTS,
        "The program and its arguments; {to} is the other host's address.",
        examples=(["iperf", "-s"], ["iperf", "-c", "{to}", "-t", "5"]),
    ),
    "environment": Option(
        WORDS, "Variables of its environment.", {}, examples=({"LANG": "C.UTF-8"},)
    ),
    "any_status": Option(FLAG, "Whether it may end with a status other than 0.", False, (True,)),
}
COLUMNS = {
    "output": Column("String", "", "name of the file with what it said"),
    "status": Column("Int64", "", "that it ended with; null: it was stopped at the flow's end"),
}


def check(flow: Flow, testbed: Testbed) -> None:
    """Is the program there?

    Raises:
        RunError: it is not.
    """
    words = named(flow, testbed)
    programs.require(words[:1], "this flow")


def named(flow: Flow, testbed: Testbed) -> list[str]:
    """The words with addresses for names, of the flow's family."""
    network = testbed.network
    hosts = {name: network.address(name, flow["family"]) for name in network.access}
    known = hosts | {"from": hosts[flow["src"]], "to": hosts[flow["dst"]]}

    def address(found: re.Match[str]) -> str:
        return known.get(found[1], found[0])

    return [re.sub(r"\{(\w+)\}", address, word) for word in flow["options"]["argv"]]


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run the program; returns its result. Keys: start_ns, end_ns, bytes (None), output, status."""
    options, output = flow["options"], f"command-{flow['id']}.txt"
    words = named(flow, testbed)
    environment = {**os.environ, "HOME": "/tmp", **options["environment"]}
    testbed.sleep_until_start(flow)
    path = os.path.join(testbed.directory, output)
    with open(path, "wb") as said, kernel.namespace(flow["src"]), files_limited():
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/tmp",
            start_new_session=True,
        )
    # Not by wait(), which looks every 50 ms.
    watched = os.pidfd_open(process.pid)
    lasts_s = (end_ns(flow) - flow["start_ns"]) / SECOND_NS
    stopped = not select.select([watched], [], [], lasts_s)[0]
    ended_ns = end_ns(flow) if stopped else testbed.clock.now_ns()
    os.close(watched)
    stop(process)  # and what it has started
    if os.path.getsize(path) >= LARGEST_FILE:
        raise RunError(
            f"{words[0]} has said {LARGEST_FILE >> 20} MiB, which is all that is kept",
            "Have it say less, or send that to /dev/null: sh -c 'program >/dev/null'.",
        )
    if not stopped and process.returncode and not options["any_status"]:
        with open(path, errors="replace") as said_text:
            last = " ".join(said_text.read().split("\n")[-LAST_WORDS - 1 :]).strip()
        raise RunError(
            f"{words[0]} ended with status {process.returncode}: {last}",
            f"Its whole output is in {output}. Write any_status: true if that is all right.",
        )
    return {
        "start_ns": flow["start_ns"],
        "end_ns": ended_ns,
        "bytes": None,
        "output": output,
        "status": None if stopped else process.returncode,
    }


_limiting = threading.Lock()


@contextlib.contextmanager
def files_limited() -> Iterator[None]:
    """What is started meanwhile, and whatever it starts, writes no file above LARGEST_FILE.

    The kernel ends it (SIGXFSZ). The limit is the agent's own for so long, so that the program has
    it from its first instruction on.
    """
    with _limiting:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it has started: first it is asked, then it is made to."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
