"""Each topology carries TCP, in the lab and at the prompt of plain Mininet."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandglass.experiment import python_file, topology
from sandglass.install import builds
from sandglass.install.root import within
from sandglass.run import runs
from tests.lab.conftest import Cli, command
from tests.lab.experiments import Lab, Mapped, bulk

pytestmark = pytest.mark.lab
# Of each topology: parameters, flows, and the bottlenecks that these fill in forward direction.
CASES: dict[str, tuple[Mapped, list[Mapped], list[str]]] = {
    "dumbbell": ({"pairs": 2}, [bulk(), bulk("s2", "d2")], ["bottleneck"]),
    "dumbbell_ovs": ({"pairs": 2}, [bulk(), bulk("s2", "d2")], ["bottleneck"]),
    "parking_lot": (
        {"hops": 3},
        [bulk(), bulk("s2", "d2"), bulk("s3", "d3"), bulk("s4", "d4")],
        ["hop1", "hop2", "hop3"],
    ),
    "abilene": (
        {"bw": 10.0},
        [bulk("h_sttl", "h_atla"), bulk("h_chin", "h_hstn")],
        [],
    ),
    "chain": ({"routers": 4}, [bulk("h1", "h4"), bulk("h2", "h3")], ["r2-r3"]),
    "fat_tree": ({"bw": 10.0, "delay": "1ms"}, [bulk("h1", "h16"), bulk("h2", "h15")], []),
    "leaf_spine": ({"bw": 10.0, "delay": "1ms"}, [bulk("h1", "h16"), bulk("h2", "h15")], []),
    "star": ({"arms": 3}, [bulk("h1", "h2"), bulk("h3", "h1")], ["arm1", "arm2"]),
}


NAMED = ("dumbbell", "dumbbell_ovs", "parking_lot", "star")
"""Those that name a bottleneck."""
# An echo crosses so many bottlenecks there and back.
HOPS = {
    "dumbbell": {"s1-d1": 2, "s2-d2": 2},
    "dumbbell_ovs": {"s1-d1": 2, "s2-d2": 2},
    "parking_lot": {"s1-d1": 6, "s2-d2": 2, "s3-d3": 2, "s4-d4": 2},
    "chain": {"h1-h4": 2, "h2-h3": 2},
    "star": {"h1-h2": 4, "h3-h1": 4},
}


def experiment(name: str) -> Mapped:
    parameters, flows, full = CASES[name]
    queue = {"kind": "pfifo", "limit": "1bdp"}
    slow = {"rate": "10mbit", "queue": queue}
    own = {"bottleneck": slow} if name in NAMED else {"links": dict.fromkeys(full, slow)}
    return (
        parameters
        | own
        | {
            "topology": name,
            "rtt": "40ms",
            "flows": flows,
            "duration": "10s",
        }
    )


def test_all_topologies_have_a_case() -> None:
    assert set(CASES) == set(topology.names())


@pytest.mark.parametrize("name", CASES)
def test_it_carries_tcp_and_its_bottlenecks_are_the_only_ones(lab: Lab, name: str) -> None:
    run = lab(experiment(name))
    _, flows, full = CASES[name]
    for flow in run.content["flows"]:
        assert flow["goodput_mbit"] > 0.5, flow
        assert flow["cc"] == "cubic"
    bottlenecks = run.content["bottlenecks"]
    for bottleneck in full:
        assert bottlenecks[bottleneck]["utilisation"] > 0.9
    pairs = {f"{flow['from']}-{flow['to']}" for flow in flows}
    assert run.content["observed"]["rtt_ms"].keys() == pairs
    for pair, hops in HOPS.get(name, {}).items():
        # An echo of 98 bytes is transmitted over each of them.
        rtt = run.content["observed"]["rtt_ms"][pair]
        assert rtt == pytest.approx(40 + hops * 98 * 8 / 10e6 * 1e3, abs=0.002)
    # Nothing is lost outside the bottlenecks' queues, and nothing waits there.
    others = [
        q
        for found in run.content["observed"]["qdiscs"].values()
        for q in found
        if q["handle"] != "10:"
    ]
    assert others
    assert sum(q["drops"] for q in others if q["kind"] == "netem") == 0


def test_flows_cross_the_bottlenecks_on_their_way(lab: Lab) -> None:
    packets = lab(experiment("parking_lot")).table("packets")
    crossed = {
        number: set(packets.filter(flow=number)["bottleneck"].unique()) for number in (1, 2, 3, 4)
    }
    assert crossed == {1: {"hop1", "hop2", "hop3"}, 2: {"hop1"}, 3: {"hop2"}, 4: {"hop3"}}


def test_open_vswitch_forwards_in_the_kernel(lab: Lab) -> None:
    """Through a switch as without one: the same packets cross the bottleneck at the same rate."""
    plain, switched = lab(experiment("dumbbell")), lab(experiment("dumbbell_ovs"))
    assert sum(f["bytes"] for f in switched.content["flows"]) == pytest.approx(
        sum(f["bytes"] for f in plain.content["flows"]), rel=0.02
    )


def prompt(target: str, *typed: str, options: Sequence[str] = ()) -> str:
    """What Mininet's prompt in the lab answers."""
    done = subprocess.run(
        command(builds.ROOT, "shell", target, *options),
        cwd=builds.ROOT,
        input="".join(line + "\n" for line in typed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,  # for a prompt that never ends
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["dumbbell", "dumbbell_ovs"])
def test_all_hosts_answer_at_the_prompt(name: str) -> None:
    assert "0% dropped (12/12 received)" in prompt(f"topologies/{name}.py", "pingall")


@pytest.mark.thorough
def test_the_prompt_takes_a_topology_as_mininets_users_write_it(tmp_path: Path) -> None:
    """Neither bottleneck nor addresses, links by TCLink's names; and a shipped one of such."""
    path = tmp_path / "plain.py"
    path.write_text(
        "from mininet.topo import Topo\n"
        "class Plain(Topo):\n"
        "    def build(self):\n"
        "        switch = self.addSwitch('s1')\n"
        "        for number in (1, 2, 3):\n"
        "            self.addLink(self.addHost(f'h{number}'), switch, bw=10, delay='5ms')\n"
        "topos = {'plain': Plain}\n"
    )
    said = prompt(str(path), "h1 ping -c 10 -i 0.1 h2", "pingall")
    assert "0% dropped (6/6 received)" in said
    times = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", said)]
    # Two links there and two back. The prompt is in real time: a machine at work adds to it, and
    # test_script.py has the length to a tenth of a millisecond in virtual time.
    assert 20 <= min(times) < 30
    assert "1 received, 0% packet loss" in prompt("chain", "h1 ping -c 1 h3")


@pytest.fixture
def asking(tmp_path: Path) -> str:
    """A topology that is told how many pairs it has."""
    path = tmp_path / "asking.py"
    path.write_text(
        "from topologies import dumbbell\n"
        "class Asking(dumbbell.Dumbbell):\n"
        "    def build(self, n: int):\n"
        "        super().build(pairs=n)\n"
        "topos = {'asking': Asking}\n"
    )
    return str(path)


@pytest.mark.thorough
def test_a_parameter_is_given_at_the_prompt(asking: str) -> None:
    assert "0% dropped (56/56 received)" in prompt(asking, "pingall", options=("--set", "n=3"))


def test_a_parameter_that_is_missing_at_the_prompt(asking: str, sandglass: Cli) -> None:
    done = sandglass("shell", asking)
    assert done.returncode == 2
    assert "n: is missing: topology asking needs a whole number" in done.stderr
    assert "Give it: --set n=VALUE" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "received"), [("dumbbell,2", 30), ("parking_lot,2", 72), ("star,3", 42)]
)
def test_plain_mininet_runs_it(arguments: str, received: int) -> None:
    """With the `mn` command, in the lab, whose kernel has all that Mininet needs."""
    name = arguments.partition(",")[0]
    said = prompt(
        "topologies/dumbbell.py",
        "sh cd /run/sandglass/code && mn --controller none --test pingall "
        f"--custom topologies/{name}.py --topo {arguments} 2>&1",
    )
    assert f"0% dropped ({received}/{received} received)" in said


def test_plain_mininet_builds_the_one_with_switches() -> None:
    """In a process that knows neither Sandglass nor its paths, as `mn` starts it."""
    root = builds.lab_kernel().root
    program = """
import sys
sys.path.append(sys.argv[1])
custom = {}
exec(open("topologies/dumbbell_ovs.py").read(), custom)
topo = custom["topos"]["dumbbell_ovs"](3)
print(*sorted(topo.switches()), len(topo.hosts()), len(topo.links()))
"""
    done = subprocess.run(
        [*within(root, "usr/bin/python3"), "-B", "-c", program, root / python_file.PYTHON_PACKAGES],
        cwd=builds.ROOT,
        env={"PYTHONHOME": str(root / "usr")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["sw1", "sw2", "8", "9"]


def test_the_prompt_leaves_nothing_behind() -> None:
    before = set(builds.ROOT.iterdir()), set(runs.RUNS.glob("*"))
    prompt("topologies/star.py", "nodes")
    assert (set(builds.ROOT.iterdir()), set(runs.RUNS.glob("*"))) == before
