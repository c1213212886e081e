"""Runs one plan. Usage: python3 agent RUN_DIRECTORY [run|shell] [lab|host] [MODULES]"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import operator
import os
import signal
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[0:1] = [os.path.join(CODE, "src"), CODE]
sys.path.append("/usr/lib/python3/dist-packages")

from mininet.net import VERSION, Mininet  # noqa: E402

from sandglass.agent import (  # noqa: E402
    counters,
    interfaces,
    ipv6,
    kernel,
    modules,
    openvswitch,
    own_files,
    programs,
    pyfile,
    recorder,
    self_check,
    speed,
    tcp,
)
from sandglass.agent.clock import Clock  # noqa: E402
from sandglass.agent.failure import RunError  # noqa: E402
from sandglass.agent.netlink import Rtnetlink  # noqa: E402
from sandglass.agent.network import Network  # noqa: E402
from sandglass.agent.repetition import LEAD_NS, SECOND_NS, Repetition  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from sandglass.agent.plan import Plan

PROGRESS_STEPS = 20
SYSCTLS = (
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
"""What is told of each host, besides what the experiment sets."""
ROOM: dict[str, int | str] = {
    # In pages. By default a sixteenth of the lab's memory: packets would tell how much that is.
    "net.ipv4.tcp_mem": " ".join(3 * [str(2**31 - 1)]),
    # In packets. By default 1000, for all hosts together, as they share a processor.
    "net.core.netdev_max_backlog": 2**31 - 1,
}
"""Sysctls of the lab's whole kernel: nothing is dropped or held back for want of room."""
MESSAGES_SHOWN = 7  # of the kernel's, on the lab's console: all but those for debugging


def tell(kind: str, **fields: Any) -> None:
    """A line for the process that waits outside."""
    print("@" + json.dumps({"kind": kind, **fields}), flush=True)


def warn(messages: list[str]) -> None:
    """Tell what makes the results doubtful."""
    for message in messages:
        tell("warning", message=message)


def change_links(network: Network, clock: Clock) -> None:
    """Carry out the schedules, one thread for all."""
    changes: list[tuple[int, str, Callable[[], None]]] = [
        (step["at_ns"], name, functools.partial(network.change, name, step))
        for name, planned in network.plan["bottlenecks"].items()
        for step in planned["schedule"]
    ]
    changes += [
        (changed["at_ns"], name, functools.partial(network.change_wire, name, changed))
        for name, wire in network.plan["wires"].items()
        for changed in wire["schedule"]
    ]
    steps = sorted(changes, key=operator.itemgetter(0, 1))

    def follow() -> None:
        for at_ns, _, change in steps:
            clock.sleep_until(at_ns)
            change()

    if steps:
        threading.Thread(target=follow, daemon=True).start()


def observe(plan: Plan, network: Network, clock: Clock) -> dict[str, Any]:
    """Record until the end of the experiment; returns what the queues then report."""
    if plan["record"]:
        recorder.start(plan["record"], clock.zero_ns)
    for step in range(1, PROGRESS_STEPS + 1):
        clock.sleep_until(plan["duration_ns"] * step // PROGRESS_STEPS)
        if step == PROGRESS_STEPS:
            counted = counters.of_queues(network)
        tell("progress", virtual_s=plan["duration_ns"] * step / PROGRESS_STEPS / 1e9)
    if plan["record"]:
        recorder.stop()
    return {"counters": counted, "qdiscs": network.qdiscs()}


def repeated(
    plan: Plan,
    network: Network,
    directory: str,
    workloads: dict[str, ModuleType],
) -> Iterator[list[dict[str, Any]]]:
    """The results of all repetitions but the first."""
    for number in range(1, plan["repeat"]):
        clock = Clock(whole_second_after(time.monotonic_ns() + LEAD_NS))
        repetition = Repetition(plan, network, clock, plan["seed"] + number, directory, workloads)
        repetition.prepare()
        yield repetition.results()
        if number * PROGRESS_STEPS % plan["repeat"] < PROGRESS_STEPS:
            done = number / plan["repeat"]
            tell("progress", virtual_s=done * plan["duration_ns"] / 1e9)


def whole_second_after(monotonic_ns: int) -> int:
    """Timers that count in ticks then see every time zero alike."""
    return -(-monotonic_ns // SECOND_NS) * SECOND_NS


def load_workload(file: str, directory: str) -> ModuleType:
    """A workload: one of the checkout's, or a user's own, which lies in the run's directory."""
    folder, _, name = file.rpartition("/")
    if folder:
        return importlib.import_module(f"{folder}.{name.removesuffix('.py')}")
    return pyfile.load(os.path.join(directory, name), name.removesuffix(".py"))


def furnish(plan: Plan, directory: str, exact: bool) -> None:
    """Make the place that a network is built in; `exact` in the lab."""
    if exact:
        kernel.write_sysctls(ROOM, None, {})
    else:
        # Not before: only in the machine's own may congestion controls be allowed.
        kernel.isolate((kernel.NETNS_DIRECTORY, openvswitch.RUN, own_files.HIDDEN))
        bring_loopback_up()
        Mininet.inited = True  # else it raises limits of the whole machine
        warn(speed.doubts(plan, speed.measure(plan)))
    if "own_files" in plan:
        own_files.lay(plan["own_files"], directory)


def run(plan: Plan, directory: str, backend: str, module_base: str | None) -> dict[str, Any]:
    """Run a plan to its end and return what was observed.

    `module_base` is the directory that holds the lab's modules, None for the machine's own.
    """
    exact = backend == "lab"
    # Before the network: whether Python finds them compiled already must not
    # show in the phase of a switch's timers.
    workloads = {
        called: load_workload(file, directory) for called, file in sorted(plan["workloads"].items())
    }
    added = modules.load(plan, module_base)
    furnish(plan, directory, exact)
    dropped = kernel.dropped_on_arrival()
    network = Network(plan, os.path.join(directory, "topology.py"))
    if plan["record"]:
        recorder.watch(network)
    # How the network was built differs a little between hosts: other versions of
    # the programs, compiled Python or not. From here on nothing of it is left.
    kernel.restart_random(plan["seed"])
    self_check.check_links(network)
    rtts = self_check.check_rtt(network, exact)
    if not exact:
        pairs = {f"{flow['src']}-{flow['dst']}": flow for flow in plan["flows"]}
        wired = {name: network.wired_ns(flow["src"], flow["dst"]) for name, flow in pairs.items()}
        warn(speed.late(plan, rtts, wired))
    # The secrets are the seed's alone, whatever the check needed.
    kernel.restart_random(plan["seed"])
    tcp.draw_secrets()
    if ipv6.wanted(plan):
        tcp.draw_secrets(plan["flows"][0]["src"], family=6)

    zero = plan["zero_ns"]
    if not exact:
        zero = whole_second_after(time.monotonic_ns() + LEAD_NS + SECOND_NS)
    clock = Clock(zero)
    first = Repetition(plan, network, clock, plan["seed"], directory, workloads)
    for thread in first.threads:
        if needed := getattr(thread.workload, "PROGRAMS", None):
            programs.require(needed, thread.flow["workload"])
        if hasattr(thread.workload, "check"):
            thread.workload.check(thread.flow, thread.testbed)
    change_links(network, clock)
    if time.monotonic_ns() > zero - LEAD_NS:
        raise RunError(
            f"building the network took until {time.monotonic_ns() / 1e9:.1f} s, "
            f"later than {(zero - LEAD_NS) / 1e9:.1f} s",
            "Make the topology smaller.",
        )
    clock.sleep_until(-LEAD_NS)
    openvswitch.pause()
    first.prepare()
    if plan["repeat"] == 1:
        queues = observe(plan, network, clock)
        results = [first.results()]
    else:
        queues = {"counters": [], "qdiscs": {}}
        results = [first.results(), *repeated(plan, network, directory, workloads)]
    openvswitch.resume()
    check_arrivals(dropped, exact)
    names = recorder.save(plan["record"], directory) if plan["record"] else {}
    return {
        "kernel": os.uname().release,
        "modules": added,
        "flows": results,
        "rtt_ns": rtts,
        "wall_zero_ns": kernel.monotonic_to_realtime_ns() + clock.zero_ns,
        "watches": recorder.queues_of(network),
        "cc": names,
        **queues,
        "hosts": {
            name: {
                "address": network.address(name),
                "sysctls": kernel.read_sysctls([*SYSCTLS, *plan["hosts"][name]["sysctls"]], name),
            }
            for name in plan["hosts"]
        },
        # The lab's are those of its packages: a process each would cost more than the run.
        "tools": {} if exact else tools(network, workloads),
    }


def check_arrivals(dropped_before: int, exact: bool) -> None:
    """Has every packet found room where it waits for a processor, which is no queue of a plan's?

    Raises:
        RunError: not all have, in the lab. Elsewhere it may have been other networks: a warning.
    """
    if dropped := kernel.dropped_on_arrival() - dropped_before:
        doubt = (
            f"{dropped} packets were dropped on arrival at a host, where no queue of the "
            "experiment is: more came at one time than net.core.netdev_max_backlog lets wait"
        )
        if exact:
            raise RunError(doubt, "Leave that sysctl alone, or have fewer packets come at once.")
        warn([f"{doubt}; other networks of this machine count too"])


def tools(network: Network, workloads: dict[str, ModuleType]) -> dict[str, str]:
    """The versions of this machine's programs, of those that a run needs."""
    started = {
        program: option
        for module in workloads.values()
        for program, option in getattr(module, "PROGRAMS", {}).items()
    }
    if network.net.switches:
        started |= openvswitch.PROGRAMS
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "iproute2": kernel.run(["tc", "-V"]).strip(),
        "mininet": VERSION,
        **programs.versions(started),
    }


def shell(plan: Plan, directory: str, module_base: str | None) -> None:
    """Mininet's prompt on the network of a plan, or the commands in the file `commands`."""
    from mininet.cli import CLI

    modules.load(plan, module_base)
    network = Network(plan, os.path.join(directory, "topology.py"))
    for where, lines in network.renewal(plan["seed"], time.monotonic_ns()).items():
        network.tc[where].write(lines)
    commands = os.path.join(directory, "commands")
    CLI(network.net, script=commands if os.path.exists(commands) else None)


def bring_loopback_up() -> None:
    with Rtnetlink(None) as link:
        interfaces.bring_up(link, "lo")


def give_up(number: int, frame: object) -> None:
    """Handles SIGTERM: whoever waited for the run has gone."""
    raise SystemExit(128 + number)


def end_flows(plan: Plan) -> None:
    """Let no connection outlive the agent by more than a round trip or two.

    A socket whose process has died goes on for minutes when nobody answers, and keeps its network
    namespace, and with it modules, for as long.
    """
    for host in plan["hosts"]:
        with contextlib.suppress(RunError, OSError):  # it may not have been made yet
            kernel.write_sysctl("net.ipv4.tcp_orphan_retries", 1, host)


def main(arguments: list[str]) -> int:
    directory, mode, backend = arguments[1:4]
    module_base = arguments[4] if len(arguments) > 4 else None
    kernel.sleep_exactly()
    try:
        with open(os.path.join(directory, "plan.json")) as file:
            plan = json.load(file)
        if backend == "lab":
            bring_loopback_up()
        if mode == "shell":
            shell(plan, directory, module_base)
            return 0
        with contextlib.ExitStack() as stack:
            if backend == "lab":
                kernel.write_sysctl("kernel.printk", MESSAGES_SHOWN, None)
            else:
                signal.signal(signal.SIGTERM, give_up)
                stack.callback(end_flows, plan)
            observed = run(plan, directory, backend, module_base)
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
