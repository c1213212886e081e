"""Kernel modules: what a plan needs is loaded by name before its network is built."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from sandglass.agent import kernel
from sandglass.agent.failure import RunError
from sandglass.agent.plan import DIRECTIONS

if TYPE_CHECKING:
    from sandglass.agent.plan import Plan

CC_SYSCTL = "net.ipv4.tcp_congestion_control"
ALLOWED_SYSCTL = "net.ipv4.tcp_allowed_congestion_control"


def load(plan: Plan, base: str | None) -> list[str]:
    """Load the modules that the plan needs; returns the names of those added to the kernel.

    Args:
        plan: the plan.
        base: the directory with the lab's lib/modules/RELEASE; None means the running system's.

    Raises:
        RunError: a congestion control exists neither in the kernel nor as a module, or a module
            does not load.
    """
    there = offered(base)
    available = kernel.read_sysctl("net.ipv4.tcp_available_congestion_control", None).split()
    wanted = ["recorder"] if plan["record"] else []
    for where, cc in congestion_controls(plan):
        if cc in available:
            continue
        if f"tcp_{cc}" not in there:
            added = sorted(name[4:] for name in there if name.startswith("tcp_"))
            raise RunError(
                f"{where}: the kernel has no congestion control {cc}, "
                f"and there is no module tcp_{cc}",
                f"This kernel has: {' '.join(available)}\nModules add: {' '.join(added)}\n"
                f"A module of yours is found by its name, tcp_{cc} (in kmods/tcp_{cc}/Kbuild: "
                f'obj-m := tcp_{cc}.o), or by MODULE_ALIAS("tcp_{cc}");',
            )
        wanted.append(f"tcp_{cc}")
    kinds = {
        link[direction]["queue"]["kind"]
        for link in plan["bottlenecks"].values()
        for direction in DIRECTIONS
    }
    wanted += sorted({f"sch_{kind}" for kind in kinds} & there.keys())
    if any("trace" in link[way] for link in plan["bottlenecks"].values() for way in DIRECTIONS):
        wanted.append("sch_trace")
    if "noise" in plan:
        wanted.append("sch_noise")
    for host in plan["hosts"].values():
        for sysctl in host["sysctls"]:
            if not os.path.exists(kernel.sysctl_path(sysctl)):
                # Such as net.ipv4.tcp_abe.beta_ecn.
                wanted += sorted(set(sysctl.split(".")) & there.keys())
    before = loaded()
    if base:
        # No process of modprobe: one costs as much as the network of a dumbbell.
        for file in dict.fromkeys(file for name in wanted for file in there[name]):
            kernel.insert_module(file)
    elif wanted:
        kernel.run(["modprobe", "-a", *dict.fromkeys(wanted)])
    if defaults := {cc for where, cc in congestion_controls(plan) if where.startswith("host ")}:
        # Without this, a namespace may not make it its default.
        allowed = kernel.read_sysctl(ALLOWED_SYSCTL, None).split()
        kernel.write_sysctl(ALLOWED_SYSCTL, " ".join([*allowed, *sorted(defaults)]), None)
    return sorted(loaded() - before)


def loaded() -> set[str]:
    """The modules in the kernel."""
    with open("/proc/modules") as lines:
        return {line.split()[0] for line in lines}


def congestion_controls(plan: Plan) -> list[tuple[str, str]]:
    """(where it stands, name) of every congestion control that a plan names."""
    flows = [(f"flow {flow['id']}", flow["cc"]) for flow in plan["flows"] if flow["cc"]]
    hosts = [
        (f"host {name}", host["sysctls"][CC_SYSCTL])
        for name, host in plan["hosts"].items()
        if CC_SYSCTL in host["sysctls"]
    ]
    return flows + hosts


def offered(base: str | None) -> dict[str, list[str]]:
    """The modules for the running kernel, by name and alias; empty if there are none.

    To each belong the files that add it, in that order: first those that it depends on.
    """
    directory = f"{base or ''}/lib/modules/{os.uname().release}"
    files: dict[str, list[str]] = {}
    with contextlib.suppress(FileNotFoundError):
        with open(os.path.join(directory, "modules.dep")) as lines:
            for line in lines:
                file, _, needed = line.partition(":")
                name = os.path.basename(file).partition(".ko")[0].replace("-", "_")
                files[name] = [
                    os.path.join(directory, each) for each in [*reversed(needed.split()), file]
                ]
        with open(os.path.join(directory, "modules.alias")) as lines:
            for line in lines:
                words = line.split()
                if words[0] == "alias":
                    files[words[1]] = files.get(words[2], [])
    return files
