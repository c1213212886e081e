"""What our qdiscs cost: CPU time per packet of a whole run at 1 Gb/s, over that with CoDel.

The same datagrams, 900 Mb/s, go through each queue, turn about, and the best of REPEATS turns
counts; a FIFO shows how much of it is the rest of the lab. Exit status 1 when one is dearer than
CoDel by more than is promised.
"""

import itertools
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from sandglass.install import builds

REPEATS = 3
PROMISED = 1.2
RIVAL = "codel"
QUEUES = ("pfifo", RIVAL, "predict")
SHORT_S, LONG_S = 1, 3  # the difference of two runs is free of what each has to begin with


def experiment(kind: str, seconds: int) -> dict[str, object]:
    return {
        "title": f"900 Mb/s through {kind}",
        "topology": "dumbbell",
        "rtt": "1ms",
        "bottleneck": {"rate": "1gbit", "queue": {"kind": kind, "limit": 1000}},
        "flows": [{"workload": "udp", "from": "s1", "to": "d1", "rate": "900mbit"}],
        "duration": f"{seconds}s",
        "record": [],
    }


def cost(kind: str, seconds: int, folder: Path) -> tuple[float, int]:
    """CPU seconds of a run with all its processes, and the packets that went through the queue."""
    source, out = folder / "bench.yaml", folder / f"{kind}-{seconds}"
    source.write_text(yaml.safe_dump(experiment(kind, seconds)))
    command = [str(builds.ROOT / "sandglass"), "run", str(source), "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"sandglass: the run with {kind} failed: there is nothing to measure")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads((out / "run.json").read_text())["bottleneck"]["packets"]


def main() -> int:
    cases = list(itertools.product(QUEUES, (SHORT_S, LONG_S)))
    best = dict.fromkeys(cases, (float("inf"), 0))
    for case in cases * REPEATS:
        with tempfile.TemporaryDirectory() as name:
            best[case] = min(best[case], cost(*case, Path(name)))
    each = {}
    for kind in QUEUES:
        (short, few), (long, many) = best[kind, SHORT_S], best[kind, LONG_S]
        each[kind] = (long - short) / (many - few) * 1e6
    table = Table("qdisc", "us a packet", f"over {RIVAL}", box=None, pad_edge=False)
    for kind, us in each.items():
        table.add_row(kind, f"{us:.2f}", f"{us / each[RIVAL]:.2f}")
    Console().print(table)
    return int(each["predict"] > PROMISED * each[RIVAL])


if __name__ == "__main__":
    sys.exit(main())
