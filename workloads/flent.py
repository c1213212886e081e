"""Any flent test: `workload: flent:TEST` runs it from one host against another.

flent and what it starts run on the source. On the destination, and on further `hosts` for tests
that take several, run the servers of what the test measures with: netserver, irtt, iperf, D-ITG.
The data file is kept as flent-ID.flent.gz, what flent says in console.log.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any

from sandglass.agent import ditg, kernel, programs
from sandglass.agent.declare import FLAG, TEXTS, WORDS, Argument, Column, Option
from sandglass.agent.failure import RunError, UnfinishedError
from sandglass.agent.plan import end_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandglass.agent.plan import Flow, Options, Result
    from sandglass.agent.testbed import Testbed

TCP = IPV6 = True
ARGUMENT = Argument("test", "rrul")
OPTIONS = {
    "parameters": Option(
        WORDS,
        "The test's own parameters, as flent's --test-parameter.",
        {},
        examples=({"upload_streams": 8},),
    ),
    "hosts": Option(
        TEXTS,
        "Further hosts to test against, after `to`, for tests such as rtt_fair.",
        None,
        examples=(["d2", "d3"],),
    ),
    "irtt": Option(
        FLAG,
        "Whether irtt measures UDP round trips and voip; else netperf and D-ITG do.",
        True,
        (False,),
    ),
}
COLUMNS = {"data": Column("String", "", "name of its data file")}
PROGRAMS = {"flent": "--version", "netperf": "-V", "netserver": None, "ping": "-V"}

SECOND_NS = 1_000_000_000
ENVIRONMENT = {**os.environ, "HOME": "/tmp", "TZ": "UTC"}
FLENT = "/usr/share/flent"
"""Where Debian has its Python."""
TESTS = f"{FLENT}/flent/tests"
LIST = """
import json, sys
from flent import settings
loaded = settings.load(sys.argv[1:])
loaded.load_test()
chosen = loaded.TEST_PARAMETERS.get("tcp_cong_control")
for each in loaded.DATA_SETS.values():
    if each["runner"] == "netperf_demo":
        each.setdefault("cong_control", chosen)
kept = "runner", "command", "udp", "cong_control"
print(json.dumps([{key: each.get(key) for key in kept} for each in loaded.DATA_SETS.values()]))
"""
"""Prints what a test measures."""
AVAILABLE_SYSCTL = "net.ipv4.tcp_available_congestion_control"
NO_DATA = "ERROR: No data to aggregate"
"""What flent ends with where nothing that it has started was answered."""
IRTT, DITG, NETPERF = "irtt server", "D-ITG", "netserver"
IPERF_TCP, IPERF_UDP = "iperf -s", "iperf -s -u"
COMMANDS = {
    NETPERF: ["netserver", "-D"],
    IRTT: ["irtt", "server"],
    IPERF_TCP: ["iperf", "--server"],
    IPERF_UDP: ["iperf", "--server", "--udp"],
}
"""Servers, but for D-ITG's, which flent asks for while it runs."""
V6: dict[int, list[str]] = {4: [], 6: ["--ipv6_domain"]}
"""What iperf is told besides."""

Measured = dict[str, Any]


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """A time that flent can be told."""
    from sandglass.experiment import units

    if lasts_ns % SECOND_NS:
        lasts = units.format_time(lasts_ns)
        yield "duration", f"{lasts} is not whole seconds: flent counts those"


def check(flow: Flow, testbed: Testbed) -> None:
    """Are the test, its hosts, its programs and its congestion controls there?

    Raises:
        RunError: naming what is not, or with what flent says of the test.
    """
    for host in flow["options"]["hosts"] or ():
        if host not in testbed.network.access:
            raise RunError(f"there is no host {host}")
    test = test_of(flow)
    names = sorted(file[:-5] for file in os.listdir(TESTS) if file.endswith(".conf"))
    if test not in names:
        raise RunError(f"flent has no test {test}", f"It has: {', '.join(names)}")
    sets = measured(tuple(arguments(flow, testbed)))
    needed = [program for each in sets for program in programs_of(each, flow["options"]["irtt"])]
    programs.require(needed, flow["workload"])
    chosen = {each["cong_control"] for each in sets} - {None, ""}
    there = kernel.read_sysctl(AVAILABLE_SYSCTL, None).split()
    for name in sorted(chosen - {*there}):
        raise RunError(
            f"{flow['workload']}: the kernel has no congestion control {name}",
            f"This kernel has: {' '.join(there)}",
        )
    if flow["family"] == 6 and DITG in {server_of(each, flow["options"]["irtt"]) for each in sets}:
        raise RunError(
            f"{flow['workload']}: D-ITG's control server has IPv4 alone",
            "Leave irtt as it is, true, or family: 6 out.",
        )
    if flow["cc"] and flow["cc"] not in chosen:
        raise RunError(
            f"{flow['workload']} does not take cc: {flow['cc']}",
            "Write its own parameter, such as parameters: {cc_algos: ...}, or the host's sysctl.",
        )


def test_of(flow: Flow) -> str:
    """The name of the test."""
    return flow["workload"].partition(":")[2]


def arguments(flow: Flow, testbed: Testbed) -> list[str]:
    """What flent is told of a flow."""
    chosen = {"tcp_cong_control": flow["cc"]} if flow["cc"] else {}
    parameters = chosen | flow["options"]["parameters"]
    return [
        test_of(flow),
        *(f"--host={called(host, flow, testbed)}" for host in hosts(flow)),
        *(f"--test-parameter={name}={value}" for name, value in parameters.items()),
        f"--length={(end_ns(flow) - flow['start_ns']) // SECOND_NS}",
        f"--ipv{flow['family']}",
    ]


def called(host: str, flow: Flow, testbed: Testbed) -> str:
    """A host's address; with IPv6 its name, as some tests take addresses of both families."""
    if flow["family"] == 4:
        return testbed.network.address(host)
    name_hosts(testbed)
    return host


@functools.cache  # once
def name_hosts(testbed: Testbed) -> None:
    """Have programs know all hosts by their names, with their addresses in both families."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for host in testbed.network.access:
        lines += [f"{testbed.network.address(host, family)} {host}" for family in (4, 6)]
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("".join(f"{line}\n" for line in lines))
    kernel.cover("/etc/hosts", file.name)


def hosts(flow: Flow) -> list[str]:
    """The hosts to test against."""
    return [flow["dst"], *(flow["options"]["hosts"] or ())]


@functools.cache
def measured(words: tuple[str, ...]) -> list[Measured]:
    """The data sets of a test with its arguments.

    Raises:
        RunError: what flent says, when it has no such test or cannot load it.
    """
    environment = {**ENVIRONMENT, "PYTHONPATH": FLENT}
    done = subprocess.run(
        ["python3", "-c", LIST, *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise RunError(f"flent:{words[0]}: {last_words(done.stderr)}")
    sets: list[Measured] = json.loads(done.stdout)
    return sets


def last_words(said: str) -> str:
    """What flent says of why it ends."""
    errors = re.findall(r"^ERROR: (.*)$", said, re.M)
    return errors[-1] if errors else said.strip().rpartition("\n")[2]


def programs_of(data_set: Measured, irtt: bool) -> list[str]:
    """The programs that flent and we start for a data set, besides netperf and ping."""
    match data_set["runner"]:
        case "silent_process":
            return [data_set["command"].split()[0]]
        case "http_getter":
            return ["http-getter"]
        case "iperf_csv":
            return ["iperf"]
        case "udp_rtt" if irtt:
            return ["irtt"]
        case "voip":
            return ["irtt"] if irtt else list(ditg.PROGRAMS)
    return []


def server_of(data_set: Measured, irtt: bool) -> str | None:
    """The server that a data set is measured against, on each host."""
    match data_set["runner"]:
        case "netperf_demo":
            return NETPERF
        case "udp_rtt":
            return IRTT if irtt else NETPERF
        case "voip":
            return IRTT if irtt else DITG
        case "iperf_csv":
            return IPERF_UDP if data_set["udp"] else IPERF_TCP
    return None


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one test; returns its result. Keys: start_ns, end_ns, bytes (None), data."""
    words = arguments(flow, testbed)
    data = f"flent-{flow['id']}.flent.gz"
    wanted = {server_of(each, flow["options"]["irtt"]) for each in measured(tuple(words))}
    servers = sorted(server for server in wanted if server)
    with contextlib.ExitStack() as stack:
        for host in hosts(flow):
            for server in servers:
                stack.enter_context(serving(host, server, testbed, flow["family"]))
        testbed.sleep_until_start(flow)
        made = tempfile.mkdtemp()
        with kernel.namespace(flow["src"]):
            done = subprocess.run(
                [
                    *["flent", *words, f"--data-dir={made}"],
                    f"--title-extra={testbed.plan['title']}",
                ],
                capture_output=True,
                text=True,
                env=ENVIRONMENT,
                check=False,
            )
        ended_ns = testbed.clock.now_ns()
    print(done.stderr, file=sys.stderr)  # to the console's log: it warns of what has no data
    files = [name for name in os.listdir(made) if name.endswith(".flent.gz")]
    if NO_DATA in done.stderr:
        raise UnfinishedError("no data")
    if done.returncode or not files:
        raise RunError(f"flent {test_of(flow)} failed: {last_words(done.stderr)}")
    shutil.copyfile(os.path.join(made, files[0]), os.path.join(testbed.directory, data))
    return {"start_ns": flow["start_ns"], "end_ns": ended_ns, "bytes": None, "data": data}


@contextlib.contextmanager
def serving(host: str, server: str, testbed: Testbed, family: int) -> Iterator[None]:
    """A server at work on a host, for one family of addresses, until its last flow has ended."""
    key = (host, server, family)
    with _at_work:
        if key not in _servers:
            _servers[key] = [contextlib.ExitStack(), 0]
            _servers[key][0].enter_context(_started(host, server, testbed, family))
        _servers[key][1] += 1
    try:
        yield
    finally:
        with _at_work:
            _servers[key][1] -= 1
            if not _servers[key][1]:
                _servers.pop(key)[0].close()


_at_work = threading.Lock()
_servers: dict[tuple[str, str, int], list[Any]] = {}
"""What ends a server, and how many flows it has, by host, server and family."""


@contextlib.contextmanager
def _started(host: str, server: str, testbed: Testbed, family: int) -> Iterator[None]:
    if server == DITG:
        with ditg.receiving(host, testbed.network.address(host, family)):
            yield
        return
    # irtt's answers in both
    words = {NETPERF: [f"-{family}"], IPERF_TCP: V6[family], IPERF_UDP: V6[family]}
    with kernel.namespace(host):
        process = subprocess.Popen(
            [*COMMANDS[server], *words.get(server, [])],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
