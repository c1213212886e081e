"""A qdisc that finds no memory is not made, and takes nothing with it."""

import json
import shutil
from pathlib import Path

import pytest

from sandglass.install import builds, setup_lab
from sandglass.lab import lab

KINDS = sorted(
    path.parent.name.removeprefix("sch_")
    for path in builds.ROOT.glob("kmods/sch_*/sch_*.c")
    if "kvcalloc" in path.read_text()
)
REFUSED = """#include <linux/slab.h>
#undef kvcalloc
#define kvcalloc(n, size, flags) NULL
"""
KBUILD = """include $(src)/../compat.mk
ccflags-y += -include $(src)/refused.h
obj-m := sch_poor_{kind}.o
sch_poor_{kind}-y := sch_{kind}.o
"""


def without_memory(kind: str, place: Path) -> None:
    """The sources of a qdisc of ours as a module that gets none."""
    folder = place / f"sch_poor_{kind}"
    folder.mkdir(parents=True)
    for path in (builds.ROOT / "kmods" / f"sch_{kind}").glob("*.[ch]"):
        if not path.name.startswith("q_"):
            shutil.copy(path, folder)
    (folder / "refused.h").write_text(REFUSED)
    (folder / "Kbuild").write_text(KBUILD.format(kind=kind))


@pytest.mark.lab
def test_a_default_qdisc_without_memory_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """qdisc_create_dflt() resets and destroys what it could not make."""
    for kind in KINDS:
        without_memory(kind, tmp_path / "kmods")
    monkeypatch.setenv("SANDGLASS_KMODS", str(tmp_path / "kmods"))
    setup_lab.lab()
    run = tmp_path / "run"
    run.mkdir()
    modules = {kind: f"sch_poor_{kind}" for kind in KINDS} | {"codel": "sch_codel"}
    (run / "kinds.json").write_text(json.dumps(modules))
    lab.run_program("tests/kmods/no_memory.py", run)
    made = json.loads((run / "made.json").read_text())
    assert made == dict.fromkeys(KINDS, "noqueue") | {"codel": "codel"}
