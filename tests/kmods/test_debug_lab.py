"""The debug lab finds faults of modules, and names them: qdiscs with one each."""

import re
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, setup_lab
from tests.lab.experiments import Lab, bulk, dumbbell

FAULTY = Path(__file__).with_name("faulty")
# Of each fault: what the report is called, and what names the culprit.
FOUND = {
    "sleeping": ("WARNING: suspicious RCU usage", r"faulty_sleeping\+.* \(.*/sch_faulty\.c:\d+\)"),
    "stale": ("BUG: KASAN: slab-use-after-free", r"faulty_stale\+.* \(.*/sch_faulty\.c:\d+\)"),
    "overrun": ("BUG: KASAN: slab-out-of-bounds", r"faulty_overrun\+.* \(.*/sch_faulty\.c:\d+\)"),
    "leaking": ("BUG: memory leak", "__alloc_skb"),
    "circular": ("WARNING: possible circular locking dependency", "faulty_circular"),
    "unguarded": (
        "WARNING: suspicious RCU usage",
        r"faulty_unguarded\+.* \(.*/sch_faulty\.c:\d+\)",
    ),
    "shifting": ("UBSAN: shift-out-of-bounds", r"faulty_shifting.*\+.*sch_faulty"),
    "ticking": ("WARNING: .*debug_print_object", r"faulty_ticking\+.* \(.*/sch_faulty\.c:\d+\)"),
}
DEBUG = builds.is_debug(builds.chosen_kernel())


@pytest.fixture
def _faulty_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faulty qdiscs are built for the lab's kernel."""
    monkeypatch.setenv("SANDGLASS_KMODS", str(FAULTY))
    setup_lab.lab()


@pytest.mark.lab
@pytest.mark.skipif(not DEBUG, reason="SANDGLASS_KERNEL=6.12-debug chooses the debug lab")
@pytest.mark.usefixtures("_faulty_modules")
@pytest.mark.parametrize("fault", FOUND)
def test_a_fault_is_found_and_named(lab: Lab, fault: str) -> None:
    heading, culprit = FOUND[fault]
    with pytest.raises(SandglassError, match=f"the kernel reports {heading}") as failure:
        lab(dumbbell(bulk(), queue={"kind": fault}, duration="1s"))
    said = f"{failure.value.message}\n{failure.value.hint}"
    assert re.search(culprit, said), said
    assert len(said.splitlines()) <= 20
