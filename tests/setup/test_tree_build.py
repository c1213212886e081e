"""A lab of somebody's tree: how kernel/build takes it, and once a whole one."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import reading
from sandglass.install import builds, debian, setup_lab, tree, tree_copy
from sandglass.run import runs
from tests.setup import trees
from tests.setup.test_kernel_build import build

__all__ = ["build"]

CUBIC = "net/ipv4/tcp_cubic.c"
BETA = "static int beta __read_mostly = 717;"
EXPERIMENT = builds.ROOT / "examples" / "codel.yaml"


class Workshop:
    """Takes the place of what compiles, and remembers what it was asked for."""

    def __init__(self, build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.build = build
        self.kernels: list[str] = []
        self.configurations: list[str] = []
        self.guests: list[builds.Lab] = []
        monkeypatch.setattr(build, "compile_tree", self.compile_tree)
        monkeypatch.setattr(build, "build_guest", self.build_guest)

    def compile_tree(self, place: Path, config: Path, *_: object) -> None:
        """As make, which leaves these."""
        self.kernels.append((place / CUBIC).read_text())
        self.configurations.append(config.read_text())
        for name in ("linux", "System.map", "Module.symvers", ".config"):
            (place / name).write_text(self.kernels[-1])
        (place / "include" / "config").mkdir(parents=True, exist_ok=True)
        (place / "include" / "config" / "kernel.release").write_text("6.12.3-sandglass\n")

    def build_guest(self, lab: builds.Lab, *_: object) -> None:
        """As the one of kernel/build, with nothing in it."""
        self.guests.append(lab)
        guest, root = lab.places[1:]
        guest.mkdir()
        (guest / builds.LAB_FILE).write_text(json.dumps(vars(lab)))
        root.mkdir(parents=True, exist_ok=True)


@pytest.fixture
def workshop(build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """In a cache of its own; every tree is fine without our patches."""
    root = tmp_path / "cache" / "roots" / "any"
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build.root_file_system, "make", lambda: root)
    monkeypatch.setattr(build, "compiler", lambda: "cc 1.0")
    monkeypatch.setattr(build.patching, "check", lambda *_: None)
    return Workshop(build, monkeypatch)


def test_an_edit_is_another_lab_and_an_edit_back_is_there(
    workshop: Workshop, tmp_path: Path
) -> None:
    place = trees.repository(tmp_path / "linux")
    commit = trees.git(place, "rev-parse", "HEAD")[:12]
    workshop.build.build_tree(place, None, None, False, ["base"])
    (place / CUBIC).write_text("static int beta = 400;\n")
    workshop.build.build_tree(place, None, None, False, ["patched"])
    base, patched = builds.lab_called("base"), builds.lab_called("patched")
    assert base.id != patched.id
    assert base.tree == f"6.12.3-g{commit}"
    assert patched.tree.startswith(f"6.12.3-g{commit}-")
    assert builds.lab_called(base.tree) == base
    assert (patched.places[0] / "linux").read_text() == "static int beta = 400;\n"
    (place / CUBIC).write_text(trees.CUBIC)
    workshop.build.build_tree(place, None, None, False, ["patched"])
    assert builds.lab_called("patched") == base
    assert len(workshop.kernels) == len(workshop.guests) == 2


def test_a_revision_is_built_whatever_lies_there(workshop: Workshop, tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    (place / CUBIC).write_text("static int beta = 400;\n")
    before = trees.everything(place)
    workshop.build.build_tree(place, "HEAD", None, False, ["base"])
    assert workshop.kernels == [trees.CUBIC]
    assert builds.lab_called("base").tree == tree.revision(place, "HEAD").label
    assert trees.everything(place) == before


def test_options_of_ones_own_have_the_last_word(workshop: Workshop, tmp_path: Path) -> None:
    place, fragment = trees.make(tmp_path / "linux"), tmp_path / "own.config"
    fragment.write_text("CONFIG_TCP_CONG_CUBIC=n\n")
    workshop.build.build_tree(place, None, None, False, ["plain"])
    workshop.build.build_tree(place, None, fragment, True, ["own"])
    plain, own = workshop.configurations
    assert own.startswith(plain)
    assert (builds.ROOT / "kernel" / "lab.debug.config").read_text() in own
    assert own.endswith(fragment.read_text())
    names = [builds.lab_called(name) for name in ("plain", "own")]
    assert [lab.name for lab in names] == ["6.12", "6.12-debug"]
    assert names[0].id != names[1].id


def test_what_patches_did_not_fit_is_kept_with_the_kernel(
    workshop: Workshop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.build.build_tree(trees.make(tmp_path / "linux"), None, None, False, ["base"])
    home, _, _ = builds.lab_called("base").places
    about = json.loads((home / builds.BUILD_FILE).read_text())
    assert about["patches"] == []
    assert "the exact clock" in about["lost"]
    said = capsys.readouterr().out
    assert "0002-um-exact-virtual-clock does not fit (arch/um/Kconfig, " in said
    assert "no lab is without it: the recorder reads" in said
    assert "so this is gone: the seed: " in said


def test_a_tree_that_the_seal_does_not_fit_is_no_lab(
    build: ModuleType, workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build.root_file_system, "make", lambda: tmp_path / "roots" / "any")
    with pytest.raises(SandglassError, match="can be no lab: 4 patches that it needs") as refused:
        build.build_tree(trees.make(tmp_path / "linux"), None, None, False, ["base"])
    assert "(fs/hostfs/hostfs_kern.c): it seals the lab" in str(refused.value.hint)
    assert builds.names() == {}
    assert not (tmp_path / "cache" / "kernels").exists()


@pytest.mark.parametrize("cannot", ["sch_one", "recorder"])
def test_a_module_that_cannot_be_built_for_a_tree_is_left_out(
    build: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cannot: str,
) -> None:
    """But for the recorder; for a lab of ours none is."""
    built: list[str] = []

    def build_modules(products: dict[Path, Path], *_: object) -> None:
        names = [module.name for module in products]
        if cannot in names:
            raise SandglassError(f"compile {', '.join(names)}: failed")
        built.extend(names)

    monkeypatch.setattr(build, "build_modules", build_modules)
    products = {tmp_path / name: tmp_path for name in ("recorder", "sch_one", "sch_two")}
    log = build.Log(tmp_path / "log")
    strict, lenient = (build.Bench(tmp_path, tmp_path, "", allowed) for allowed in (False, True))
    with pytest.raises(SandglassError):
        build.build_modules_that_can_be(products, strict, "6.12.3", log)
    assert built == []
    if cannot == "recorder":
        with pytest.raises(SandglassError, match="compile recorder"):
            build.build_modules_that_can_be(products, lenient, "6.12.3", log)
        return
    build.build_modules_that_can_be(products, lenient, "6.12.3", log)
    assert built == ["recorder", "sch_two"]
    assert "sch_one cannot be built for this tree: left out" in capsys.readouterr().out


def test_modules_are_kept_while_no_header_changes(build: ModuleType, tmp_path: Path) -> None:
    place = trees.repository(tmp_path / "linux")
    (place / "include").mkdir()
    (place / "include" / "tcp.h").write_text("int tcp;\n")
    built = tmp_path / "copy"
    built.mkdir()
    for name in (".config", "Module.symvers"):
        (built / name).write_text("\n")
    before = build.headers_of(built, tree.read(place))
    (place / CUBIC).write_text("static int beta = 400;\n")
    assert build.headers_of(built, tree.read(place)) == before
    (place / "include" / "tcp.h").write_text("int tcp, more;\n")
    other = build.headers_of(built, tree.read(place))
    assert other != before
    (built / "Module.symvers").write_text("0x0 tcp vmlinux EXPORT_SYMBOL\n")
    assert build.headers_of(built, tree.read(place)) != other


def test_modules_are_laid_out_when_one_was_built(build: ModuleType, tmp_path: Path) -> None:
    """Or when another one is built in."""
    lists = ("modules.builtin", "modules.builtin.modinfo")
    for name in ("net/one.ko", "net/two.ko", *lists):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "modules.order").write_text("net/one.o\nnet/two.o\n")
    assert build.is_to_install(tmp_path)
    laid_out = tmp_path / "installed" / "lib" / "modules" / "6.12.3-sandglass"
    laid_out.mkdir(parents=True)
    for name in lists:
        shutil.copy(tmp_path / name, laid_out)
        os.utime(tmp_path / name, (2e9, 2e9))
    assert not build.is_to_install(tmp_path)
    (tmp_path / "modules.builtin").write_text("kernel/net/three.ko\n")
    assert build.is_to_install(tmp_path)
    shutil.copy(tmp_path / "modules.builtin", laid_out)
    os.utime(tmp_path / "net" / "two.ko", (2e9, 2e9))
    assert build.is_to_install(tmp_path)


def test_what_cannot_be_read_is_named(build: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"own\.config.*No such file"):
        build.read_fragment(tmp_path / "own.config")


@pytest.mark.lab
def test_a_run_says_what_its_lab_is_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = builds.lab_kernel()
    lost = replace(whole, info=whole.info | {"lost": ["the seed: no run repeats"]})
    monkeypatch.setenv("SANDGLASS_LAB", whole.lab)
    wanted = reading.load(EXPERIMENT, ["duration=2s", "flows.0.duration=2s"])
    assert runs.run(wanted, EXPERIMENT, tmp_path / "whole").content["warnings"] == []
    monkeypatch.setattr(builds, "lab_kernel", lambda: lost)
    found = runs.run(wanted, EXPERIMENT, tmp_path / "lost").content["warnings"]
    assert found == ["this lab is without the seed: no run repeats"]


@pytest.mark.lab
@pytest.mark.thorough
def test_a_tree_of_debians_source_is_the_lab_and_an_edit_takes_seconds(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole build, of some minutes: the same digest, and after an edit another one."""
    deb = debian.fetch(f"linux-source-{builds.DEFAULT_KERNEL}", later_suites=True)
    place = build.unpack_source(deb, tmp_path, build.Log(tmp_path / "log"))
    wanted = reading.load(EXPERIMENT)
    ours = runs.run(wanted, EXPERIMENT, tmp_path / "ours").content["digest"]
    digests = []
    text = (place / CUBIC).read_text()
    for beta in ("717", "400", "717"):
        (place / CUBIC).write_text(text.replace(BETA, BETA.replace("717", beta)))
        setup_lab.tree(place, names=["tried"], fragment=None, debug=False)
        monkeypatch.setenv("SANDGLASS_LAB", builds.lab_called("tried").id)
        digests.append(runs.run(wanted, EXPERIMENT, tmp_path / "tried").content["digest"])
        monkeypatch.delenv("SANDGLASS_LAB")
    shutil.rmtree(tree_copy.place(place, debug=False))
    assert digests[0] == digests[2] == ours
    assert digests[1] != ours
