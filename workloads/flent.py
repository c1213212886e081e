"""Any flent test: `workload: flent:TEST` runs it from one host against another.

netserver runs on the destination, and on further `hosts`, for tests that take several; flent and
what it starts run on the source.
The data file is kept as flent-ID.flent.gz.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

from sandglass.agent import kernel
from sandglass.agent.declare import TEXTS, WORDS, Argument, Column, Option
from sandglass.agent.failure import RunError
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
}
COLUMNS = {"data": Column("String", "", "name of its data file")}
PROGRAMS = {"flent": "--version", "netperf": "-V", "netserver": None, "ping": "-V"}

SECOND_NS = 1_000_000_000


def problems(options: Options, lasts_ns: int) -> Iterator[tuple[str, str]]:
    """A time that flent can be told."""
    from sandglass.experiment import units

    if lasts_ns % SECOND_NS:
        lasts = units.format_time(lasts_ns)
        yield "duration", f"{lasts} is not whole seconds: flent counts those"


def check(flow: Flow, testbed: Testbed) -> None:
    """Does flent know the test?

    Raises:
        RunError: naming the test.
    """
    test = flow["workload"].partition(":")[2]
    for host in flow["options"]["hosts"] or ():
        if host not in testbed.network.access:
            raise RunError(f"there is no host {host}")
    listed = kernel.run(["flent", "--list-tests"])
    names = [line.split(":")[0].strip() for line in listed.splitlines() if ":" in line]
    if test not in names:
        raise RunError(f"flent has no test {test}", f"It has: {', '.join(sorted(names))}")


def run(flow: Flow, testbed: Testbed) -> Result:
    """Run one test; returns its result. Keys: start_ns, end_ns, bytes (None), data."""
    test = flow["workload"].partition(":")[2]
    data = f"flent-{flow['id']}.flent.gz"
    seconds = (end_ns(flow) - flow["start_ns"]) // SECOND_NS
    hosts = [flow["dst"], *(flow["options"]["hosts"] or ())]
    family = flow["family"]
    servers = [served(host, family) for host in hosts]
    parameters = flow["options"]["parameters"]
    testbed.sleep_until_start(flow)
    environment = {**os.environ, "HOME": "/tmp", "TZ": "UTC"}
    made = tempfile.mkdtemp()
    with kernel.namespace(flow["src"]):
        done = subprocess.run(
            [
                "flent",
                test,
                *(f"--host={testbed.network.address(host, family)}" for host in hosts),
                *(f"--test-parameter={name}={value}" for name, value in parameters.items()),
                f"--length={seconds}",
                f"--ipv{family}",
                f"--data-dir={made}",
                f"--title-extra={testbed.plan['title']}",
            ],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    ended_ns = testbed.clock.now_ns()
    for server in servers:
        server.terminate()
    files = [name for name in os.listdir(made) if name.endswith(".flent.gz")]
    if done.returncode or not files:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunError(f"flent {test} failed: {' '.join(said[-3:]) or done.returncode}")
    shutil.copyfile(os.path.join(made, files[0]), os.path.join(testbed.directory, data))
    return {"start_ns": flow["start_ns"], "end_ns": ended_ns, "bytes": None, "data": data}


def served(host: str, family: int) -> subprocess.Popen[bytes]:
    """A netserver on a host, for one family of addresses."""
    with kernel.namespace(host):
        return subprocess.Popen(
            ["netserver", "-D", f"-{family}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
