"""The modules as a kernel developer wants them, and for the kernels that Debian ships."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, debian
from sandglass.install.modules import FILE, read

KMODS = builds.ROOT / "kmods"
EXAMPLE = builds.ROOT / "examples" / "module-repository" / "kmods"
FOLDERS = sorted(path.parent for home in (KMODS, EXAMPLE) for path in home.glob("*/Kbuild"))
MODULES = sorted(folder.name for folder in FOLDERS if not read(folder / FILE).kernel)
"""Those that any kernel takes; for others the rest build nothing."""
SOURCES = sorted(
    path
    for home in (KMODS, EXAMPLE)
    for path in home.rglob("*.[ch]")
    if path.parent.name != "tests"
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_kernels_own_checker_has_nothing_to_say(source: Path, tmp_path: Path) -> None:
    kernel = builds.built_kernel(builds.chosen_kernel())
    assert kernel
    checker = str(kernel / "tree" / "scripts" / "checkpatch.pl")
    # Qdisc is a name of the kernel's; what Linux 7 allocates with, older ones do not have
    ignored = "CAMELCASE,ALLOC_WITH_SIZEOF"
    options = ["--strict", "--no-tree", "--terse", "--no-summary", "--ignore", ignored]
    done = subprocess.run(
        ["perl", checker, *options, "--file", str(source)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert done.returncode == 0


def headers_package(series: str) -> str:
    """The newest package of headers for Debian's plain kernel of a series; skips without one."""
    pattern = rf"^linux-headers-{re.escape(series)}\.[0-9.+a-z-]*-amd64$"
    options = debian.private_apt(debian.codename())

    def apt(*words: str) -> str:
        return debian.apt(*words, options=options, folder=Path("/"))

    search = ("apt-cache", "search", "--names-only", pattern)
    names = apt(*search)
    if not names:
        apt("apt-get", "update")
        names = apt(*search)
    # 6.1.0-56-amd64 or 6.12.117+deb12-amd64, neither -cloud- nor -rt-
    plain = re.findall(r"^(linux-headers-[\d.]+(?:-\d+|\+deb\d+(?:\+\d+)?)-amd64) ", names, re.M)
    if not plain:
        pytest.skip(f"Debian {debian.codename()} has no headers of Linux {series}")
    newest: str = max(plain, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    return newest


# Packages that a kernel's headers bring along: the rest of the kernel's, and what writes the type
# information (BTF) of modules where the kernel has its own, with the libraries that it calls.
BROUGHT = re.compile(r"linux-kbuild-.*|linux-headers-.*-common|pahole|lib(bpf|dw|elf)\d.*")


def unpack_with_dependencies(package: str, root: Path) -> None:
    """Unpack a package and those of BROUGHT that it depends on, at any remove."""
    wanted, unpacked = [package], set()
    while wanted:
        name = wanted.pop()
        if name in unpacked:
            continue
        unpacked.add(name)
        deb = debian.fetch(name)
        debian.unpack(deb, root)
        depends = subprocess.check_output(["dpkg-deb", "--field", str(deb), "Depends"], text=True)
        wanted += filter(BROUGHT.fullmatch, re.split(r"[\s,|]+", depends))


@pytest.fixture(scope="module", params=["6.1", "6.12"])
def headers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build directory of one of Debian's kernels, unpacked and not installed."""
    root = tmp_path_factory.mktemp("headers")
    try:
        package = headers_package(request.param)
        unpack_with_dependencies(package, root)
    except SandglassError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    build = root / "usr" / "src" / package
    makefile = build / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{root}/usr/src/"))
    return build


@pytest.mark.thorough
def test_debians_kernels_take_every_module(headers: Path, tmp_path: Path) -> None:
    copy = tmp_path / "kmods"
    left_out = shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*")
    for home in (KMODS, EXAMPLE):
        shutil.copytree(home, copy, ignore=left_out, dirs_exist_ok=True)
    usr = headers.parents[1]
    tools = {
        "PATH": f"{os.environ['PATH']}:{usr / 'bin'}",
        "LD_LIBRARY_PATH": str(usr / "lib" / "x86_64-linux-gnu"),
    }
    done = subprocess.run(
        ["make", "-j2", "-C", str(headers), f"M={copy}", "W=1", "modules"],
        env=os.environ | tools,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout.lower()
    assert sorted(path.stem for path in copy.glob("*/*.ko")) == MODULES


@pytest.mark.parametrize(
    ("release", "refused"), [("5.19", True), ("6.0", True), ("6.1", False), ("7.0", False)]
)
def test_kernels_older_than_the_oldest_are_refused(release: str, refused: bool) -> None:
    version, patchlevel = release.split(".")
    kernel = [f"VERSION={version}", f"PATCHLEVEL={patchlevel}", "srctree=/nonexistent"]
    done = subprocess.run(
        ["make", "-f", str(KMODS / "compat.mk"), *kernel],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said = f"Sandglass's modules need Linux 6.1 or newer, and this is {release}"
    assert (said in done.stdout) == refused
