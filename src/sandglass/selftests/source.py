"""Where the tests come from: the source of the lab's kernel, or a tree of somebody's."""

import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, debian

SELFTESTS = "tools/testing/selftests"
TESTS = tuple(
    f"{SELFTESTS}/{name}"
    for name in (
        *("lib.mk", "kselftest", "kselftest.h", "kselftest_harness.h", "kselftest_harness"),
        *("net", "tc-testing"),
    )
)
"""What the tests themselves are; some kernels have some of it."""
HEADERS = (
    *("Makefile", "Kbuild", "scripts", "usr", "include/uapi", "include/asm-generic"),
    *("arch/x86/Makefile", "arch/x86/Makefile.um", "arch/x86/Makefile_32.cpu"),
    *("arch/x86/include", "arch/x86/entry/syscalls", "arch/x86/tools"),
    *("tools/include", "tools/arch/x86/include"),
)
"""What a kernel's headers for programs are made of, and what tests include besides."""


@dataclass(frozen=True)
class Source:
    """A kernel's source, as a package of Debian's or as a tree."""

    name: str
    """What it is called when it is told of."""
    key: str
    """12 hex digits: another source has others."""
    deb: Path | None
    tree: Path | None

    def unpack(self, target: Path) -> None:
        """Lay TESTS and HEADERS below a directory; what a source has not is left out."""
        target.mkdir(parents=True)
        if self.tree:
            there = [part for part in (*TESTS, *HEADERS) if (self.tree / part).exists()]
            packed = f'tar -c -C "$0" {" ".join(there)} | tar -x -C "$1"'
            command = ("bash", "-o", "pipefail", "-c", packed, str(self.tree), str(target))
        else:
            assert self.deb
            name = self.deb.name.partition("_")[0]
            wanted = " ".join(f"'{name}/{part}'" for part in (*TESTS, *HEADERS))
            packed = (
                f'dpkg-deb --fsys-tarfile "$0" | tar -xO "./usr/src/{name}.tar.xz"'
                f' | {{ tar -x -C "$1" -I "xz -T0" --strip-components=1 {wanted} || true; }}'
            )  # tar fails for a part that there is not
            command = ("bash", "-o", "pipefail", "-c", packed, str(self.deb), str(target))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not (target / SELFTESTS).is_dir():
            raise SandglassError(f"{self.name}: cannot be unpacked", done.stderr.strip() or None)


def of_lab(kernel: builds.LabKernel) -> Source:
    """The source that a lab's kernel was built of; it is downloaded when it is not there.

    Raises SandglassError when Debian has another version of it by now.
    """
    package, _, version = str(kernel.info["source"]).partition(" ")
    deb = debian.fetch(package, later_suites=True)
    if (there := debian.version(deb)) != version:
        raise SandglassError(
            f"the lab's kernel is of {package} {version}, and its tests are to be had of {there}",
            "Name the kernel's tree: --tree DIR",
        )
    return Source(f"{package} {version}", builds.fingerprint([], package, version), deb, None)


def of_tree(tree: Path) -> Source:
    """A kernel's tree of somebody's; raises UsageError when it has no selftests."""
    if not (tree / SELFTESTS).is_dir():
        raise UsageError(f"{tree} is no kernel's tree: it has no {SELFTESTS}")
    digest = hashlib.sha256()
    for path in _files(tree):
        digest.update(f"{path.relative_to(tree)}\0{path.stat().st_mode}\0".encode())
        digest.update(path.read_bytes())
    key = digest.hexdigest()[:12]
    return Source(f"{tree.resolve().name} {key}", key, None, tree.resolve())


def _files(tree: Path) -> Iterator[Path]:
    """All that is unpacked of a tree."""
    for part in (*TESTS, *HEADERS):
        place = tree / part
        yield from sorted(path for path in (place, *place.rglob("*")) if path.is_file())
