"""How fast an experiment runs: the whole `run` command, from its start to its end.

Measures virtual seconds per wall second of examples/codel.yaml, alone with and without recording,
and two at once, each the best of REPEATS; exit status 1 when one is slower than promised.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sandglass.install import builds

EXAMPLE = builds.ROOT / "examples" / "codel.yaml"
REPEATS = 3
RECORDING_SPEED = 36.0
SILENT_SPEED = 45.0
TWO_AT_ONCE_SLOWDOWN = 1.15


def seconds(count: int, out: Path, *options: str) -> float:
    """Wall time of `count` runs started together, in seconds, until the last one ended."""
    start = time.perf_counter()
    command = [str(builds.ROOT / "sandglass"), "run", str(EXAMPLE), *options, "--out"]
    processes = [
        subprocess.Popen([*command, str(out / str(number))], stdout=subprocess.DEVNULL)
        for number in range(count)
    ]
    if max(process.wait() for process in processes):
        sys.exit("sandglass: a run failed: there is nothing to measure")
    return time.perf_counter() - start


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)

        def best(count: int, *options: str) -> float:
            return min(seconds(count, out, *options) for _ in range(REPEATS))

        recording, silent, two = best(1), best(1, "--record", "none"), best(2)
        virtual_s = json.loads((out / "0" / "run.json").read_text())["virtual_s"]
    table = Table("measured", "seconds", "speed", "promised", "", box=None, pad_edge=False)
    rows = [
        ("with recording", recording, RECORDING_SPEED),
        ("without", silent, SILENT_SPEED),
        ("two at once, with recording", two, virtual_s / (recording * TWO_AT_ONCE_SLOWDOWN)),
    ]
    for what, wall_s, promised in rows:
        speed = virtual_s / wall_s
        verdict = "ok" if speed >= promised else "too slow"
        table.add_row(what, f"{wall_s:.2f}", f"{speed:.0f}", f"{promised:.0f}", verdict)
    Console().print(table)
    return int(any(virtual_s / wall_s < promised for _, wall_s, promised in rows))


if __name__ == "__main__":
    sys.exit(main())
