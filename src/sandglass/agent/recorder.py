"""Talks to the recorder module (kmods/recorder)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandglass.agent import kernel
from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from sandglass.agent.network import Network

PROC = "/proc/recorder"
STREAMS = ("headers", "packets", "acks", "queues")
BLOCK = 1 << 18  # bytes; a new piece of memory for each would cost more than the copying
QUEUE_INTERVAL_NS = 10_000_000  # the finest the field asks for; a sample costs about 1 us


def _command(text: str, where: str | None = None) -> None:
    with kernel.namespace(where), open(f"{PROC}/control", "w") as control:
        control.write(text)


def watch(network: Network) -> None:
    """Have the module watch both directions of every bottleneck, in the order of `queues_of`."""
    for name, bottleneck in network.recorded():
        for direction in ("forward", "reverse"):
            interface = getattr(bottleneck, direction)
            queue = network.plan["bottlenecks"][name][direction]["queue"]
            limit = queue["limit"] if queue["limit"] is not None else 0xFFFFFFFF
            _command(
                f"watch {interface.name} 10: {limit} {queue['limit_unit']}",
                interface.node.namespace,
            )


def queues_of(network: Network) -> list[dict[str, str]]:
    """What the numbers of the watched queues mean.

    Shape of an entry: {"bottleneck", "direction", "kind", "node", "device"}.
    """
    queues = []
    for name, bottleneck in network.recorded():
        for direction in ("forward", "reverse"):
            interface = getattr(bottleneck, direction)
            queue = network.plan["bottlenecks"][name][direction]["queue"]
            queues.append(
                {
                    "bottleneck": name,
                    "direction": direction,
                    "kind": queue["kind"],
                    "node": interface.node.name,
                    "device": interface.name,
                }
            )
    return queues


def start(streams: list[str], zero_ns: int) -> None:
    """Start recording `streams` at CLOCK_MONOTONIC `zero_ns`, which becomes time zero."""
    _command(f"zero {zero_ns}")
    words = [f"queues={QUEUE_INTERVAL_NS}" if s == "queues" else s for s in streams]
    _command(" ".join(["start", *words]))


def stop() -> None:
    """Stop recording."""
    _command("stop")


def save(streams: list[str], directory: str) -> dict[int, str]:
    """Copy the records into files named after their streams.

    Returns the names of the congestion controls by the numbers that stand for them.

    Raises:
        RunError: records were lost, or the disk is full.
    """
    with open(f"{PROC}/control") as control:
        status = [line.split() for line in control]
    for line in status:
        if line[0] in STREAMS and int(line[3]):
            raise RunError(
                f"the recorder lost {line[3]} of {line[1]} records of {line[0]}",
                "Give the lab more memory, or record less (--record).",
            )
    block = memoryview(bytearray(BLOCK))
    for stream in streams:
        try:
            with (
                open(f"{PROC}/{stream}", "rb", 0) as source,
                open(f"{directory}/{stream}.records", "wb", 0) as target,
            ):
                while count := source.readinto(block):
                    target.write(block[:count])
        except OSError as error:
            raise RunError(f"cannot write {stream}.records: {error.strerror}") from None
    return {int(line[1]): line[2] for line in status if line[0] == "cc"}
