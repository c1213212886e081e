"""The modules on Debian's kernel 6.1: installed, used by the host backend, and removed.

    sudo -E ./sandglass test tests/vm

It takes a while, in software emulation; the tests stand in the order in which they have to run.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.experiment import qdiscs
from sandglass.install import builds, plugins
from tests.kmods.test_churn import CHURN
from tests.setup.test_dkms import MODULES
from tests.vm.machine import PROCESSORS, Machine

KMODS = builds.ROOT / "kmods"
RATE_MBIT = 1.0
RTT_MS = 40.0
FULL_PACKET_MS = 1514 * 8 / RATE_MBIT / 1000
SEGMENT_BYTES = 1448
QUEUES = {
    "dualred": "{kind: dualred, rate: 1mbit, drop_min: 3, mark_min: 3}",
    "hred": "{kind: hred, rate: 1mbit, rtt: 40ms, limit: 50, ecn: true}",
    "pi2": "{kind: pi2, ecn: true}",
    "pie_draft": "{kind: pie_draft, ecn: true, mark_limit: 100}",
    "predict": "{kind: predict, limit: 50, ecn: true, standing: true}",
    "sfq_codel": "{kind: sfq_codel, ecn: true}",
}
SHAPES = {"trace": "bottleneck.rate={trace: slow.trace}", "noise": "noise={phase: 2ms}"}
"""What stands on links beside queues, by the settings that put it there."""
CONTROLS = [
    "abe_cubic", "abe_reno", "dctcp_inet", "limited_reno", "lsaimd_dctcp", "lsaimd_reno",
    "reno_acks",
]  # fmt: skip
SMALL_WINDOWS = [name for name in CONTROLS if name.startswith("lsaimd_")]
PAIRS = 10
CHURN_TIMES = 2000
# Everything that set-up may leave, one a line; what it is looked for in need not be there.
TRACES = r"""
exec 2>/dev/null
find /usr/src /var/lib/dkms -maxdepth 1 -name 'sandglass*'
sudo dkms status | grep sandglass
find /lib/modules \( {files} \)
find /usr/lib \( {plugins} \)
cut -d' ' -f1 /proc/modules | grep -xE '{names}'
grep -wE '{names}' /lib/modules/*/modules.dep
true
"""


def traces(machine: Machine) -> list[str]:
    """What there is on the machine of our modules and plugins."""
    own = [source.stem for source in plugins.sources(KMODS)]
    script = TRACES.format(
        files=" -o ".join(f"-name {name}.ko*" for name in MODULES),
        plugins=" -o ".join(f"-name {name}.so" for name in own),
        names="|".join(MODULES),
    )
    return machine.must(script, said="traces of modules").splitlines()


def run(machine: Machine, name: str, *settings: str, target: Path) -> dict[str, Any]:
    """run.json of the smoke experiment, done by the host backend; the run is in `target`."""
    options = " ".join(f"--set {shlex.quote(setting)}" for setting in settings)
    command = f"sudo -E ./sandglass run tests/vm/smoke.yaml --backend host {options}"
    machine.must(f"cd sandglass && {command} --out ~/runs/{name}", said=f"run {name}")
    machine.fetch(f"runs/{name}", target)
    content: dict[str, Any] = json.loads((target / "run.json").read_text())
    return content


@pytest.fixture(scope="module")
def modules(machine: Machine) -> list[str]:
    """The modules are installed on the machine; returns what the kernel had of them before."""
    before = traces(machine)
    machine.must("cd sandglass && sudo -E ./sandglass setup --host")
    return before


def test_dkms_builds_every_module_and_the_kernel_loads_them(
    machine: Machine, modules: list[str]
) -> None:
    assert modules == []
    assert machine.must("uname -r", said="kernel").startswith("6.1.")
    machine.must(f"sudo modprobe --all {' '.join(MODULES)}")
    loaded = machine.must("cut -d' ' -f1 /proc/modules", said="modules").split()
    assert set(MODULES) <= set(loaded)
    machine.must(f"sudo modprobe --remove {' '.join(MODULES)}")
    again = machine.must("cd sandglass && sudo -E ./sandglass setup --host")
    assert "are installed" in again


@pytest.mark.usefixtures("modules")
def test_all_of_ours_are_run_here() -> None:
    for_the_lab = builds.modules_for_the_lab().values()
    assert {*QUEUES, *SHAPES} == qdiscs.modules("sch_")
    assert set(CONTROLS) == qdiscs.modules("tcp_") - {
        name for module in for_the_lab for name in module.congestion_controls
    }
    assert set(CHURN) == set(QUEUES)


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_qdisc_signals_to_a_flow_and_counts_what_it_does(
    machine: Machine, tmp_path: Path, kind: str
) -> None:
    result = run(machine, kind, f"bottleneck.queue={QUEUES[kind]}", target=tmp_path)
    met, flow = result["bottleneck"], result["flows"][0]
    shown = next(q for q in result["observed"]["qdiscs"]["r1"] if q["kind"] == kind)
    assert 0.5 * RATE_MBIT < flow["goodput_mbit"] < RATE_MBIT
    # The recorder saw the packets themselves, the counters are the qdisc's, which is there a second
    # longer: it was one packet more in one of six runs.
    assert 0 <= shown["packets"] - (met["packets"] - met["drops"]) < 5
    assert shown["drops"] == met["drops"]
    # Predict counts apart what it signals to a standing queue, dropped packets included.
    signals = sum(shown.get(name, 0) for name in ("ecn_mark", "ecn_forced", "standing"))
    assert 0 < met["marks"] <= signals <= met["marks"] + met["drops"]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("cc", CONTROLS)
def test_a_congestion_control_answers_marks(machine: Machine, tmp_path: Path, cc: str) -> None:
    settings = (f"bottleneck.queue={QUEUES['dualred']}", f"flows.0.cc={cc}")
    result = run(machine, cc, *settings, target=tmp_path)
    flow = result["flows"][0]
    assert flow["cc"] == cc
    assert 0.5 * RATE_MBIT < flow["goodput_mbit"] < RATE_MBIT
    assert flow["delivered_ce"] > 0
    acks = pl.read_parquet(tmp_path / "acks.parquet")
    assert acks["ssthresh_packets"].drop_nulls().len() > 0  # it has reduced


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("cc", SMALL_WINDOWS)
def test_windows_fall_below_a_segment(machine: Machine, tmp_path: Path, cc: str) -> None:
    """Of most flows, as they can of none of Linux's own, whose two segments each fill a queue."""
    flows = ", ".join(
        f"{{workload: bulk, from: s{n}, to: d{n}, cc: {cc}, ecn: true, start: 0s, duration: 5s}}"
        for n in range(1, PAIRS + 1)
    )
    settings = (f"bottleneck.queue={QUEUES['dualred']}", f"pairs={PAIRS}", f"flows=[{flows}]")
    result = run(machine, f"{PAIRS}-{cc}", *settings, target=tmp_path)
    acks = pl.read_parquet(tmp_path / "acks.parquet")
    least = acks.group_by("flow").agg(pl.col("window_bytes").min())["window_bytes"]
    assert (least < SEGMENT_BYTES).sum() > PAIRS / 2
    standing_ms = 2 * PAIRS * FULL_PACKET_MS - RTT_MS
    assert result["bottleneck"]["queue_delay_ms"]["median"] < standing_ms
    assert all(flow["bytes"] > 0 for flow in result["flows"])


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("kind", SHAPES)
def test_what_shapes_a_link_lets_a_flow_through(
    machine: Machine, tmp_path: Path, kind: str
) -> None:
    """slow.trace has the rate of the smoke experiment: 1504 bytes every 12 ms."""
    result = run(machine, kind, SHAPES[kind], target=tmp_path)
    nodes = result["observed"]["qdiscs"].values()
    shown = next(q for node in nodes for q in node if q["kind"] == kind)
    assert shown["packets"] > 100
    assert 0.5 * RATE_MBIT < result["flows"][0]["goodput_mbit"] < 1.01 * RATE_MBIT
    if kind == "trace":
        assert shown["used"] > 100
    else:
        assert shown["added_ns"] > 0
        assert shown["most_ns"] <= 2_000_000


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("kind", CHURN)
def test_it_comes_and_goes_while_another_processor_asks_for_its_statistics(
    machine: Machine, kind: str
) -> None:
    """What the kernel finds wrong meanwhile it says with a trace of calls."""
    plan = shlex.quote(json.dumps({kind: [CHURN_TIMES, *CHURN[kind]]}))
    assert PROCESSORS > 1
    machine.must(f"mkdir -p ~/churn && echo {plan} >~/churn/churn.json", said="churn.json")
    machine.must("sudo dmesg --clear")
    machine.must(
        "cd sandglass && sudo timeout 1200 python3 tests/kmods/churn.py ~/churn; "
        "status=$?; sudo ip -all netns delete; exit $status",
        said=f"churn {kind}",
    )
    found = machine.must("sudo dmesg", said="dmesg")
    assert not re.search(r"Call Trace|BUG:|WARNING:|Oops", found), found


@pytest.mark.usefixtures("modules")
def test_a_changed_module_is_built_again(machine: Machine) -> None:
    version = machine.must("sudo dkms status sandglass", said="version")
    source = "sandglass/kmods/tcp_reno_acks/tcp_reno_acks.c"
    machine.must(f"echo >>{source} && cd sandglass && sudo -E ./sandglass setup --host")
    changed = machine.must("sudo dkms status sandglass", said="version")
    assert "installed" in changed
    assert changed != version
    assert len(changed.splitlines()) == 1


@pytest.mark.usefixtures("modules")
def test_removed_nothing_is_left(machine: Machine) -> None:
    machine.must(f"sudo modprobe --all {' '.join(MODULES)}")
    assert traces(machine) != []
    machine.must("cd sandglass && sudo -E ./sandglass setup --host --remove")
    assert traces(machine) == []
