"""What the folder of a module says of it: what is read from there, and that it is so."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.experiment import qdiscs, values
from sandglass.install import builds, modules
from sandglass.records import records
from tests.lab.conftest import Cli
from tests.lab.experiments import bulk, dumbbell

KMODS = builds.ROOT / "kmods"
AUTHORS = builds.ROOT / "examples" / "module-repository" / "kmods"
FOLDERS = sorted(path.parent for home in (KMODS, AUTHORS) for path in home.glob("*/Kbuild"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_names_are_those_that_the_kernel_loads_it_by(folder: Path) -> None:
    described = modules.read(folder / modules.FILE)
    assert described.summary
    if folder.name.startswith("sch_"):
        assert set(described.qdiscs) == qdiscs.called(folder, "sch_")
    elif folder.name.startswith("tcp_"):
        assert set(described.congestion_controls) == qdiscs.called(folder, "tcp_")
    code = "".join(path.read_text() for path in folder.glob("*.c"))
    for sysctl in described.sysctl:
        assert sysctl.name.startswith(f"net.ipv4.{folder.name}.")
        assert f'"{sysctl.name.rsplit(".", 1)[1]}"' in code


@pytest.mark.parametrize(
    "folder", [folder for folder in FOLDERS if (folder / "uapi.h").exists()], ids=lambda f: f.name
)
def test_statistics_are_those_of_the_structure(folder: Path) -> None:
    uapi = (folder / "uapi.h").read_text()
    found = re.search(r"struct tc_\w+_xstats \{(.*?)\}", uapi, re.S)
    members = modules.read(folder / modules.FILE).xstats
    if found is None and "tc_pie_xstats" in uapi:  # that of <linux/pkt_sched.h>
        assert [member.type for member in members] == [m.type for m in records.xstats_of("pie")]
        return
    if found is None:
        assert not members, f"{folder.name}/uapi.h lacks struct tc_NAME_xstats, of module.toml's"
        return
    declared = re.findall(r"__(u\d+)\s+(\w+);", found[1])
    widths = [int(kind[1:]) // 8 for kind, _ in declared]
    assert not sum(widths) % max(widths)  # as long on a machine of 32 bits
    declared = [member for member in declared if member[1] != "pad"]
    assert [(m.type, m.name.removesuffix("_us")) for m in members] == declared
    bits = {
        name: 64 if "prob" in name else 32 for _, name in declared if re.search("prob|avg", name)
    }
    assert {m.name: m.fraction_bits for m in members if m.fraction_bits} == bits


def write(kmods: Path, text: str, name: str = "sch_own") -> None:
    (kmods / name).mkdir(parents=True)
    (kmods / name / "Kbuild").write_text(f"obj-m := {name}.o\n")
    (kmods / name / "module.toml").write_text(text)


def test_a_module_from_outside_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    qdiscs = ["own"]
    xstats = [{ name = "a", type = "u64", fraction_bits = 8 }, { name = "b", type = "s16" }]
    both_ends = ["own_cc"]
    """
    write(tmp_path, text)
    monkeypatch.setenv("SANDGLASS_KMODS", str(tmp_path))
    assert records.own_counters("own", bytes([1] + [0] * 7 + [255, 255])) == {"a": 1 / 256, "b": -1}
    assert "own_cc" in values.protocols_of_both_ends()
    before = builds.module_builds()["sch_own"]
    path = tmp_path / "sch_own" / "module.toml"
    path.write_text(text + 'summary = "words"\n')
    assert builds.module_builds()["sch_own"] == before
    path.write_text(text.replace("s16", "u16"))
    assert builds.module_builds()["sch_own"] != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("summary = ", "Invalid value"),
        ("counters = []", "the file: there is no key counters; there are summary, qdiscs"),
        ('xstats = [{ name = "a", type = "int" }]', "xstats: a: int is none of u8"),
        ('info = [{ name = "a" }]', "info: the key type is missing"),
        (
            'info = [{ name = "a", type = "u64" }, { name = "b", type = "u64" }, '
            '{ name = "c", type = "u64" }]',
            "info has 24 bytes; the recorder keeps up to 20",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, text)
    path = tmp_path / "sch_own" / "module.toml"
    with pytest.raises(SandglassError, match=rf"{re.escape(str(path))}: .*{re.escape(said)}"):
        modules.read(path)


@pytest.mark.lab
def test_counters_of_a_module_from_outside_are_columns(sandglass: Cli, tmp_path: Path) -> None:
    """pi2 under another name, whose folder lies elsewhere and calls its statistics otherwise."""
    kmods = tmp_path / "kmods"
    for source in (KMODS / "sch_pi2").glob("*"):
        if source.is_file():
            place = kmods / "sch_own2" / source.name.replace("pi2", "own2")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(source.read_text().replace("pi2", "own2"))
    described = kmods / "sch_own2" / "module.toml"
    described.write_text(described.read_text().replace('"pseudo_prob"', '"squared"'))
    experiment = dumbbell(bulk(), queue={"kind": "own2"}, duration="3s")
    (tmp_path / "own.yaml").write_text(json.dumps(experiment))
    done = sandglass("run", "own.yaml", "--out", "run", SANDGLASS_KMODS=str(kmods))
    assert done.returncode == 0, done.stderr
    samples = pl.read_parquet(tmp_path / "run" / "queues.parquet")
    samples = samples.filter(pl.col("direction") == "forward")
    assert samples["squared"].max() > 0  # type: ignore[operator]
    assert (samples["prob"] - samples["squared"] ** 2).abs().max() < 1e-9  # type: ignore[operator]
