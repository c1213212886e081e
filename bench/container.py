"""How soon a container is at work: from `docker run` to the first packet of its experiment.

What is timed is the first report of progress on the terminal, which the lab makes after a twentieth
of examples/codel.yaml: the first packet was sent before that. The best of REPEATS counts; exit
status 1 when it is later than promised. Needs the image (container/build).
"""

import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

REPEATS = 3
PROMISED_S = 3.0
COMMAND = ("docker", "run", "--rm", "--tty", "--cap-drop", "ALL", "sandglass")
EXPERIMENT = ("run", "examples/codel.yaml")
REPORT = b"codel: "


def first_report_s() -> float:
    """Wall time until a container reports progress, in seconds; the run is then left to end."""
    start = time.perf_counter()
    said = b""
    with subprocess.Popen(
        [*COMMAND, *EXPERIMENT],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    ) as process:
        assert process.stdout
        while REPORT not in said:
            if not (more := process.stdout.read(4096)):
                sys.exit(f"sandglass: no container has run an experiment:\n{said.decode()}")
            said += more
        seconds = time.perf_counter() - start
        process.communicate()
    return seconds


def main() -> int:
    seconds = min(first_report_s() for _ in range(REPEATS))
    table = Table("measured", "seconds", "promised", "", box=None, pad_edge=False)
    verdict = "ok" if seconds < PROMISED_S else "too slow"
    table.add_row("docker run to first packet", f"{seconds:.2f}", f"{PROMISED_S:.2f}", verdict)
    Console().print(table)
    return int(seconds >= PROMISED_S)


if __name__ == "__main__":
    sys.exit(main())
