"""The host backend, on a machine of its own: the lab's kernel in real time, as root.

Nothing here depends on how fast the machine is.
"""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.lab import lab
from sandglass.run import host, plan
from tests.lab.experiments import Run, bulk, dumbbell, flow, written

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
"""What Sandglass's environment is for."""
pytestmark = [
    pytest.mark.lab,
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (builds.built_root() or Path()).joinpath(f"root/usr/bin/{PYTHON}").exists(),
        reason=f"the machine has the lab's programs, among which there is no {PYTHON}",
    ),
]
MEMORY_MB = 1024

ABE = dumbbell(
    bulk(ecn=True),
    queue={"kind": "hred", "rate": "2mbit", "rtt": "40ms", "limit": "100kB"},
    rate="2mbit",
    duration="2s",
    hosts={"s1": {"sysctls": {"net.ipv4.tcp_congestion_control": "abe_reno"}}},
)
SWITCHES = dumbbell(
    bulk(cc="dctcp_inet", ecn=True),
    topology="dumbbell_ovs",
    queue={"kind": "predict", "limit": 100},
    rate="2mbit",
    duration="2s",
)
TALK = dumbbell(
    flow("udp", rate="100kbit", duration="60s"),
    queue={"kind": "pi2", "limit": 100},
    rate="10gbit",
    duration="60s",
)
WIRES = {
    "title": "test",
    "topology": "chain",
    "routers": 3,
    "links": {"r1-r2": {"rate": "2mbit", "delay": "5ms"}, "r2-r3": {"delay": "5ms"}},
    "flows": [flow("udp", "h1", "h3", rate="100kbit", duration="1s")],
    "duration": "2s",
    "record": [],
}
STEPS: dict[str, dict[str, Any]] = {
    "whole": {"run": ["abe"]},
    "wires": {"run": ["wires"]},
    "switches": {"run": ["switches"]},
    "terminated": {"run": ["talk"], "kill": ["sandglass"], "with": signal.SIGTERM},
    "interrupted": {"run": ["talk"], "kill": ["sandglass"], "with": signal.SIGINT},
    "killed": {"run": ["talk"], "kill": ["sandglass"], "with": signal.SIGKILL},
    "agent killed": {"run": ["talk"], "kill": ["agent"], "with": signal.SIGKILL},
    "beside": {"run": ["abe"], "beside": ["talk"]},
    "all killed": {"run": ["talk"], "kill": ["keeper", "sandglass"], "with": signal.SIGKILL},
    "refused": {"run": ["abe"]},
    "obeyed": {"obey": True},
}
EXPERIMENTS = {"abe": ABE, "switches": SWITCHES, "talk": TALK, "wires": WIRES}


def words(name: str) -> list[str]:
    return ["run", f"{name}.yaml", "--backend", "host", "--out", name]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the machine's commands were carried out."""
    home = tmp_path_factory.mktemp("machine")
    for name, experiment in EXPERIMENTS.items():
        written(experiment, home / f"{name}.yaml")
    steps = [
        {key: words(*value) if key in ("run", "beside") else value for key, value in step.items()}
        for step in STEPS.values()
    ]
    cache = builds.directory()
    python = str(Path(sys.executable).relative_to(cache))
    wanted = {"cache": lab.FURTHER, "python": python, "steps": steps}
    (home / "machine.json").write_text(json.dumps(wanted))
    lab.run_program("tests/lab/machine.py", home, memory_mb=MEMORY_MB, clock=(), further=cache)
    return home


@pytest.fixture
def steps(home: Path) -> dict[str, Any]:
    """What the machine was before all steps, and what each gave."""
    done = json.loads((home / "steps.json").read_text())
    return dict(zip(["before", *STEPS], done, strict=True))


@pytest.mark.parametrize("name", [name for name in STEPS if name not in ("all killed", "refused")])
def test_the_machine_is_left_as_it_was(steps: dict[str, Any], name: str) -> None:
    assert steps[name]["machine"] == steps["before"]["machine"], steps[name]["out"]


def test_a_run_in_real_time(home: Path, steps: dict[str, Any]) -> None:
    assert steps["whole"]["status"] == 0, steps["whole"]["out"]
    run = Run(home / "abe", json.loads((home / "abe" / "run.json").read_text()))
    assert run.content["clock"] == "real"
    assert run.content["digest"] is None
    assert "no digest" in steps["whole"]["out"]
    assert run.qdisc()["kind"] == "hred"
    assert (
        run.content["observed"]["hosts"]["s1"]["sysctls"]["net.ipv4.tcp_congestion_control"]
        == "abe_reno"
    )
    packets = run.packets(flow=1)
    assert packets["enqueue_ns"].is_between(0, 2_000_000_000).mean() > 0.9  # type: ignore[operator]
    assert run.table("acks")["cc"].unique().to_list() == ["abe_reno"]
    assert run.content["flows"][0]["bytes"] > 0


def test_links_that_lie_anywhere(home: Path, steps: dict[str, Any]) -> None:
    assert steps["wires"]["status"] == 0, steps["wires"]["out"]
    run = json.loads((home / "wires" / "run.json").read_text())
    assert run["flows"][0]["datagrams_received"] == run["flows"][0]["datagrams_sent"] > 0


def test_what_links_need_of_the_kernel_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Here on a kernel that has nothing of it."""

    def refused(command: list[str]) -> str:
        return "TC classifier not found" if command[0] == "sh" else ""

    monkeypatch.setattr(host, "_refused", refused)
    for experiment, lacks in (
        (WIRES, ["CONFIG_NET_SCH_INGRESS", "CONFIG_NET_CLS_MATCHALL", "CONFIG_NET_ACT_MIRRED"]),
        (dumbbell(bulk(), queue={"kind": "pfifo", "limit": 10}), []),
    ):
        loaded = reading.load(written(experiment, tmp_path / "experiment.yaml"))
        assert host.missing(plan.resolve(loaded, loaded.facts)) == lacks


def test_open_vswitch(home: Path, steps: dict[str, Any]) -> None:
    """Its daemons are the run's own."""
    assert steps["switches"]["status"] == 0, steps["switches"]["out"]
    assert json.loads((home / "switches" / "run.json").read_text())["flows"][0]["bytes"] > 0


def test_a_machine_too_slow_is_told(steps: dict[str, Any]) -> None:
    """No machine of today carries 10 Gb/s here."""
    assert "too slow" in steps["terminated"]["out"]


@pytest.mark.parametrize("name", ["terminated", "interrupted", "killed", "agent killed"])
def test_what_is_killed_fails(home: Path, steps: dict[str, Any], name: str) -> None:
    assert steps[name]["status"] != 0
    assert not (home / "talk").exists()


def test_two_at_once(steps: dict[str, Any]) -> None:
    assert steps["beside"]["status"] == 0, steps["beside"]["out"]
    assert steps["beside"]["beside"]["status"] == 1
    assert "another run of the host backend is at work" in steps["beside"]["beside"]["out"]


def test_a_machine_left_changed_is_refused(steps: dict[str, Any]) -> None:
    """With commands that put it back."""
    assert "sch_pi2" in steps["all killed"]["machine"]["modules"]
    assert steps["refused"]["status"] == 1
    assert "modprobe -r" in steps["refused"]["out"]
    assert steps["obeyed"]["status"] == 0, steps["obeyed"]["out"]
