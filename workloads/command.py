"""Any program, run on one host: `workload: command` with its words in `argv`.

A program of the lab, or with ./ before it one that lies beside the experiment's file; `files` are
what it needs besides. It runs where these lie, as they lie there.

In a word, and in a variable of its environment, {to} stands for the other host's address, {from}
for the own one, {NAME} for that of any host, {out} for the directory that it may leave files in;
other braces stay as they are. What the program says is kept as command-ID.txt; neither that nor
another file that it writes may become larger than 256 MiB. What it leaves in {out}, 128 MiB at
most, is kept in command-ID. It is stopped at the flow's end, without that being a failure; ended
before, its status counts unless `any_status` says otherwise.

A server is there before the others start, and until they have ended.
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

from sandglass.agent import kernel, own_files, programs
from sandglass.agent.declare import (
    ARGV,
    FILES,
    FLAG,
    SERIES,
    SERVER,
    TEXT,
    WORDS,
    Column,
    Option,
)
from sandglass.agent.failure import RunError
from sandglass.agent.plan import end_ns
from sandglass.agent.series import Lines, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from sandglass.agent.clock import Clock
    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

SECOND_NS = 1_000_000_000
GRACE_S = 1.0
LARGEST_FILE = 256 << 20  # bytes
LAST_WORDS = 3  # lines of a program that failed
PIECE = 1 << 16
ENDED_EARLY = "server ended"
"""Why a server is unfinished that did not wait for the others."""
IPV6 = True
OPTIONS = {
    "argv": Option(
        ARGV,
        "The program and its arguments: a program of the lab, or one beside the experiment's file, "
        "./client. {to} is the other host's address, {out} the directory to leave files in.",
        examples=(["iperf", "-s"], ["iperf", "-c", "{to}", "-t", "5"], ["./client", "{to}"]),
    ),
    "files": Option(
        FILES,
        "Files and directories beside the experiment's file that the program needs: libraries, "
        "modules, data. It finds them by the same paths, and cannot change them.",
        [],
        examples=(["lib", "settings.json"],),
    ),
    "role": Option(
        TEXT,
        "server: it is there before the other flows start, and until they have ended.",
        None,
        examples=(SERVER,),
    ),
    "series": Option(
        SERIES,
        "What of its lines become numbers over time, by names: those of a pattern, of lines of "
        "JSON, or of iperf3's intervals.",
        {},
        examples=(
            {"window": {"pattern": r"cwnd=(?P<cwnd>\d+)"}},
            {"stats": {"json": ["t", "cwnd", "rtt.smoothed"]}},
            {"rate": {"iperf3": ["bits_per_second", "retransmits"]}},
        ),
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
LEAVES = LEAVES_WITH = "series"
TABLES = {
    "series": {
        "time_ns": Column(
            "Int64", "ns", "the line's `t`, or when the line was written if it has none"
        ),
        "series": Column("String", "", "name of the series"),
        "name": Column("String", "", "name of the number: the pattern's group, or the key"),
        "value": Column("Float64", "", "the number"),
    }
}


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """A role that there is."""
    if options["role"] not in (None, SERVER):
        yield "role", f"there is no role {options['role']}: write {SERVER}, or leave it out"


def outlasts(flow: Flow) -> bool:
    """Whether it ends when all the others have."""
    return bool(flow["options"]["role"] == SERVER)


def check(flow: Flow, testbed: Testbed) -> None:
    """Is the program there?

    Raises:
        RunError: it is not.
    """
    words = named(flow["options"]["argv"], flow, testbed)
    if not is_own(words[0]):
        programs.require(words[:1], "this flow")
    own_files.make(flow["id"])


def is_own(word: str) -> bool:
    """Whether a word names a file of the user's own."""
    return word.startswith(("./", "../"))


def named(words: Iterable[str], flow: Flow, testbed: Testbed) -> list[str]:
    """Words with addresses for names, of the flow's family."""
    network = testbed.network
    hosts = {name: network.address(name, flow["family"]) for name in network.access}
    known = {"out": own_files.place(flow["id"])} | hosts
    known |= {"from": hosts[flow["src"]], "to": hosts[flow["dst"]]}

    def put(found: re.Match[str]) -> str:
        return known.get(found[1], found[0])

    return [re.sub(r"\{(\w+)\}", put, word) for word in words]


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run the program; returns its result.

    Keys: start_ns, end_ns, bytes (None), output, status, doubts; opens, of a server, which opens no
    connection.
    """
    options, output = flow["options"], f"command-{flow['id']}.txt"
    words = named(options["argv"], flow, testbed)
    start_ns = flow["start_ns"]
    path = os.path.join(testbed.directory, output)
    if outlasts(flow):
        start_ns = testbed.sleep_until_served(flow)
    else:
        testbed.sleep_until_start(flow)
    series = Series(options["series"], start_ns)
    with open(path, "wb") as said:
        process, reader = started(words, flow, testbed, said, series)
        # Not by wait(), which looks every 50 ms.
        watched = os.pidfd_open(process.pid)
        if outlasts(flow):
            over = testbed.over[flow["id"]]
            stopped = watched not in select.select([watched, over], [], [])[0]
            ended_ns = testbed.clock.now_ns()
        else:
            lasts_s = (end_ns(flow) - flow["start_ns"]) / SECOND_NS
            stopped = not select.select([watched], [], [], lasts_s)[0]
            ended_ns = end_ns(flow) if stopped else testbed.clock.now_ns()
        os.close(watched)
        stop(process)  # and what it has started
        if reader:
            reader.end()
    if os.path.getsize(path) >= LARGEST_FILE:
        raise RunError(
            f"{words[0]} has said {LARGEST_FILE >> 20} MiB, which is all that is kept",
            "Have it say less, or send that to /dev/null: sh -c 'program >/dev/null'.",
        )
    doubts = own_files.keep(flow["id"], os.path.join(testbed.directory, f"command-{flow['id']}"))
    if not stopped and process.returncode and not options["any_status"]:
        raise failed(words[0], process.returncode, ended_ns, flow, path)
    if options["series"]:
        series.take_whole(path)
        series.write(os.path.join(testbed.directory, f"{LEAVES}-{flow['id']}.csv"))
        doubts += [f"has no line of the series {name}" for name in series.silent]
    early = outlasts(flow) and not stopped
    return {
        "start_ns": start_ns,
        "end_ns": ended_ns,
        "bytes": None,
        "output": output,
        "status": None if stopped else process.returncode,
        **({"unfinished": ENDED_EARLY} if early else {}),
        **({"opens": False} if outlasts(flow) else {}),
        **({"doubts": doubts} if doubts else {}),
    }


def failed(program: str, status: int, ended_ns: int, flow: Flow, path: str) -> RunError:
    """What is said of a program that ended with another status than 0, with its last words."""
    with open(path, errors="replace") as said:
        last = " ".join(said.read().split("\n")[-LAST_WORDS - 1 :]).strip()
    early = ""
    if outlasts(flow):
        early = f" at {ended_ns / SECOND_NS:.3f} s, before the flows that it serves"
    return RunError(
        f"{program} ended with status {status}{early}: {last}",
        f"Its whole output is in {os.path.basename(path)}. Write any_status: true if that is all "
        "right.",
    )


def started(
    words: list[str], flow: Flow, testbed: Testbed, said: IO[bytes], series: Series
) -> tuple[subprocess.Popen[bytes], Reader | None]:
    """The program at work, and who reads what it says, where series are read of that."""
    options = flow["options"]
    environment = {**os.environ, "HOME": "/tmp", "SANDGLASS_OUT": own_files.place(flow["id"])}
    if options["series"]:
        environment["PYTHONUNBUFFERED"] = "1"  # else a line has the time of some later one
    for variable, text in options["environment"].items():
        environment[variable] = named([text], flow, testbed)[0]
    own = options["files"] or any(map(is_own, options["argv"]))
    with kernel.namespace(flow["src"]), files_limited():
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if options["series"] else said,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=own_files.here(testbed.plan["own_files"]) if own else "/tmp",
            start_new_session=True,
        )
    if not process.stdout:
        return process, None
    reader = Reader(process, said, series, testbed.clock)
    reader.start()
    return process, reader


class Reader(threading.Thread):
    """Keeps what a program says, and reads series of its lines."""

    def __init__(
        self, process: subprocess.Popen[bytes], said: IO[bytes], series: Series, clock: Clock
    ) -> None:
        super().__init__(daemon=True)
        self.process, self.said, self.series, self.clock = process, said, series, clock
        self._halt = os.eventfd(0)

    def end(self) -> None:
        """Read what is left; no longer, if somebody still could say something."""
        os.eventfd_write(self._halt, 1)
        self.join()
        os.close(self._halt)

    def run(self) -> None:
        assert self.process.stdout
        spoken = self.process.stdout.fileno()
        lines, left = Lines(), LARGEST_FILE
        while left > 0:
            if self._halt in select.select([spoken, self._halt], [], [])[0]:
                os.set_blocking(spoken, False)
            try:
                piece = os.read(spoken, PIECE)
            except BlockingIOError:
                break
            if not piece:
                break
            written_ns = self.clock.now_ns()
            self.said.write(piece[:left])
            left -= len(piece)
            for line in lines.take(piece):
                self.series.take(line, written_ns)
        for line in lines.end():
            self.series.take(line, self.clock.now_ns())
        if left <= 0:
            stop(self.process)
        self.process.stdout.close()


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
