"""What `tc` is told about the links of an experiment.

A bottleneck is an HTB class with the experiment's queue as its leaf. Its bucket
holds one byte: with a deeper one the shaper would send a packet or two faster
than the link's rate after every idle time. HTB then lets a packet go when its
transmission *starts*, so the sojourn time is the time a packet waits for the
transmitter, as in a network card.

In a network with one bottleneck and nothing else, the end of the transmission
and the propagation delay come where the packet leaves the network for its
host: netem with the bottleneck's rate adds the serialisation time of each
packet, and the host's half of the base round trip.

In any other, each link that has a rate, a delay or impairments is a wire
(wires.py), on which its own serialisation time and delay pass before the
packet comes to the next node; at the host only the half of the base round trip
is left.

Pure functions from numbers to lines of `tc -batch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandglass.agent.plan import Queue

ETHERNET_HEADER = 14  # bytes; qdiscs count it, see qdisc_pkt_len() in the kernel
# Never the reason for a loss: everything a path can hold is shorter.
NETEM_LIMIT = 1_000_000  # packets
BUCKET = "burst 1 cburst 1"
SHAPER = "1:"
SHAPED_CLASS = "1:1"
QUEUE = "10:"
NUMBERS_IN_MESSAGE = 8192  # of a trace; a message holds twice as many


def shaper_class(rate_bps: int, mtu: int) -> str:
    """HTB class parameters for a link of `rate_bps` bit/s with packets up to `mtu` bytes."""
    return f"htb rate {rate_bps}bit ceil {rate_bps}bit {BUCKET} quantum {mtu + ETHERNET_HEADER}"


def bottleneck(device: str, rate_bps: int, queue: Queue, mtu: int) -> list[str]:
    """Lines that put shaper and queue on `device`; `queue` as in the plan."""
    options = " ".join(queue["options"])
    return [
        f"qdisc add dev {device} root handle {SHAPER} htb default 1",
        f"class add dev {device} parent {SHAPER} classid {SHAPED_CLASS} "
        + shaper_class(rate_bps, mtu),
        f"qdisc add dev {device} parent {SHAPED_CLASS} handle {QUEUE} {queue['kind']} {options}",
    ]


def traced(device: str, opportunities: str, start_ns: int, queue: Queue) -> list[str]:
    """Lines that have `device` follow a trace, with a new queue before it.

    `start_ns` is when the trace begins for the first time, by CLOCK_MONOTONIC.
    """
    numbers = opportunities.split(",")
    parts = [
        ",".join(numbers[first : first + NUMBERS_IN_MESSAGE])
        for first in range(0, len(numbers), NUMBERS_IN_MESSAGE)
    ]
    place = f"dev {device} root handle {SHAPER} trace"
    options = " ".join(queue["options"])
    return [
        f"qdisc del dev {device} root",
        f"qdisc add {place} start {start_ns} opportunities {parts[0]}",
        *(f"qdisc change {place} further {part}" for part in parts[1:]),
        f"qdisc add dev {device} parent {SHAPED_CLASS} handle {QUEUE} {queue['kind']} {options}",
    ]


def renewed_queue(device: str, queue: Queue) -> list[str]:
    """Lines that put a new, empty queue in the place of a bottleneck's."""
    options = " ".join(queue["options"])
    place = f"dev {device} parent {SHAPED_CLASS} handle {QUEUE}"
    return [f"qdisc del {place}", f"qdisc add {place} {queue['kind']} {options}"]


def change_rate(device: str, rate_bps: int, mtu: int) -> str:
    """Line that gives a bottleneck another rate."""
    return f"class change dev {device} classid {SHAPED_CLASS} " + shaper_class(rate_bps, mtu)


def delay(device: str, delay_ns: int, rate_bps: int | None, verb: str = "add") -> str:
    """Line that delays what leaves `device` by `delay_ns` and its serialisation at `rate_bps`."""
    rate = f" rate {rate_bps}bit" if rate_bps else ""
    return (
        f"qdisc {verb} dev {device} root handle {SHAPER} netem "
        f"delay {microseconds(delay_ns)} limit {NETEM_LIMIT}{rate}"
    )


def microseconds(ns: int) -> str:
    """A time as tc reads it exactly: it takes no ns, and cuts off what its double lacks."""
    return f"{ns // 1000}.{ns % 1000:03d}1us"


def network_card(device: str, access_rate_bps: int | None, pacing: bool, mtu: int) -> list[str]:
    """Lines for a host's own interface: its speed, and fq when the host paces."""
    lines = []
    parent = "root"
    if access_rate_bps:
        lines += [
            f"qdisc add dev {device} root handle {SHAPER} htb default 1",
            f"class add dev {device} parent {SHAPER} classid {SHAPED_CLASS} "
            + shaper_class(access_rate_bps, mtu),
        ]
        parent = f"parent {SHAPED_CLASS}"
    if pacing:
        # Without slack (10 us by default) a packet's time depends on no other timer.
        lines.append(f"qdisc add dev {device} {parent} handle {QUEUE} fq timer_slack 0")
    return lines
