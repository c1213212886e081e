"""The lab kernel in the cache: found only when it was built from today's sources."""

import json
import os
import shutil
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.experiment import qdiscs
from sandglass.install import builds

COMPILER = "c0de"
INFO = {"release": "6.12.117-sandglass", "source": "linux-source-6.12 6.12.117-1"}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repository of kernel sources, and an empty cache."""
    root = tmp_path / "repository"
    for name, text in {
        "kernel/lab.config": "CONFIG_NET=y\n",
        "kernel/lab.debug.config": "CONFIG_KASAN=y\n",
        **dict.fromkeys(builds.COMPILATION, "\n"),
        "kernel/patches/6.12/0001-a.patch": "one\n",
        "kernel/patches/7.2/0001-a.patch": "other\n",
        "kernel/build": "#!/usr/bin/python3\n",
        "kernel/init.c": "int main(void) { return 0; }\n",
        "kmods/recorder/Kbuild": "obj-m += recorder.o\n",
        "kmods/recorder/recorder.c": "\n",
        builds.ROOT_PACKAGES: "python3 runs the agent\n",
        **dict.fromkeys(builds.ROOT_RECIPE, "\n"),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(builds, "ROOT", root)
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SANDGLASS_KERNEL", raising=False)
    return root


def put_root() -> Path:
    """A root in the cache as root.py leaves it."""
    home = builds.directory() / "roots" / f"{builds.root_key()}-0"
    (home / builds.ROOT_FILES).mkdir(parents=True, exist_ok=True)
    return home


def put_kernel(version: str, series: str = "6.12") -> Path:
    """A kernel in the cache as kernel/build leaves it, with a module and init."""
    home = builds.directory() / "kernels" / f"{version}-{builds.kernel_key(series)}-{COMPILER}"
    home.mkdir(parents=True)
    (home / "linux").touch()
    (home / "build.json").write_text(json.dumps(INFO))
    guest = home / builds.guest_key(home, put_root())
    guest.mkdir()
    (guest / "init").touch()
    modules = guest / "lib" / "modules" / INFO["release"]
    modules.mkdir(parents=True)
    (modules / "recorder.ko").touch()
    return home


@pytest.mark.parametrize("changed", [builds.ROOT_PACKAGES, *builds.ROOT_RECIPE])
def test_a_change_of_the_roots_packages_asks_for_a_new_one(sources: Path, changed: str) -> None:
    put_kernel("6.12.117-1")
    builds.lab_kernel()
    (sources / changed).write_text("changed\n")
    with pytest.raises(SandglassError, match="programs are not there"):
        builds.lab_kernel()


def test_the_compiler_changes_no_lab(sources: Path) -> None:
    """A kernel by another compiler has another place, and no other name."""
    kernel = put_kernel("6.12.117-1")
    other = kernel.rename(kernel.with_name(kernel.name.removesuffix(COMPILER) + "beef"))
    assert builds.built_kernel("6.12") == other
    assert builds.kernel_build(other) == builds.kernel_build(kernel)


def test_it_is_found_with_its_modules_and_release(sources: Path) -> None:
    home = put_kernel("6.12.117-1")
    kernel = builds.lab_kernel()
    assert kernel.linux == home / "linux"
    assert kernel.init.exists()
    assert [module.name for module in kernel.modules] == ["recorder.ko"]
    assert kernel.release == "6.12.117-sandglass"
    assert kernel.info == INFO


@pytest.mark.parametrize(
    "changed", ["kernel/lab.config", "kernel/patches/6.12/0001-a.patch", *builds.COMPILATION]
)
def test_a_change_of_config_or_patches_asks_for_a_new_kernel(sources: Path, changed: str) -> None:
    put_kernel("6.12.117-1")
    (sources / changed).write_text("changed\n")
    with pytest.raises(SandglassError, match=r"\(Linux 6\.12\) is not built yet") as failure:
        builds.lab_kernel()
    assert "./sandglass setup" in str(failure.value.hint)


@pytest.mark.parametrize("changed", ["kernel/build", "kernel/init.c", "kmods/recorder/recorder.c"])
def test_a_change_of_modules_or_init_keeps_the_kernel(sources: Path, changed: str) -> None:
    home = put_kernel("6.12.117-1")
    (sources / changed).write_text("changed\n")
    assert builds.built_kernel("6.12") == home
    with pytest.raises(SandglassError, match="modules and init are not built"):
        builds.lab_kernel()


def test_what_a_build_leaves_behind_changes_nothing(sources: Path) -> None:
    put_kernel("6.12.117-1")
    for name in ("recorder.mod.c", "recorder.o", "Module.symvers", ".recorder.o.cmd"):
        (sources / "kmods" / "recorder" / name).touch()
    assert builds.lab_kernel().modules


def test_the_environment_chooses_the_series(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_kernel("6.12.117-1")
    newer = put_kernel("7.2.13-1", "7.2")
    monkeypatch.setenv("SANDGLASS_KERNEL", "7.2")
    assert builds.lab_kernel().linux.parent == newer


def test_the_debug_lab_is_one_of_its_own(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = put_kernel("6.12.117-1")
    debug = put_kernel("6.12.117-1", "6.12-debug")
    assert builds.lab_kernel().linux.parent == plain
    monkeypatch.setenv("SANDGLASS_KERNEL", "6.12-debug")
    assert builds.lab_kernel().linux.parent == debug
    (sources / "kernel" / "lab.debug.config").write_text("CONFIG_UBSAN=y\n")
    with pytest.raises(SandglassError, match=r"\(Linux 6\.12-debug\) is not built yet"):
        builds.lab_kernel()
    monkeypatch.delenv("SANDGLASS_KERNEL")
    assert builds.lab_kernel().linux.parent == plain


def test_the_kernel_built_last_is_used(sources: Path) -> None:
    first = put_kernel("6.12.111-1")
    put_kernel("6.12.117-1")
    os.utime(first / "build.json", (2e9, 2e9))
    assert builds.lab_kernel().linux.parent == first


def test_a_module_is_what_it_is_built_from(sources: Path) -> None:
    """Its own directory and the shared headers that it includes; other modules change nothing."""
    kmods = sources / "kmods"
    for name, text in (("sch_a", '#include "../shared.h"\n'), ("sch_b", "")):
        write_module(kmods, name, text + 'MODULE_ALIAS("sch_other");\n')
    (kmods / "shared.h").write_text("")

    def keys() -> dict[str, str]:
        return {name: builds.fingerprint(files) for name, files in builds.modules().items()}

    before = keys()
    (kmods / "shared.h").write_text("#define SHARED\n")
    after = keys()
    assert [name for name in before if before[name] != after[name]] == ["sch_a"]
    assert builds.module_names(builds.modules()["sch_a"]) == {"sch_a", "a", "sch_other", "other"}


def test_the_build_does_not_depend_on_where_the_repository_lies(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kernel("6.12.117-1")
    build = builds.lab_kernel().build
    elsewhere = sources.parent / "elsewhere"
    shutil.copytree(sources, elsewhere)
    monkeypatch.setattr(builds, "ROOT", elsewhere)
    assert builds.lab_kernel().build == build


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory with one module."""
    kmods = tmp_path / "own" / "kmods"
    registers = "tcp_register_congestion_control(&own);\n"
    write_module(kmods, "tcp_own", '#include "../shared.h"\n' + registers)
    monkeypatch.setenv("SANDGLASS_KMODS", str(kmods))
    return kmods


def write_module(kmods: Path, name: str, text: str = "") -> None:
    (kmods / name).mkdir(parents=True)
    (kmods / name / "Kbuild").write_text(f"obj-m := {name}.o\n")
    (kmods / name / f"{name}.c").write_text(text)


def test_a_module_of_a_users_own_is_one_of_all(
    sources: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may include the headers that ours share; nothing else that it has is built."""
    shared = sources / "kmods" / "shared.h"
    shared.write_text("")
    for name in ("Kbuild", "Makefile", "README.md"):
        (own / name).write_text("")
    with_it = builds.modules()
    assert with_it["tcp_own"] == [own / "tcp_own/Kbuild", own / "tcp_own/tcp_own.c", shared]
    assert qdiscs.modules("tcp_") == {"own"}
    assert [str(builds.placed(path)) for path in builds.module_sources()] == [
        *("kmods/recorder/Kbuild", "kmods/recorder/recorder.c", "kmods/shared.h"),
        *("kmods/tcp_own/Kbuild", "kmods/tcp_own/tcp_own.c"),
    ]
    monkeypatch.delenv("SANDGLASS_KMODS")
    assert builds.modules() == {"recorder": with_it["recorder"]}


def test_a_module_of_a_users_own_keeps_the_kernel(sources: Path, own: Path) -> None:
    (sources / "kmods" / "shared.h").touch()
    home = put_kernel("6.12.117-1")
    build = builds.lab_kernel().module_builds
    (own / "tcp_own" / "tcp_own.c").write_text("changed\n")
    assert builds.built_kernel("6.12") == home
    with pytest.raises(SandglassError, match="modules and init are not built"):
        builds.lab_kernel()
    changed = {name for name, key in builds.module_builds().items() if key != build[name]}
    assert changed == {"tcp_own"}


def test_the_build_does_not_depend_on_where_a_users_modules_lie(
    sources: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sources / "kmods" / "shared.h").touch()
    home = put_kernel("6.12.117-1")
    before = builds.guest_key(home, put_root()), builds.module_builds()
    monkeypatch.setenv("SANDGLASS_KMODS", str(shutil.copytree(own, sources / "examples" / "own")))
    assert (builds.guest_key(home, put_root()), builds.module_builds()) == before


@pytest.mark.parametrize("name", ["recorder", "shared.h"])
def test_a_users_module_that_is_called_as_ours(sources: Path, own: Path, name: str) -> None:
    (sources / "kmods" / "shared.h").touch()
    if name == "shared.h":
        (own / name).touch()
    else:
        write_module(own, name)
    with pytest.raises(SandglassError, match=f"SANDGLASS_KMODS: kmods/{name}.* there already"):
        builds.module_sources()


def test_a_directory_without_a_module(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_KMODS", str(tmp_path / "nowhere"))
    with pytest.raises(SandglassError, match=r"SANDGLASS_KMODS: there is no module in .*nowhere"):
        builds.lab_kernel()
