"""Runs one plan. Usage: python3 agent RUN_DIRECTORY [run|shell] [lab|host] [MODULES]"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[0:1] = [os.path.join(CODE, "src"), CODE]
sys.path.append("/usr/lib/python3/dist-packages")

from mininet.net import VERSION  # noqa: E402

from sandglass.agent import checks, kernel, modules, openvswitch, recorder  # noqa: E402
from sandglass.agent.clock import Clock  # noqa: E402
from sandglass.agent.errors import RunError  # noqa: E402
from sandglass.agent.lab import Lab  # noqa: E402
from sandglass.agent.network import Network  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandglass.agent import Flow, Plan

# Time zero of an experiment, on the lab's clock. Late enough for Open vSwitch
# and for any network to be built, and the same for all: what happens before
# it cannot shift what comes after.
ZERO_NS = 30_000_000_000
SECOND_NS = 1_000_000_000
HOST_LEAD_NS = 2 * SECOND_NS
PROGRESS_STEPS = 20


class FlowThread(threading.Thread):
    """One flow: its workload's run(flow, lab), the result or the error it ended with."""

    def __init__(self, flow: Flow, lab: Lab, run: Callable[[Flow, Lab], dict[str, Any]]) -> None:
        super().__init__(name=f"flow{flow['id']}", daemon=True)
        self.flow, self.lab, self.workload = flow, lab, run
        self.result: dict[str, Any] | None = None
        self.error: RunError | None = None

    def run(self) -> None:
        try:
            self.result = self.workload(self.flow, self.lab)
        except RunError as error:
            self.error = RunError(f"flow {self.flow['id']}: {error}", error.hint)
        except Exception as error:
            traceback.print_exc()
            self.error = RunError(
                f"flow {self.flow['id']} ({self.flow['workload']}): {error!r}",
                "See the console log.",
            )


def tell(kind: str, **fields: Any) -> None:
    """A line for the process that waits outside."""
    print("@" + json.dumps({"kind": kind, **fields}), flush=True)


def change_links(network: Network, clock: Clock) -> None:
    """Carry out the schedules, one thread for all."""
    steps = sorted(
        (step["at_ns"], name, step)
        for name, planned in network.plan["bottlenecks"].items()
        for step in planned["schedule"]
    )

    def follow() -> None:
        for at_ns, name, step in steps:
            clock.sleep_until(at_ns)
            network.change(name, step)

    if steps:
        threading.Thread(target=follow, daemon=True).start()


def run(plan: Plan, directory: str, backend: str, module_base: str | None) -> dict[str, Any]:
    """Run a plan to its end and return what was observed.

    `module_base` is the directory that holds the lab's modules, None for the machine's own.
    """
    exact = backend == "lab"
    # Before the network: whether Python finds them compiled already must not
    # show in the phase of a switch's timers.
    workloads = {
        name: importlib.import_module(f"workloads.{name}")
        for name in sorted({flow["workload"].partition(":")[0] for flow in plan["flows"]})
    }
    modules.load(plan, module_base)
    network = Network(plan, os.path.join(directory, "topology.py"))
    if plan["record"]:
        recorder.watch(network)
    # How the network was built differs a little between hosts: other versions of
    # the programs, compiled Python or not. From here on nothing of it is left.
    kernel.restart_random(plan["seed"])
    checks.check_links(network)
    rtts = checks.check_rtt(network, exact)

    zero = ZERO_NS if exact else time.monotonic_ns() + HOST_LEAD_NS
    clock = Clock(zero)
    lab = Lab(plan, network, clock, directory)
    threads = []
    for flow in plan["flows"]:
        workload = workloads[flow["workload"].partition(":")[0]]
        workload.check(flow, lab)
        threads.append(FlowThread(flow, lab, workload.run))
    for thread in threads:
        thread.start()
    change_links(network, clock)
    if time.monotonic_ns() > zero:
        raise RunError(
            f"building the network took until {time.monotonic_ns() / 1e9:.1f} s, "
            f"later than the start at {zero / 1e9:.1f} s",
            "Make the topology smaller.",
        )
    clock.sleep_until(-2 * SECOND_NS)
    openvswitch.pause()
    clock.sleep_until(-SECOND_NS)
    kernel.restart_random(plan["seed"])
    if plan["record"]:
        recorder.start(plan["record"], zero)
    for step in range(1, PROGRESS_STEPS + 1):
        clock.sleep_until(plan["duration_ns"] * step // PROGRESS_STEPS)
        tell("progress", virtual_s=plan["duration_ns"] * step / PROGRESS_STEPS / 1e9)
    if plan["record"]:
        recorder.stop()
    qdiscs = network.qdiscs()
    openvswitch.resume()
    for thread in threads:
        thread.join()
        if thread.error:
            raise thread.error
    names = recorder.save(plan["record"], directory) if plan["record"] else {}
    return {
        "kernel": platform.release(),
        "flows": [thread.result for thread in threads],
        "rtt_ns": rtts,
        "watches": recorder.queues_of(network),
        "cc": names,
        "qdiscs": qdiscs,
        "hosts": {
            name: {
                "address": network.address(name),
                "sysctls": {
                    sysctl: kernel.read_sysctl(sysctl, name)
                    for sysctl in (
                        "net.ipv4.tcp_ecn",
                        "net.ipv4.tcp_congestion_control",
                        "net.ipv4.tcp_rmem",
                        "net.ipv4.tcp_wmem",
                        *plan["hosts"][name]["sysctls"],
                    )
                },
            }
            for name in plan["hosts"]
        },
        "tools": {
            "python": platform.python_version(),
            "iproute2": kernel.run(["tc", "-V"]).strip(),
            "mininet": VERSION,
        },
    }


def shell(plan: Plan, directory: str, module_base: str | None) -> None:
    """Mininet's prompt on the network of a plan, or the commands in the file `commands`."""
    from mininet.cli import CLI

    modules.load(plan, module_base)
    network = Network(plan, os.path.join(directory, "topology.py"))
    commands = os.path.join(directory, "commands")
    CLI(network.net, script=commands if os.path.exists(commands) else None)


def main(arguments: list[str]) -> int:
    directory, mode, backend = arguments[1:4]
    module_base = arguments[4] if len(arguments) > 4 else None
    kernel.sleep_exactly()
    try:
        with open(os.path.join(directory, "plan.json")) as file:
            plan = json.load(file)
        if backend == "lab":
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        if mode == "shell":
            shell(plan, directory, module_base)
            return 0
        try:
            observed = run(plan, directory, backend, module_base)
        finally:
            if backend == "host":
                openvswitch.stop()
                kernel.delete_namespaces()
        with open(os.path.join(directory, "observed.json"), "w") as file:
            json.dump(observed, file)
        tell("done")
        return 0
    except RunError as error:
        tell("error", message=str(error), hint=error.hint)
    except OSError as error:
        tell("error", message=f"{error.filename or 'the run'}: {error.strerror}", hint=None)
        traceback.print_exc()
    except Exception as error:
        tell("error", message=f"{type(error).__name__}: {error}", hint="See the console log.")
        traceback.print_exc()
    return 1


if __name__ == "__main__":
    status = main(sys.argv)
    sys.stdout.flush()
    # Threads that still block in the kernel must not hold the exit.
    os._exit(status)
