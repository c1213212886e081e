"""check: what would be run, and what may not be meant; nothing runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.experiment import reading, topology
from sandglass.guide import preview
from sandglass.guide.picture import picture, ranges
from sandglass.install import builds

pytestmark = pytest.mark.lab  # whose root has Mininet
CODEL = builds.ROOT / "examples" / "codel.yaml"


def check(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "sandglass", "check", *words],
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def warnings(*settings: str, of: Path = CODEL) -> str:
    return "\n".join(preview.preview(reading.load(of, settings)).warnings)


def test_what_would_be_run() -> None:
    done = check(str(CODEL), "--set", "rtt=50ms")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[2:5] == ["r1 ── s1", "║ bottleneck 20mbit codel", "r2 ── d1"]
    assert "codel, limit 1000 packets: 1514000 B, 605.6ms, 12.11 BDP; ecn" in done.stdout
    assert "BDP at 50ms: 125000 B, 82.6 packets of 1514 B" in done.stdout
    assert "bulk s1 → d1, cubic, ECN, from 0s to 90s" in done.stdout
    assert "warning" not in done.stdout
    assert lines[-1].endswith(f"/sandglass run {CODEL} --set rtt=50ms")


def test_of_a_topology_without_a_bottleneck() -> None:
    """Its links have the delays; what cannot be known is not said to be none."""
    told = check(str(builds.ROOT / "docs" / "tutorial" / "ping.yaml")).stdout
    assert "round trips   what links and queues take: h1 → h2" in told
    assert "0s:" not in told
    assert "(0 rows)" not in told


def test_a_path_with_a_space_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "a b.yaml").write_text(CODEL.read_text())
    assert check(str(tmp_path / "a b.yaml")).stdout.endswith(f"run '{tmp_path}/a b.yaml'\n")


def test_for_programs() -> None:
    told = json.loads(check(str(CODEL), "--json", "--seed", "7").stdout)
    assert told["plan"]["seed"] == 7
    assert told["plan"]["bottlenecks"]["bottleneck"]["forward"]["rate_bps"] == 20_000_000
    assert told["expected"]["memory_mb"] == told["plan"]["memory_mb"]
    assert told["expected"]["rows"].keys() == {"packets", "acks", "queues"}
    assert told["warnings"] == []


def test_errors_are_those_of_run() -> None:
    done = check(str(CODEL), "--set", "bottleneck.queue.knd=3", "--set", "flows.0.start=100s")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bottleneck.queue.knd: codel has no option 'knd'" in done.stderr
    assert "flows[0].start: 100s is not before the end" in done.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["bottleneck.queue={kind: pfifo, limit: 50}"], "below the BDP of 250000 B: one flow"),
        (["bottleneck.queue.limit=50"], "codel may drop for want of room"),
        (["bottleneck.queue.limit=5"], "below an initial window, 10 packets"),
        (["hosts.s1.initcwnd=1100"], "below an initial window, 1100 packets"),
        (["bottleneck.queue={kind: pfifo}"], "flows ask for ECN, but pfifo does not mark"),
        (["bottleneck.queue.ecn=false"], "codel does not mark: give it ecn: true"),
        (["rtt=1ms"], "less than two packets"),
        (["hosts.s1.sysctls.net.ipv4.tcp_wmem=4096 8192 100000"], "memory cuts it"),
        (["duration=1s", "flows.0.duration=1s"], "10.0 round trips"),
        (["record=[]"], "nothing over time"),
        (["bottleneck.queue={kind: fq_codel, ecn: false}"], "fq_codel does not mark"),
    ],
)
def test_what_may_not_be_meant(settings: list[str], said: str) -> None:
    assert said in warnings(*settings)


@pytest.mark.parametrize("kind", ["fq_codel", "cake", "pi2"])
def test_queues_that_mark_are_not_doubted(kind: str) -> None:
    assert "mark" not in warnings(f"bottleneck.queue={{kind: {kind}}}")


def test_the_examples_are_all_told_and_hardly_doubted() -> None:
    for path in sorted((builds.ROOT / "examples").glob("*.yaml")):
        assert list(preview.preview(reading.load(path)).told())


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandglass.install.memory.available_mb", lambda: 100)
    assert "and 100 MB are free" in warnings()


def test_more_flows_bytes_and_records_take_longer() -> None:
    def seconds(*settings: str) -> float:
        found = preview.preview(reading.load(CODEL, settings)).expected.wall_s
        assert found is not None
        return found

    assert seconds() < seconds("bottleneck.rate=200mbit")
    assert seconds("record=[]") < seconds()
    assert seconds("flows.0={workload: bulk, from: s1, to: d1, ecn: true, size: 1MB}") < seconds()


STUDY = """
title: Which queue?
experiment: {codel}
vary:
  queue:
    key: bottleneck.queue
    values: {{CoDel: {{kind: codel, ecn: true}}, FIFO: {{kind: pfifo, limit: 20}}}}
  rtt: [20ms, 100ms]
replicas: 3
metrics: {{goodput: flows.0.goodput_mbit}}
"""


def test_a_study(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(STUDY.format(codel=CODEL))
    done = check(str(tmp_path / "queues.yaml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "queue: CoDel, FIFO" in done.stdout
    assert "3 of each of 4 points" in done.stdout
    assert "12, of which" in done.stdout
    assert "the first point, queue=CoDel, rtt=20ms:" in done.stdout
    assert "pfifo does not mark (queue=FIFO, rtt=" in " ".join(done.stdout.split())
    told = json.loads(check(str(tmp_path / "queues.yaml"), "--json").stdout)
    assert told["runs"] == 12
    assert len(told["points"]) == 4
    assert told["expected"]["labs_s"] > 0


def test_errors_of_a_study_are_those_of_study(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(STUDY.format(codel=CODEL).replace("[20ms", "[20mss"))
    done = check(str(tmp_path / "queues.yaml"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "queues.yaml:" in done.stderr


def test_a_limit_of_one_bdp_is_not_below_it() -> None:
    assert "BDP" not in warnings("bottleneck.queue={kind: pfifo, limit: 1bdp}", "rtt=40ms")


def drawn(name: str, **params: object) -> list[str]:
    facts = topology.facts(name, params)
    return picture(facts, lambda link: link if link in facts.bottlenecks else "")


def test_pictures() -> None:
    assert drawn("dumbbell", pairs=10) == [
        "r1 ── s1 … s10 (10)",
        "║ bottleneck",
        "r2 ── d1 … d10 (10)",
    ]
    star = drawn("star", arms=3)
    assert star[0::3] == ["core", "└─ arm3 ─ a3 ── h3"]
    assert drawn("parking_lot", hops=2)[1::2] == ["║ hop1", "║ hop2"]
    assert drawn("chain", routers=2) == ["r1 ── h1", "│", "r2 ── h2"]
    assert drawn("leaf_spine", leaves=2, spines=2, per_leaf=2) == [
        "spine1 ─ leaf1, leaf2",
        "spine2 ─ leaf1, leaf2",
        "leaf1  ── h1, h2",
        "leaf2  ── h3, h4",
    ]


OWN = """
from mininet.topo import Topo
class Own(Topo):
    def build(self):
        {body}
topos = {{"own": Own}}
"""
TWO_HOSTS = 'self.addLink(self.addHost("h1"), self.addHost("h2"))'
RING = """r = [self.addHost(f"r{n}", routes=[]) for n in (1, 2, 3)]
        for n in range(3): self.addLink(r[n], r[(n + 1) % 3])
        for n in range(3): self.addLink(r[n], self.addHost(f"h{n}"))"""
TREE = """s = [self.addSwitch(f"s{n}") for n in range(1, 8)]
        for n in range(1, 7): self.addLink(s[n], s[(n - 1) // 2])
        for n in range(3, 7): self.addLink(s[n], self.addHost(f"h{n}"))"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (TWO_HOSTS, ["h1", "│", "h2"]),
        (RING, ["r1 ─ r2, r3 ── h0", "r2 ─ r3 ── h1", "r3 ── h2"]),
        (TREE, ["s1", "├─ s2", "│  ├─ s4 ── h3", "│  └─ s5 ── h4",
                "└─ s3", "   ├─ s6 ── h5", "   └─ s7 ── h6"]),
    ],
)  # fmt: skip
def test_pictures_of_ones_own(tmp_path: Path, body: str, lines: list[str]) -> None:
    (tmp_path / "own.py").write_text(OWN.format(body=body))
    assert drawn(str(tmp_path / "own.py")) == lines


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["d1", "s2", "s1"], "d1, s1, s2"),
        ([f"s{n}" for n in range(1, 13)], "s1 … s12 (12)"),
        (["s1", "s2", "s3", "s4", "s9", "x"], "s1 … s4 (4), s9, x"),
    ],
)
def test_ranges(names: list[str], said: str) -> None:
    assert ranges(names) == said
