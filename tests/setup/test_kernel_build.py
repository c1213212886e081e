"""kernel/build: what it checks before and after the compiler's work."""

import importlib.util
import json
import os
import shutil
import subprocess
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, plugins, setup_lab

SCRIPT = builds.ROOT / "kernel" / "build"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """The script as a module; it has no suffix that Python would know it by."""
    loader = SourceFileLoader("kernel_build", str(SCRIPT))
    spec = importlib.util.spec_from_loader("kernel_build", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The parts of a kernel's tree that the check of its configuration reads."""
    tree = tmp_path / "tree"
    (tree / "net").mkdir(parents=True)
    options = "config NET_SCH_PIE\n\ttristate\n\nmenuconfig NET\n\tbool\n"
    (tree / "net" / "Kconfig.sched").write_text(options)
    (tree / ".config").write_text("CONFIG_NET=y\n# CONFIG_NET_SCH_PIE is not set\n")
    return tree


def wanted(tree: Path, text: str) -> Path:
    path = tree.parent / "lab.config"
    path.write_text(text)
    return path


def test_an_option_that_took_effect_is_fine(build: ModuleType, tree: Path) -> None:
    assert build.check_config(wanted(tree, "# comment\nCONFIG_NET=y\n"), tree) == []


def test_an_option_turned_off_is_fine_when_it_is_off(build: ModuleType, tree: Path) -> None:
    assert build.check_config(wanted(tree, "CONFIG_NET_SCH_PIE=n\n"), tree) == []


def test_an_option_that_did_not_take_effect_is_named(build: ModuleType, tree: Path) -> None:
    config = wanted(tree, "CONFIG_NET=y\nCONFIG_NET_SCH_PIE=y\n")
    with pytest.raises(SandglassError, match="CONFIG_NET_SCH_PIE=y became n"):
        build.check_config(config, tree)


def test_an_option_this_series_does_not_have_is_only_reported(
    build: ModuleType, tree: Path
) -> None:
    config = wanted(tree, "CONFIG_NET=y\nCONFIG_NET_SCH_DUALPI2=y\n")
    assert build.check_config(config, tree) == ["NET_SCH_DUALPI2"]


def test_a_tree_may_lack_what_only_scripts_ask_for(build: ModuleType, tree: Path) -> None:
    """Modules of ours; what is built in, or what somebody asks for, it may not."""
    ours = "CONFIG_NET=y\nCONFIG_NET_SCH_PIE=m\n"
    lacking = build.may_lack([ours], "")
    assert lacking == {"NET_SCH_PIE"}
    assert build.check_config(wanted(tree, ours), tree, lacking) == ["NET_SCH_PIE"]
    own = "CONFIG_NET_SCH_PIE=m\n"
    assert build.may_lack([ours], own) == set()
    with pytest.raises(SandglassError, match="CONFIG_NET_SCH_PIE=m became n"):
        build.check_config(wanted(tree, ours + own), tree, build.may_lack([ours], own))


def test_drivers_that_no_lab_has_are_passed_over(build: ModuleType) -> None:
    makefile = "obj-y += gpu/ base/ block/\nobj-$(CONFIG_GPU) += gpu/\n"
    assert build.without_drivers(makefile) == ("obj-y += base/ block/\nobj-$(CONFIG_GPU) += gpu/\n")


def run(tmp_path: Path, series: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "--source-version", series],
        env={"SANDGLASS_CACHE": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("series", "said"),
    [("six", "'six' is no kernel series"), ("5.10", "no patches for Linux 5.10")],
)
def test_a_series_we_have_nothing_for_is_refused(tmp_path: Path, series: str, said: str) -> None:
    done = run(tmp_path, series)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "kernels").exists()


def test_a_failed_step_shows_the_end_of_its_log(build: ModuleType, tmp_path: Path) -> None:
    log = build.Log(tmp_path / "log")
    with pytest.raises(SandglassError, match="compile: failed") as failure:
        log.run("compile", "sh", "-c", "seq 100; echo no such header >&2; exit 3")
    assert str(failure.value.hint).endswith("100\n    no such header")
    assert "\n1\n" in (tmp_path / "log").read_text()


def test_a_users_compiler_flags_do_not_enter_the_build(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("KCFLAGS", "-g")
    log = build.Log(tmp_path / "log")
    log.run("environment", "env")
    reached = (tmp_path / "log").read_text().splitlines()
    assert "ARCH=um" in reached
    assert not [line for line in reached if line.endswith(("CFLAGS=-O0", "CFLAGS=-g"))]


def test_another_compiler_asks_for_another_kernel(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    kept = tmp_path / "kernels" / f"6.12.1-{builds.kernel_key('6.12')}-abcd"
    (kept / "tree").mkdir(parents=True)
    (kept / "build.json").write_text('{"compiler": "cc 1.0", "release": "6.12.1"}')
    monkeypatch.setattr(build.root_file_system, "make", lambda: tmp_path / "roots" / "any")
    monkeypatch.setattr(build, "build_guest", lambda lab, *_: None)
    built: list[str] = []

    def build_kernel(series: str, *_: object) -> Path:
        built.append(series)
        return kept

    monkeypatch.setattr(build, "build_kernel", build_kernel)
    monkeypatch.setattr(build, "compiler", lambda: "cc 1.0")
    build.build("6.12")
    assert built == []
    monkeypatch.setattr(build, "compiler", lambda: "cc 2.0")
    build.build("6.12")
    assert built == ["6.12"]


def test_only_what_modules_need_is_kept_of_the_tree(build: ModuleType, tmp_path: Path) -> None:
    kept = ["Makefile", "include/net/tcp.h", "arch/x86/um/asm/a.h", "scripts/mod/modpost"]
    kept.append("installed/lib/modules/6.12.1/kernel/net/sched/act_police.ko")
    dropped = ["vmlinux.o", "net/core/dev.o", "arch/um/kernel/irq.o", "drivers/net/veth.c"]
    for name in [*kept, *dropped]:
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).touch()
    build.keep_tree(tmp_path / "tree", tmp_path / "kept")
    found = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(tmp_path / "kept")) for path in found) == sorted(kept)


def test_tcs_own_plugins_are_beside_ours(build: ModuleType, tmp_path: Path) -> None:
    """As files: in the lab that directory covers tc's own."""
    (tmp_path / "root/usr/lib/tc").mkdir(parents=True)
    for name in ("normal.dist", "q_hred.so"):
        (tmp_path / "root/usr/lib/tc" / name).touch()
    tc = tmp_path / "tc"
    tc.mkdir()
    (tc / "q_hred.so").write_text("ours")
    build.copy_plugins(tc, tmp_path / "root")
    assert {path.name for path in tc.iterdir()} == {"q_hred.so", "normal.dist"}
    assert not (tc / "normal.dist").is_symlink()
    assert (tc / "q_hred.so").read_text() == "ours"


def test_a_compilers_messages_name_the_file_that_is_edited(
    build: ModuleType, tmp_path: Path
) -> None:
    log = build.Log(tmp_path / "log")
    log.real_names = {"/scratch/kmods/sch_a/sch_a.c": "/home/me/kmods/sch_a/sch_a.c"}
    with pytest.raises(SandglassError) as failure:
        log.run("compile", "sh", "-c", "echo /scratch/kmods/sch_a/sch_a.c:7:1: error: no; exit 1")
    assert str(failure.value.hint).endswith("\n    /home/me/kmods/sch_a/sch_a.c:7:1: error: no")


def test_what_was_not_used_for_a_day_is_forgotten(build: ModuleType, tmp_path: Path) -> None:
    """A kernel is in use while one of its guests is; a lab with packages someone asked for."""
    cache, scratch = tmp_path / "cache", tmp_path / "scratch"
    scratch.mkdir()
    places = [cache / name for name in ("old", "new", "inside/new")]
    for directory in places:
        directory.mkdir(parents=True)
    key = "0123456789ab"
    about = builds.Lab(key, "6.12", "kernel", key, "root", key, {"recorder": key}, ["bc"])
    (cache / "kernel" / "guest").mkdir(parents=True)
    (cache / "kernel" / "guest" / builds.LAB_FILE).write_text(json.dumps(vars(about)))
    for directory in (cache / "old", cache / "inside", cache / "kernel/guest", cache / "kernel"):
        os.utime(directory, (time.time() - 90000, time.time() - 90000))
    build.forget_unused(list(cache.iterdir()), scratch, days=1)
    assert {path.name for path in cache.iterdir()} == {"new", "inside", "kernel"}


@pytest.mark.parametrize("tree", [True, False], ids=["built here", "from a file"])
def test_a_kernel_is_built_again_where_modules_cannot_be(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: bool
) -> None:
    """A lab's file has a kernel without the tree that modules are built with."""
    home = tmp_path / "kernels" / "6.12.1-key-cafe"
    (home / "tree" if tree else home).mkdir(parents=True)
    (home / "build.json").write_text('{"compiler": "cc"}')
    built: list[str] = []

    def build_kernel(*_: object) -> Path:
        built.append("kernel")
        return home

    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "compiler", lambda: "cc")
    monkeypatch.setattr(build.root_file_system, "make", lambda: tmp_path / "roots" / "any")
    monkeypatch.setattr(builds, "built_kernel", lambda kernel: home)
    monkeypatch.setattr(build, "build_kernel", build_kernel)
    monkeypatch.setattr(build, "build_guest", lambda *_: built.append("modules"))
    build.build("6.12")
    assert built == (["modules"] if tree else ["kernel", "modules"])


def test_a_root_that_is_not_to_be_had_ends_the_build(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made while the kernel's source is unpacked."""
    tree = tmp_path / "tree"
    (tree / "drivers").mkdir(parents=True)
    (tree / "drivers" / "Makefile").touch()

    def make() -> Path:
        raise SandglassError("Debian has no package bash")

    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build.root_file_system, "make", make)
    monkeypatch.setattr(builds, "patches", lambda _: [tmp_path / "0001-a.patch"])
    monkeypatch.setattr(build.debian, "fetch", lambda *_, **__: tmp_path / "any.deb")
    monkeypatch.setattr(build.debian, "version", lambda _: "6.12.1-1")
    monkeypatch.setattr(build, "unpack_source", lambda *_: tree)
    monkeypatch.setattr(build.Log, "run", lambda *_, **__: None)
    monkeypatch.setattr(builds, "kernel_key", lambda _: "key")
    with pytest.raises(SandglassError, match="has no package bash"):
        build.build("6.12")
    assert not (tmp_path / "cache" / "kernels").exists()


@pytest.mark.lab
@pytest.mark.parametrize(
    "kernel", [builds.DEFAULT_KERNEL, pytest.param("7.2", marks=pytest.mark.newer)]
)
def test_no_file_of_a_lab_tells_where_it_was_built(kernel: str) -> None:
    """Newer kernels name a header by its whole path in a warning's text."""
    setup_lab.lab(kernel)
    with builds.on(kernel):
        home, guest, root = builds.lab().places
    here = [str(place).encode() for place in (builds.directory(), builds.ROOT)]
    files = [*home.iterdir(), *guest.rglob("*"), *root.rglob("*")]
    contents = {
        path: path.read_bytes() for path in files if path.is_file() and not path.is_symlink()
    }
    assert [p for p, content in contents.items() if any(place in content for place in here)] == []


@pytest.mark.lab
@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler")
@pytest.mark.parametrize("name", ["libc.a", "libc.so", "crt1.o", "libm.a"])
def test_programs_of_a_lab_are_linked_with_its_own_c_library(name: str) -> None:
    """And not with that of the machine on which they are built, which may be of another version."""
    root = builds.lab_kernel().root
    command = ["gcc", *builds.linked_with(root), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found).is_relative_to(root), found


@pytest.mark.lab
def test_without_modules_there_is_a_guest_too(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image's first layer has the kernel alone."""
    kernel = builds.built_kernel(builds.chosen_kernel())
    assert kernel
    home = tmp_path / "kernels" / "home"
    home.mkdir(parents=True)
    shutil.copy2(kernel / "build.json", home)
    shutil.copytree(kernel / "tree" / "installed", home / "tree" / "installed")
    root = builds.built_root()
    assert root
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / root.name).symlink_to(root)
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    monkeypatch.setattr(builds, "module_sources", list)
    lab = builds.todays_lab("6.12", home, root)
    bench = build.Bench(home / "tree", home / "parts")
    build.build_guest(lab, bench, tmp_path / "scratch", build.Log(tmp_path / "log"))
    (init,) = home.glob("*/init")
    assert (init.parent / "lib" / "tc").is_dir()
    # and the kernel's own, with an index
    index = next(init.parent.glob("lib/modules/*/modules.dep")).read_text()
    assert "kernel/net/sched/act_police.ko:" in index


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory with a module that does nothing, and a plugin."""
    qdisc = tmp_path / "kmods" / "sch_edited"
    qdisc.mkdir(parents=True)
    (qdisc / "Kbuild").write_text("obj-m := sch_edited.o\n")
    (qdisc / "sch_edited.c").write_text(
        "#include <linux/module.h>\n"
        "static int __init start(void) { return 0; }\n"
        'module_init(start);\nMODULE_LICENSE("GPL");\n'
    )
    (qdisc / "q_edited.c").write_text("int edited;\n")
    monkeypatch.setenv("SANDGLASS_KMODS", str(qdisc.parent))
    return qdisc


@pytest.mark.lab
@pytest.mark.parametrize("name", ["sch_edited.c", "q_edited.c"])
def test_an_edit_has_one_part_built(
    build: ModuleType, own: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    def products() -> dict[str, int]:
        build.build(builds.chosen_kernel())
        lab = builds.lab_kernel()
        tcs = {path.name for each in plugins.libraries(lab.root) for path in each.glob("*")}
        ours = [path for path in lab.tc.glob("q_*.so") if path.name not in tcs]
        files = [*lab.init.parent.glob("lib/modules/*/*.ko"), *ours, lab.init]
        return {path.name: path.stat().st_ino for path in files if not path.is_symlink()}

    before = products()
    with (own / name).open("a") as file:
        file.write(f"/* edited in {own} */\n")
    capsys.readouterr()
    after = products()
    said = capsys.readouterr().out
    changed = {product for product in before if before[product] != after[product]}
    assert changed == {{"sch_edited.c": "sch_edited.ko", "q_edited.c": "q_edited.so"}[name]}
    assert "recorder" not in said
