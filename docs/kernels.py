"""Prints the table of kernels.md.

Usage: python docs/kernels.py, in Sandglass's environment.
"""

from typing import Any

import polars as pl

import sandglass

KERNELS = ("6.12", "7.2")
FIXED = {"d1": {"sysctls": {"net.ipv4.tcp_rmem": "4096 16000000 16000000"}}}
"""A receiver whose window begins at its largest."""
CODEL = {"kind": "codel", "limit": 1000, "ecn": True}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Reno, CoDel with ECN": ("reno", CODEL),
    "CUBIC, CoDel with ECN": ("cubic", CODEL),
    "CUBIC, FIFO of a BDP": ("cubic", {"kind": "pfifo", "limit": "1bdp"}),
    "CUBIC, PIE": ("cubic", {"kind": "pie"}),
    "CUBIC, FQ-CoDel": ("cubic", {"kind": "fq_codel"}),
    "DCTCP, CoDel with ECN": ("dctcp", CODEL),
    "BBR, CoDel with ECN": ("bbr", CODEL),
}


def run(cc: str, queue: dict[str, Any], kernel: str, hosts: dict[str, Any]) -> sandglass.Run:
    """One flow at 20 Mb/s and 100 ms for 20 s."""
    flow = {"workload": "bulk", "from": "s1", "to": "d1", "cc": cc, "ecn": bool(queue.get("ecn"))}
    experiment = {
        "title": "kernels",
        "lab": kernel,
        "topology": "dumbbell",
        "rtt": "100ms",
        "bottleneck": {"rate": "20mbit", "queue": queue},
        "flows": [flow],
        "hosts": hosts,
        "duration": "20s",
        "record": ["packets"],
    }
    return sandglass.run(experiment, cached=True)


def apart(one: pl.DataFrame, other: pl.DataFrame) -> str:
    """How far the same packets are apart at the queues at most, or that they are not the same."""
    # Each direction by itself: who is first of two packets in a microsecond is no matter.
    both = [each.sort("direction", "enqueue_ns", maintain_order=True) for each in (one, other)]
    same = ["direction", "size_bytes", "ecn_out", "drop"]
    if not both[0].select(same).equals(both[1].select(same)):
        return "no"
    most = (both[0]["enqueue_ns"] - both[1]["enqueue_ns"]).abs().max()
    return f"within {most / 1e3:.1f} us"  # type: ignore[operator]


def row(name: str, hosts: dict[str, Any]) -> str:
    cc, queue = CASES[name]
    runs = [run(cc, queue, kernel, hosts) for kernel in KERNELS]
    numbers = [
        " and ".join(f"{each.field(path):.4g}" for each in runs)
        for path in (
            "flows.0.goodput_mbit",
            "bottleneck.queue_delay_ms.max",
            "bottleneck.drops",
            "bottleneck.marks",
        )
    ]
    return f"| {name} | {' | '.join(numbers)} | {apart(*(each.packets for each in runs))} |"


if __name__ == "__main__":
    for told, hosts in (("as Linux has it", {}), ("at its largest from the start", FIXED)):
        print(f"The receiver's window {told}:\n")
        print("| | goodput, Mb/s | longest delay, ms | dropped | marked | the same packets |")
        print("|---|---|---|---|---|---|")
        print("\n".join(row(name, hosts) for name in CASES), end="\n\n")
