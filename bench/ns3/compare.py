"""Runs the same flows in the lab and in ns-3, and adds what receivers got to docs/ns3.csv.

A case that is there already is not run again.

Usage: ./sandglass python bench/ns3/compare.py FLOW, the program that flow.cc is compiled to.
docs/agreement.py makes tables and a figure of it.
"""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

import sandglass
from sandglass.install import builds

OUT = builds.ROOT / "docs" / "ns3.csv"
LINUX = {"reno": "LinuxReno", "cubic": "Cubic", "dctcp": "Dctcp"}
"""What ns-3 calls them."""
BDP_PACKETS_PER_MS = 20e6 / 8e3 / 1514


class Case(NamedTuple):
    queue: str
    rtt_ms: int
    cc: str
    since_s: int = 0
    seed: int = 1
    seconds: int = 90


def cases() -> Iterator[Case]:
    for rtt in range(180, 221, 2):
        yield Case("codel", rtt, "reno")
    for rtt in (100, 200, 10, 400):
        for cc in LINUX:
            yield Case("codel", rtt, cc)
        for cc in ("reno", "cubic"):
            yield Case("fifo", rtt, cc)
    for rtt in range(380, 421, 10):  # where 90 s are hardly more than the start
        for cc in LINUX:
            yield Case("codel", rtt, cc, 200, seconds=400)
    for cc in ("reno", "cubic"):
        yield Case("fifo", 400, cc, 200, seconds=400)
    for seed in (1, 2, 3, 4):
        for rtt in (100, 200):
            for cc in LINUX:
                yield Case("pie", rtt, cc, 30, seed)


def experiment(case: Case) -> dict[str, Any]:
    """The case in the lab, as examples/codel.yaml has it."""
    ecn = case.queue != "fifo"
    aqm = {"kind": case.queue, "limit": 1000, "ecn": True}
    return {
        "title": "the lab beside ns-3",
        "topology": "dumbbell",
        "rtt": f"{case.rtt_ms}ms",
        "bottleneck": {
            "rate": "20mbit",
            "queue": aqm if ecn else {"kind": "pfifo", "limit": "1bdp"},
        },
        "flows": [{"workload": "bulk", "from": "s1", "to": "d1", "cc": case.cc, "ecn": ecn}],
        "duration": f"{case.seconds}s",
        "record": ["goodput"],
        "seed": case.seed,
    }


def lab(case: Case) -> int:
    """What the receiver got in the lab, in bytes."""
    done = sandglass.run(experiment(case), cached=True)
    early = done.table("goodput").filter(pl.col("time_ns") <= case.since_s * 10**9)
    before = int(early["bytes"].tail(1).sum())  # 0 where nothing came before
    return int(done.field("flows.0.bytes")) - before


def options(case: Case) -> list[str]:
    """The case in ns-3, with the parameters of Linux's PIE.

    A slow start that overshoots through ns-3's PIE can end in a timeout that lasts for the rest of
    the run (Reno, 200 ms, RngRun 1), so that slow start ends at one BDP there.
    """
    given = [f"--rtt={case.rtt_ms}", f"--since={case.since_s}", f"--seconds={case.seconds}"]
    given += [f"--cc={LINUX[case.cc]}", f"--RngRun={case.seed}"]
    if case.queue == "fifo":
        limit = round(case.rtt_ms * BDP_PACKETS_PER_MS)
        return [*given, "--queue=Fifo", "--ecn=0", f"--limit={limit}p"]
    if case.queue == "codel":
        return [*given, "--queue=CoDel"]
    bdp = round(case.rtt_ms * BDP_PACKETS_PER_MS) * 1448
    disc = "--ns3::PieQueueDisc::"
    given += ["--queue=Pie", f"{disc}QueueDelayReference=15ms", f"{disc}Tupdate=15ms"]
    given += [f"{disc}MaxBurstAllowance=150ms"]
    return [*given, f"--ns3::TcpSocket::InitialSlowStartThreshold={bdp}"]


def ns3(flow: str, case: Case) -> int:
    """What the receiver got in ns-3, in bytes."""
    done = subprocess.run([flow, *options(case)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("Usage: ./sandglass python bench/ns3/compare.py FLOW")
    done = set(pl.read_csv(OUT).select(Case._fields).rows()) if OUT.exists() else set()
    for case in dict.fromkeys(cases()):
        if case in done:
            continue
        row = {**case._asdict(), "lab_bytes": lab(case), "ns3_bytes": ns3(sys.argv[1], case)}
        with OUT.open("a") as file:
            pl.DataFrame([row]).write_csv(file, include_header=file.tell() == 0)


if __name__ == "__main__":
    main()
