"""What tests need built: their own programs in C, the kernel's headers for these, and packetdrill.

The compiler and make are this machine's, in a cage: a Makefile may run any program. What they make
is linked with the C library of the lab's root, where it runs. Each is kept in the cache under what
it was made of.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandglass.cage import seccomp
from sandglass.cage.cage import LIBRARIES, Cage
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.selftests import source

KEPT = "tests"
"""The directory of the cache for tests."""
BUILDING = "build-"
MOST_KEPT = 6
PACKETDRILL = "packetdrill"
PRODUCT, MANIFEST = "product", "built.json"
GOAL = "sandglass-programs"
"""What a Makefile is given to make: the names of its tests."""
TOOLS = tuple(map(Path, ("/usr", "/bin", "/sbin", "/etc/alternatives", "/proc/self", "/dev/zero")))
"""What compilers are and read of this machine, besides its libraries."""
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "SOURCE_DATE_EPOCH": "1735689600",
}
LEFT_OUT = ("YNL_GEN_FILES=", "YNL_GEN_PROGS=", "CLANG=false")
"""What make is told not to build: YNL's generator wants Python's packages, BPF wants clang."""
SAID_OF = re.compile(r"^make.*\*\*\* \[.*: (?P<file>\S+)\] Error", re.M)
FAULT = re.compile(r"^(?P<source>[^\s:]+\.c):\d+:\d+: (?:fatal )?error: (?P<what>.*)$", re.M)


@dataclass(frozen=True)
class Built:
    """The tests of a source, ready to be run."""

    tree: Path
    """Of tools/testing/selftests."""
    programs: Mapping[str, list[str]]
    """What the Makefile of a folder calls its tests, by the folder's name."""
    missing: Mapping[str, str]
    """Why a program was not built, by its path below the tree."""


def built(origin: source.Source, folders: list[str], root: Path) -> Built:
    """The tests of some folders of a source for a lab's root; they are built on first use.

    What cannot be built is missing, which its tests tell. Raises SandglassError when nothing can.
    """
    home = _home() / f"{origin.key}-{_key(root, *folders)}"
    if not home.is_dir():
        with _scratch() as scratch:
            if not home.is_dir():  # another one may have made it
                _build(origin, folders, root, scratch)
                (scratch / PRODUCT).rename(home)
                _forget(_home())
    os.utime(home)  # it is in use
    found = json.loads((home / MANIFEST).read_text())
    return Built(home / "selftests", found["programs"], found["missing"])


def _build(origin: source.Source, folders: list[str], root: Path, scratch: Path) -> None:
    tree = scratch / "linux"
    origin.unpack(tree)
    cage = _cage(scratch, root)
    if (tree / "Makefile").is_file():
        said, status = _make(cage, tree, "headers", "ARCH=x86")
        if status:
            raise SandglassError(f"{origin.name}: its headers cannot be made", _tail(said))
    programs: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    selftests = tree / source.SELFTESTS
    options = (
        *_compiler(root, scratch),
        *("ARCH=x86", f"KHDR_INCLUDES=-isystem {tree}/usr/include", f"top_srcdir={tree}"),
        *LEFT_OUT,
    )
    for folder in folders:
        place = selftests / folder
        if not (place / "Makefile").is_file():
            continue
        asks = f"--eval={GOAL}: ; @echo $(notdir $(TEST_PROGS) $(TEST_GEN_PROGS))"
        said, status = _make(cage, place, "-s", asks, GOAL, *options)
        if status:
            raise SandglassError(f"{origin.name}: {folder}/Makefile: make fails", _tail(said))
        programs[folder] = sorted(set(said.splitlines()[-1].split())) if said.strip() else []
        said, _ = _make(cage, place, "-k", "all", *options)
        missing |= {f"{folder}/{file}": why for file, why in _failed(said)}
    kept = scratch / PRODUCT
    kept.mkdir()
    selftests.rename(kept / "selftests")
    (kept / MANIFEST).write_text(json.dumps({"programs": programs, "missing": missing}, indent=1))


def _failed(said: str) -> Iterator[tuple[str, str]]:
    """The files that make could not make, and the compiler's first error of each."""
    faults = {
        Path(fault["source"]).stem: fault["what"] for fault in reversed([*FAULT.finditer(said)])
    }
    for failure in SAID_OF.finditer(said):
        name = Path(failure["file"]).name
        yield name, faults.get(name, "it cannot be built")


def packetdrill(given: Path | None, root: Path) -> Path | None:
    """A directory with the program packetdrill, built of what somebody has given.

    That is a directory with packetdrill's source or an archive of it. Without one it is the program
    that was built last, for any root with this C library; None when there was none.
    """
    places = _home() / PACKETDRILL
    if given is None:
        found = places.glob(f"*-{_key(root)}")
        return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)
    if not given.exists():
        raise UsageError(f"--packetdrill: there is no {given}")
    with _scratch() as scratch:
        copy = _packetdrill_source(given, scratch)
        home = places / f"{_fingerprint(copy)}-{_key(root)}"
        if home.is_dir():
            os.utime(home)
            return home
        options = (*_compiler(root, scratch), "CFLAGS=-g")
        said, status = _make(
            _cage(scratch, root), copy, "-f", "Makefile.Linux", PACKETDRILL, *options
        )
        program = copy / PACKETDRILL
        if status or program.is_symlink() or not program.is_file():
            raise SandglassError(f"{given}: packetdrill cannot be built", _tail(said))
        product = scratch / PRODUCT
        product.mkdir()
        shutil.copy2(program, product)
        places.mkdir(parents=True, exist_ok=True)
        product.rename(home)
        _forget(places)
    return home


def _packetdrill_source(given: Path, scratch: Path) -> Path:
    """A copy of packetdrill's own source, without what a build has left there."""
    folder = given
    if given.is_file():
        folder = scratch / "unpacked"
        folder.mkdir()
        cage = Cage(
            read=(given.resolve(), *TOOLS, *LIBRARIES),
            write=(folder, scratch),
            program=seccomp.tool_filter(),
        )
        said, status = _caged(
            cage, scratch, "tar", "-x", "-C", str(folder), "-f", str(given.resolve())
        )
        if status:
            raise UsageError(f"--packetdrill: {given} is no archive", _tail(said))
    found = sorted(folder.rglob("Makefile.Linux"), key=lambda path: len(path.parts))
    if not found:
        raise UsageError(f"--packetdrill: {given} has no source of packetdrill")
    copy = scratch / "source"
    copy.mkdir()
    for path in sorted(found[0].parent.iterdir()):
        own = path.suffix in {".c", ".h", ".l", ".y"} or path.name.startswith("Makefile.")
        made = path.name in {"lexer.c", "parser.c", "parser.h"}
        if own and not made and path.is_file() and not path.is_symlink():  # which leads elsewhere
            shutil.copy(path, copy)
    return copy


def _fingerprint(folder: Path) -> str:
    texts = [text for path in sorted(folder.iterdir()) for text in (path.name, path.read_text())]
    return builds.fingerprint([], *texts)


def _key(root: Path, *more: str) -> str:
    """What compilation hangs on besides its sources."""
    compiler = subprocess.check_output(["/usr/bin/cc", "--version"], text=True).partition("\n")[0]
    return builds.fingerprint(
        [Path(__file__), Path(source.__file__)], root.parent.name, compiler, *more
    )


def _compiler(root: Path, scratch: Path) -> tuple[str, ...]:
    return (f"CC=gcc {' '.join(builds.dynamic_with(root))} -ffile-prefix-map={scratch}=.",)


def _cage(scratch: Path, root: Path) -> Cage:
    return Cage(
        read=(root, scratch, *TOOLS, *LIBRARIES),  # programs that make builds are run, too
        write=(scratch,),
        program=seccomp.tool_filter(),
    )


def _make(cage: Cage, place: Path, *arguments: str) -> tuple[str, int]:
    """What make says, and its status."""
    cores = len(os.sched_getaffinity(0))
    return _caged(cage, place, "make", "--no-print-directory", f"-j{cores}", *arguments)


def _caged(cage: Cage, place: Path, *command: str) -> tuple[str, int]:
    with cage.prepared() as enter:
        done = subprocess.run(
            command,
            cwd=place,
            env=ENVIRONMENT | {"TMPDIR": str(cage.write[0])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=enter,
            check=False,
        )
    return done.stdout, done.returncode


def _tail(said: str) -> str:
    return "\n".join(said.splitlines()[-10:])


def _home() -> Path:
    return builds.directory() / KEPT


def _forget(places: Path) -> None:
    """Remove all but what was used last."""
    there = [path for path in places.glob("*-*") if not path.name.startswith(BUILDING)]
    there.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in there[MOST_KEPT:]:
        shutil.rmtree(path)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for one build at a time, which goes at its end."""
    _home().mkdir(parents=True, exist_ok=True)
    with (_home() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in _home().glob(f"{BUILDING}*"):  # by a build that was killed
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=_home(), prefix=BUILDING) as name:
            yield Path(name)
