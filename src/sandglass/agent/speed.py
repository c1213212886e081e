"""Whether a machine is fast enough for a plan in real time."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from sandglass.agent import interfaces, kernel, links, tc, tcp
from sandglass.agent.netlink import Rtnetlink
from sandglass.agent.plan import base_rtt_ns

if TYPE_CHECKING:
    from sandglass.agent.plan import Plan, Queue

MTU = 1500
SEGMENT_SHARE = (MTU - 52) / (MTU + links.ETHERNET_HEADER)
"""Of what a shaper counts, the part that TCP hands on: without IP, TCP and its timestamps."""
QUEUE: Queue = {
    "kind": "pfifo",
    "limit": 1000,
    "limit_unit": "packets",
    "options": ["limit", "1000"],
}
DELAY_NS = 1_000_000
PORT = 5001
MEASURED_S = 1.0
SETTLE_S = 0.3  # slow start ends long before
SLEEPS = 500
SLEEP_NS = 1_000_000
CARRIED_ENOUGH = 0.98
ANY_BPS = 10**9
"""What is tried where no link has a rate."""
LATE_ENOUGH = 0.05
"""Share of the shortest round trip that timers, or the path, may be late."""


class Speed(NamedTuple):
    """What a machine does.

    Attributes:
        carried_bps: bits per second, Ethernet headers included, that a TCP flow got through a
            router shaped to the plan's highest rate.
        late_ns: 99 % of sleeps of a millisecond ended at most this much later than asked.
    """

    carried_bps: float
    late_ns: int


def measure(plan: Plan) -> Speed:
    """Carry a TCP flow through a shaped router, as an experiment does, and try the timers.

    The three hosts exist for these one and a half seconds alone.
    """
    names = ("check-s", "check-r", "check-d")
    source, router, destination = names
    for name in names:
        kernel.create_namespace(name)
    try:
        _connect(source, router, destination, asked_bps(plan) or ANY_BPS)
        carried = _carried_bps(source, destination)
    finally:
        for name in names:
            kernel.delete_namespace(name)
    return Speed(carried, _late_ns())


def asked_bps(plan: Plan) -> int:
    """The highest rate of a link in a plan, in bit/s; 0 where none has one."""
    rates = (
        link[direction]["rate_bps"]
        for link in plan["bottlenecks"].values()
        for direction in ("forward", "reverse")
    )
    return max(rates, default=0)


def doubts(plan: Plan, speed: Speed) -> list[str]:
    """What of a machine's speed makes results of a plan doubtful."""
    found = []
    asked = asked_bps(plan)
    if speed.carried_bps < CARRIED_ENOUGH * asked:
        found.append(
            f"this machine is too slow: through a router shaped to {asked / 1e6:g} Mb/s it carried "
            f"{speed.carried_bps / 1e6:.3g} Mb/s; ask for a lower rate, or use the lab"
        )
    shortest = min(base_rtt_ns(plan, flow["src"], flow["dst"]) for flow in plan["flows"])
    if shortest and speed.late_ns > LATE_ENOUGH * shortest:
        found.append(
            f"timers of this machine are up to {speed.late_ns / 1e6:.2g} ms late, in round trips "
            f"of {shortest / 1e6:g} ms; end what else runs, or use the lab"
        )
    return found


def late(plan: Plan, rtt_ns: dict[str, int], wired_ns: dict[str, int | None]) -> list[str]:
    """Round trips, measured, by "from-to", that are much longer than the plan's.

    `wired_ns` is what wires add to each; None where that is not known.
    """
    found = []
    for pair, measured in rtt_ns.items():
        further_ns = wired_ns[pair]
        if further_ns is None:
            continue
        source, _, destination = pair.partition("-")
        base = base_rtt_ns(plan, source, destination) + further_ns
        # an echo is short: its transmission takes less than what is tolerated at any usual rate
        if measured > (1 + LATE_ENOUGH) * base + SLEEP_NS:
            found.append(
                f"the round trip {pair} is {measured / 1e6:.3g} ms, "
                f"the experiment says {base / 1e6:g} ms"
            )
    return found


def _connect(source: str, router: str, destination: str, rate_bps: int) -> None:
    """A shaped path from source to destination, 10.9.0.1 to 10.9.1.1."""
    ends = (
        (source, "c0", "10.9.0.1", "10.9.0.2"),
        (router, "c1", "10.9.0.2", None),
        (router, "c2", "10.9.1.2", None),
        (destination, "c3", "10.9.1.1", "10.9.1.2"),
    )
    macs = [f"02:00:00:09:00:{number:02x}" for number in range(len(ends))]
    made = [(device, mac, name) for (name, device, *_), mac in zip(ends, macs, strict=True)]
    interfaces.add_veth(*made[:2])
    interfaces.add_veth(*made[2:])
    for name, device, address, gateway in ends:
        with Rtnetlink(name) as link:
            interfaces.offloads_off(link, device)
            interfaces.bring_up(link, device)
            interfaces.add_address(link, device, address, 24)
            if gateway:
                interfaces.add_route(link, "default", {"via": gateway})
    kernel.write_sysctl("net.ipv4.ip_forward", 1, router)
    lines = [*links.bottleneck("c2", rate_bps, QUEUE, MTU), links.delay("c1", DELAY_NS, None)]
    tc.carry_out(lines, router)


def _carried_bps(source: str, destination: str) -> float:
    with (
        tcp.open_socket(destination, socket.SOCK_STREAM) as listener,
        tcp.open_socket(source, socket.SOCK_STREAM) as sender,
    ):
        listener.bind(("10.9.1.1", PORT))
        listener.listen()
        sender.connect(listener.getsockname())
        receiver = listener.accept()[0]
        thread = threading.Thread(target=_send, args=(sender,), daemon=True)
        thread.start()
        with receiver:
            start = time.monotonic()
            counted, first, last = 0, 0.0, 0.0
            while (now := time.monotonic()) < start + SETTLE_S + MEASURED_S:
                size = len(receiver.recv(1 << 16))
                if now < start + SETTLE_S:
                    continue
                last = time.monotonic()
                if first:
                    counted += size
                else:
                    first = last
        # Its peer is gone: the sender's next call fails.
        thread.join()
    return 8 * counted / (last - first) / SEGMENT_SHARE if counted else 0.0


def _send(sender: socket.socket) -> None:
    block = bytes(1 << 16)
    try:
        while True:
            sender.sendall(block)
    except OSError:
        return


def _late_ns() -> int:
    lateness = []
    for _ in range(SLEEPS):
        asked = time.monotonic_ns() + SLEEP_NS
        kernel.sleep_until(asked)
        lateness.append(time.monotonic_ns() - asked)
    return sorted(lateness)[SLEEPS * 99 // 100]
