"""Which of flent's tests run in the lab: each of its list for LENGTH_S seconds, into docs/flent.md.

A test works when flent measured every series of it. Those that do not have flent's reason, or ours
for not starting it. Exit status 1 when fewer than PROMISED work of those for which Debian has what
they take. Without a word all are run; with names of tests (`python bench/flent.py rrul voip`) those
alone, and nothing is written.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from sandglass.install import builds

PAGE = builds.ROOT / "docs" / "flent.md"
PROMISED = 0.9
LENGTH_S = 10
AROUND_S = 12  # flent waits 5 s before and after most
PAIRS = 6
MISSING = ("is not installed", "the kernel has no congestion control")
"""What is said of a test for which Debian has not what it takes."""
HOSTS = ("rtt_fair", "cisco", "udp_flood_var")
"""How tests begin that take several hosts."""
STREAMS = {"parameters": {"upload_streams": "4", "download_streams": "4", "bidir_streams": "4"}}
KEYS: dict[str, dict[str, Any]] = {
    "rrul_be_nflows": STREAMS,
    "rrul_var": STREAMS,
    "rrul46": {"family": 6},
    "rrul46compete": {"family": 6},
    "tcp_ndown": STREAMS,
    "tcp_nup": STREAMS,
    "qdisc-stats": {"parameters": {"interface": "s1-eth0"}},
}
"""What tests must be told."""
MEMORY = {"tcp_upload_1000": {"memory": "6GB"}}
"""What the lab must have for their programs."""
HEAD = f"""# flent's tests

Every test of flent {{version}}'s own list, run for {LENGTH_S} s by `./sandglass bench flent` on a
dumbbell of 10 Mb/s and 40 ms with FQ-CoDel: **{{works}} of {{all}} work**, {{share:.0%}} of the
{{possible}} whose programs and congestion controls Debian has. How to run one:
[experiment.md](experiment.md#flows).

| test | | |
|---|---|---|
"""


class Outcome(NamedTuple):
    """What became of a test."""

    test: str
    about: str
    """flent's own line."""
    told: str
    """The keys that its flow had."""
    reason: str
    """Why it does not work; empty: it does."""


def tests() -> dict[str, str]:
    """flent's tests, and what it says of each."""
    folder = builds.lab_kernel().root / "usr/share/flent/flent/tests"
    found = {}
    for file in sorted(folder.glob("*.conf")):
        about = re.search(r"^DESCRIPTION=['\"](.*)['\"]", file.read_text(), re.M)
        found[file.stem] = about[1].replace("\\n", " ") if about else ""
    return found


def told(test: str) -> dict[str, Any]:
    """The keys of a test's flow besides the usual ones."""
    several = {"hosts": [f"d{number}" for number in range(2, PAIRS + 1)]}
    return KEYS.get(test, several if test.startswith(HOSTS) else {})


def experiment(test: str) -> dict[str, Any]:
    flow = {"workload": f"flent:{test}", "from": "s1", "to": "d1", "duration": f"{LENGTH_S}s"}
    return {
        "title": test,
        **MEMORY.get(test, {}),
        "topology": "dumbbell",
        "pairs": PAIRS if "hosts" in told(test) else 1,
        "rtt": "40ms",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "fq_codel"}},
        "flows": [{**flow, **told(test)}],
        "duration": f"{LENGTH_S + AROUND_S}s",
        "record": [],
    }


def outcome(test: str, about: str) -> Outcome:
    """Run a test."""
    with tempfile.TemporaryDirectory(prefix="sandglass-flent-") as name:
        folder = Path(name)
        (folder / "test.yaml").write_text(json.dumps(experiment(test)))  # JSON is YAML
        command = [builds.ROOT / "sandglass", "run", folder / "test.yaml", "--out", folder / "run"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        reason = unmeasured(folder / "run") if done.returncode == 0 else said(done.stderr)
    keys = json.dumps(told(test))[1:-1].replace('"', "")
    return Outcome(test, about, keys, reason)


def said(errors: str) -> str:
    """The message of a run that failed, without what all begin with."""
    line = next((line for line in errors.splitlines() if line.startswith("sandglass: ")), errors)
    told = re.sub(r"^sandglass: (flow 1: )?(flent:?\s?\S+( failed)?: )?", "", line)
    return re.sub(r", flent:\S+ needs it$", "", told).strip()


def unmeasured(run: Path) -> str:
    """The series without a value and what flent says of it; empty when there is none."""
    data = json.loads(gzip.decompress((run / "flent-1.flent.gz").read_bytes()))
    series = data["results"].items()
    without = [name for name, values in series if all(value is None for value in values)]
    failed = data["metadata"].get("FAILED_RUNNERS")
    if not without and not failed:
        return ""
    log = (run / "console.log").read_text(errors="replace")
    warnings = re.findall(r"^(?:\[[^]]*\] )?(?:WARNING|ERROR): (.*)$", log, re.M)
    more = f" and {len(without) - 1} more" if len(without) > 1 else ""
    what = f"{without[0]}{more}" if without else f"{failed} series"
    return f"no data of {what}: {'; '.join(dict.fromkeys(warnings))}"


def those_possible(outcomes: list[Outcome]) -> list[Outcome]:
    """The tests for which Debian has programs and congestion controls."""
    return [each for each in outcomes if not any(word in each.reason for word in MISSING)]


def page(outcomes: list[Outcome], version: str) -> str:
    works = sum(not each.reason for each in outcomes)
    possible = len(those_possible(outcomes))
    head = HEAD.format(
        version=version, works=works, all=len(outcomes), share=works / possible, possible=possible
    )
    return head + "".join(map(row, outcomes))


def row(each: Outcome) -> str:
    """A test's line of the table."""
    keys = f" (`{each.told}`)" if each.told else ""
    return f"| `{each.test}` | {each.about}{keys} | {each.reason or 'works'} |\n"


def main(names: list[str]) -> int:
    known = tests()
    chosen = {name: known[name] for name in names or known}
    with Progress(transient=True) as progress, ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(outcome, test, about) for test, about in chosen.items()]
        outcomes = [each.result() for each in progress.track(running, description="flent")]
    for each in outcomes:
        Console().print(f"{each.test}: {each.reason or 'works'}", markup=False, highlight=False)
    if names:
        return int(any(each.reason for each in outcomes))
    package = next(p for p in packages() if p["name"] == "flent")
    PAGE.write_text(page(outcomes, package["version"].partition("-")[0]))
    possible = those_possible(outcomes)
    return int(sum(not each.reason for each in possible) < PROMISED * len(possible))


def packages() -> list[dict[str, str]]:
    listed: list[dict[str, str]] = json.loads(
        (builds.lab_kernel().root.parent / builds.ROOT_LIST).read_text()
    )
    return listed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
