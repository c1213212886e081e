"""The host backend: the same agent on this machine's own kernel, in real time.

It needs root, and a kernel that carries the qdiscs and congestion controls of
the experiment. Interfaces and addresses live in network namespaces, which are
removed at the end.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from sandglass import cache, qdiscs
from sandglass.errors import SandglassError
from sandglass.experiment import CONGESTION_CONTROLS
from sandglass.plan import Plan

AGENT = cache.ROOT / "src" / "sandglass" / "agent"
# What a queue needs to be created at all; the others have defaults.
LEAST_OPTIONS = {
    "red": ["limit", "100000", "avpkt", "1000", "min", "10000", "max", "30000", "burst", "20"],
    "sfb": ["max", "25"],
}
ALWAYS = ("htb", "netem")


def needed_for(kind: str) -> str:
    """What brings a qdisc: CONFIG_NET_SCH_PIE for pie, or a module of kmods/."""
    if kind in qdiscs.modules("sch_"):
        return f"the module sch_{kind}"
    fifos = ("pfifo", "bfifo", "pfifo_head_drop")
    return "CONFIG_NET_SCHED" if kind in fifos else f"CONFIG_NET_SCH_{kind.upper()}"


def missing(plan: Plan) -> list[str]:
    """Kernel options, and modules of kmods/, that the plan needs and the running kernel lacks."""
    lacks = []
    if not _works(["ip", "link", "add", "sandglass0", "type", "veth"]):
        lacks.append("CONFIG_VETH")
    kinds = {
        link[direction]["queue"]["kind"]
        for link in plan["bottlenecks"].values()
        for direction in ("forward", "reverse")
    }
    for kind in sorted(kinds | set(ALWAYS)):
        options = LEAST_OPTIONS.get(kind, [])
        if not _works(["tc", "qdisc", "add", "dev", "lo", "root", kind, *options]):
            lacks.append(needed_for(kind))
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
    """Environment variables of the agent: tc finds plugins that set-up has built for the lab."""
    own = {"PATH": cache.search_path(), "HOME": "/root", "LANG": "C.UTF-8"}
    with contextlib.suppress(SandglassError):
        own["TC_LIB_DIR"] = str(cache.lab_kernel().tc)
    return own


def _works(command: list[str]) -> bool:
    """Whether a command succeeds in a network namespace of its own."""
    done = subprocess.run(
        ["unshare", "--net", *command], capture_output=True, check=False, env=environment()
    )
    return done.returncode == 0


def run(plan: Plan, directory: Path, progress: Callable[[float, float], None] | None) -> None:
    """Carry out the plan in `directory` on this machine.

    Raises SandglassError: not root, something missing in the kernel (named), or the run failed.
    """
    if os.geteuid() != 0:
        raise SandglassError(
            "the host backend needs root", "Run it with sudo, or use the lab (--backend lab)."
        )
    if lacks := missing(plan):
        raise SandglassError(
            f"the running kernel lacks {', '.join(lacks)}",
            "Build or install it (docs/kmods.md for modules of Sandglass), "
            "or use the lab (--backend lab).",
        )
    command = ["/usr/bin/python3", "-SBsE", str(AGENT), str(directory), "run", "host"]
    failure = None
    with (
        (directory / "console.log").open("w") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            message = json.loads(line[1:]) if line.startswith('@{"kind"') else None
            if message is None:
                log.write(line)
            elif message["kind"] == "progress" and progress:
                progress(message["virtual_s"], plan["duration_ns"] / 1e9)
            elif message["kind"] == "error":
                failure = message
    if failure:
        raise SandglassError(failure["message"], failure["hint"])
    if process.returncode:
        raise SandglassError(f"the agent ended with status {process.returncode}")
