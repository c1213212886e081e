"""The host backend: the same agent on this machine's own kernel, in real time.

It needs root, and a kernel that carries the qdiscs and congestion controls of
the experiment. Its processes, networks and mounts live in namespaces of their
own, so that nothing of them outlives the agent; keeper.py sees to the rest.
"""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from sandglass.agent.plan import Plan
from sandglass.errors import SandglassError
from sandglass.experiment import qdiscs
from sandglass.experiment.values import CONGESTION_CONTROLS
from sandglass.install import builds
from sandglass.lab import messages
from sandglass.run import keeper

AGENT = builds.ROOT / "src" / "sandglass" / "agent"
KEEPER = builds.ROOT / "src" / "sandglass" / "run" / "keeper.py"
RECORDER = Path("/proc/recorder/control")
CLAIM = "\0sandglass-host"
"""An abstract address: it goes with the last process that holds it, whatever ended that."""
ALWAYS: dict[str, list[str]] = {"htb": [], "netem": []}
UNKNOWN = "nknown"
"""Of tc's "Unknown qdisc" (no plugin) and the kernel's "Specified qdisc kind is unknown"."""
FOR_WIRES = {
    "CONFIG_NET_SCH_INGRESS": "tc qdisc add dev lo clsact",
    "CONFIG_NET_CLS_MATCHALL": "tc qdisc add dev lo clsact || exit 0; "
    "tc filter add dev lo ingress matchall classid 1:1",
    "CONFIG_NET_ACT_MIRRED": "tc action add action mirred egress redirect dev lo",
}
"""What links that lie anywhere need, and what succeeds where it is there."""
MACHINES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def needed_for(kind: str) -> str:
    """What brings a qdisc: CONFIG_NET_SCH_PIE for pie, or a module of kmods/."""
    if kind in qdiscs.modules("sch_"):
        return f"the module sch_{kind}"
    fifos = ("pfifo", "bfifo", "pfifo_head_drop")
    return "CONFIG_NET_SCHED" if kind in fifos else f"CONFIG_NET_SCH_{kind.upper()}"


def missing(plan: Plan) -> list[str]:
    """Kernel options, and modules of kmods/, that the plan needs and the running kernel lacks."""
    lacks = []
    if _refused(["ip", "link", "add", "sandglass0", "type", "veth"]):
        lacks.append("CONFIG_VETH")
    queues = {
        link[direction]["queue"]["kind"]: link[direction]["queue"]["options"]
        for link in plan["bottlenecks"].values()
        for direction in ("forward", "reverse")
    }
    for kind, options in sorted((ALWAYS | queues).items()):
        refused = _refused(["tc", "qdisc", "add", "dev", "lo", "root", kind, *options])
        if UNKNOWN in refused:  # else it is the options, which tc will explain
            lacks.append(needed_for(kind))
    if plan["wires"]:
        lacks += [needed for needed, words in FOR_WIRES.items() if _refused(["sh", "-c", words])]
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for flow in plan["flows"]:
        cc = flow["cc"]
        if not cc or cc in available:
            continue
        loaded = subprocess.run(["modprobe", f"tcp_{cc}"], capture_output=True, check=False)
        mainline = cc in CONGESTION_CONTROLS
        lack = f"CONFIG_TCP_CONG_{cc.upper()}" if mainline else f"the module tcp_{cc}"
        if loaded.returncode and lack not in lacks:
            lacks.append(lack)
    return lacks


def environment() -> dict[str, str]:
    """Environment variables of the agent: tc finds plugins that set-up has built for the lab.

    What the machine has not, such as netperf, is the lab's.
    """
    own = {"PATH": MACHINES_PATH, "HOME": "/root", "LANG": "C.UTF-8"}
    with contextlib.suppress(SandglassError):
        lab = builds.lab_kernel()
        own["TC_LIB_DIR"] = str(lab.tc)
        own["PATH"] += f":{lab.root}/usr/sbin:{lab.root}/usr/bin"
    return own


def _refused(command: list[str]) -> str:
    """What a command says when it fails in a network namespace of its own; empty: it succeeds."""
    done = subprocess.run(
        ["unshare", "--net", *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    return (done.stderr or f"status {done.returncode}") if done.returncode else ""


@contextlib.contextmanager
def claimed() -> Iterator[socket.socket]:
    """This machine, for one run; held for as long as a process has the socket, then free again.

    Raises SandglassError: another run is at work, or one that was killed has left something.
    """
    with socket.socket(socket.AF_UNIX) as claim:
        try:
            claim.bind(CLAIM)
        except OSError:
            raise SandglassError(
                "another run of the host backend is at work on this machine", "Wait for its end."
            ) from None
        if commands := keeper.left():
            raise SandglassError(
                "a run of the host backend was killed and has left this machine changed",
                "\n".join(["Put it back:", *commands]),
            )
        if RECORDER.exists() and _recorded():
            raise SandglassError(
                "the recorder module holds the records of something else", "modprobe -r recorder"
            )
        yield claim


def _recorded() -> bool:
    """Whether the loaded recorder has watched or recorded anything."""
    lines = [line.split() for line in RECORDER.read_text().splitlines()]
    return any(line[0] == "watch" or line[1] != "0" for line in lines)


def run(
    plan: Plan,
    directory: Path,
    progress: Callable[[float, float], None] | None,
    warn: Callable[[str], None],
) -> None:
    """Carry out the plan in `directory` on this machine, and leave it as it was.

    `warn` is told what makes results doubtful, such as a machine too slow for the plan's rates.

    Raises SandglassError: not root, the machine is in use or was left changed, something missing
    in the kernel (named), or the run failed.
    """
    if os.geteuid() != 0:
        raise SandglassError(
            "the host backend needs root", "Run it with sudo, or use the lab (--backend lab)."
        )
    with claimed() as claim:
        before = keeper.state()
        keeper.note(before)
        try:
            if lacks := missing(plan):
                raise SandglassError(
                    f"the running kernel lacks {', '.join(lacks)}",
                    "Build or install it (docs/host.md for modules of Sandglass), "
                    "or use the lab (--backend lab).",
                )
            _agent(plan, directory, progress, warn, claim)
        finally:
            if keeper.left():  # nobody has kept, or the keeper was killed
                keeper.put_back(before)
            if commands := keeper.left():
                warn("this machine could not be put back; do it by hand: " + "; ".join(commands))


def _agent(
    plan: Plan,
    directory: Path,
    progress: Callable[[float, float], None] | None,
    warn: Callable[[str], None],
    claim: socket.socket,
) -> None:
    """Run the agent under its keeper, in namespaces that end with it."""
    command: list[str | Path] = [
        *("/usr/bin/python3", "-SBsE", KEEPER),
        *("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGTERM", "--mount-proc"),
        *("/usr/bin/python3", "-SBsE", AGENT, directory, "run", "host"),
    ]
    failure = None
    with (
        (directory / "console.log").open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            pass_fds=[claim.fileno()],
            start_new_session=True,  # an interrupt at the terminal reaches us alone
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            message = messages.read(line)
            if message is None:
                log.write(line)
            elif message["kind"] == "progress" and progress:
                progress(message["virtual_s"], plan["duration_ns"] / 1e9)
            elif message["kind"] == "warning":
                warn(message["message"])
            elif message["kind"] == "error":
                failure = message
    if failure:
        raise SandglassError(failure["message"], failure["hint"])
    if process.returncode:
        raise SandglassError(f"the agent ended with status {process.returncode}")
