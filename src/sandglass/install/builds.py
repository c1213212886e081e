"""Where set-up keeps what it made: the lab kernel, its modules, and the lab's root.

Nothing here needs more than the standard library, so that `kernel/build` runs on a bare Debian.
"""

import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from sandglass.errors import SandglassError, UsageError
from sandglass.install import manifests
from sandglass.install.modules import FILE, Module, linux, read

ROOT = Path(__file__).resolve().parents[3]
"""The checkout, or what an installed package has in the place of one."""
CARRIED = ROOT / "labs"
"""The labs that an installed package carries, a file for each kernel; a checkout has none."""
INSTALLED = CARRIED.is_dir()
WORK = Path() if INSTALLED else ROOT
"""What results/ lies in: the working directory, or the checkout."""
DEFAULT_KERNEL = "6.12"
DEBUG = "-debug"
"""What the name of a debug lab's kernel ends in, such as 6.12-debug."""
SUITE = "bookworm"
"""The release of Debian that the lab is made of, whatever the host is."""
COMPILATION = ("kernel/make.env", "kernel/cc", "kernel/common.h")
"""What the kernel is compiled with."""
ROOT_PACKAGES = "setup/packages-lab.txt"
ROOT_RECIPE = ("src/sandglass/install/root.py", "src/sandglass/install/maintainers.py")
ROOT_PATCHES = "setup/patches"
ROOT_FILES = "root"
ROOT_LIST = "packages.json"
"""What a root is kept as: its files, and the packages that they are of."""
DECIDE_RUNS = (
    "src/sandglass/agent",
    "src/sandglass/lab",
    "src/sandglass/records",
    "topologies",
    "workloads",
)
"""The folders whose code decides what a run leaves, besides its plan, the kernel and its modules.

What makes the plan of an experiment is not among them: the plan itself is part of a run's key.
"""
MAKE_PLANS = ("src/sandglass/experiment", "src/sandglass/run")
"""The folders whose code makes a run's plan of its experiment."""
BUILD_FILE = "build.json"
"""In the directory of a kernel: what it was built of."""
LAB_FILE = "lab.json"
"""In the directory of a lab's init and modules: what belongs to it."""
IMPORTED = "imported"
"""A file beside the init of a lab that came from a file, which no build forgets."""
MOST_STEPS = 1000
"""From directory to directory on the way to a file of the lab: links may lead in a circle."""
SETUP_HINT = "run `./sandglass setup`"
DEBUG_ROOT = "/sandglass"
"""Where a debugger is told that sources lie, on whatever machine they are compiled."""

Found = TypeVar("Found")
NAMES = "names"
"""In the cache: a file for each name of a lab, with its identity."""
CHOOSE = ("SANDGLASS_KERNEL", "SANDGLASS_KMODS", "SANDGLASS_LAB", "SANDGLASS_PACKAGES")
"""Variables of the environment that choose another lab."""
_settled: dict[tuple[object, ...], object] | None = None
_wanted: str | None = None
_packages: tuple[str, ...] = ()


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Within it commit, sources, modules and lab are taken to stay as they are, and looked up once.

    It is for many runs in one process: to look anew takes a twentieth of a second each time.
    """
    global _settled  # noqa: PLW0603
    before = _settled
    _settled = {} if before is None else before
    try:
        yield
    finally:
        _settled = before


def once(look_up: Callable[[], Found]) -> Callable[[], Found]:
    """A look-up whose answer is kept while all is settled."""

    @functools.wraps(look_up)
    def known() -> Found:
        answers = _settled  # which another thread may end while this one looks
        if answers is None:
            return look_up()
        key = (look_up, _wanted, _packages, *map(os.environ.get, CHOOSE))
        if key not in answers:
            answers[key] = look_up()
        return cast(Found, answers[key])

    return known


@contextlib.contextmanager
def on(kernel: str | None, packages: Iterable[str] = ()) -> Iterator[None]:
    """Within it the lab is of this kernel, unless the environment chooses one; of None, no other.

    It has these Debian packages besides. A lab of a tree is chosen by its name. It is for one thing
    at a time: all threads of a process share it.
    """
    global _wanted, _packages
    before = _wanted, _packages
    _wanted, _packages = kernel or _wanted, tuple(packages) or _packages
    try:
        yield
    finally:
        _wanted, _packages = before


@dataclass(frozen=True)
class LabKernel:
    """A kernel built for the lab, with the modules and the init that were built for it."""

    linux: Path
    """The User-Mode-Linux executable."""
    init: Path
    """The static program that the kernel starts as process 1."""
    modules: list[Path]
    """Out-of-tree modules (*.ko), in the order of their names, as modprobe -d expects them."""
    symbols: Path
    """The directory of the same modules with a debugger's symbols."""
    tc: Path
    """The directory of tc's plugins, its own and ours."""
    root: Path
    """The root file system of what runs in it."""
    release: str
    """What `uname -r` says inside."""
    lab: str
    """12 hex digits over all that the lab is made of, but for the compiler."""
    build: str
    """12 hex digits over source version, configuration, patches and init."""
    module_builds: dict[str, str]
    """12 hex digits over the sources of each module, by its name."""
    info: dict[str, str | list[str]]
    """build.json: source, compiler, config hash, patches."""


def directory() -> Path:
    """The cache: $SANDGLASS_CACHE, else sandglass below the user's cache directory."""
    if chosen := os.environ.get("SANDGLASS_CACHE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "sandglass"


def chosen_kernel() -> str:
    """The name of the kernel in use, such as 7.2 or 6.12-debug.

    That of the lab that $SANDGLASS_LAB names, else $SANDGLASS_KERNEL, else what `on` says, else
    6.12.
    """
    if chosen := chosen_lab():
        return lab_called(chosen).name
    return os.environ.get("SANDGLASS_KERNEL") or _wanted or DEFAULT_KERNEL


def chosen_lab() -> str | None:
    """What names the lab in use, where that is not the one of today's sources.

    $SANDGLASS_LAB, else what `on` says, where that is no kernel.
    """
    if chosen := os.environ.get("SANDGLASS_LAB"):
        return chosen
    other = os.environ.get("SANDGLASS_KERNEL") or _wanted is None or is_kernel(_wanted)
    return None if other else _wanted


def is_kernel(name: str) -> bool:
    """Whether a name is one of a kernel, as 7.2 or 6.12-debug are, and not one of a lab."""
    return bool(re.fullmatch(rf"\d+\.\d+({DEBUG})?", name, re.ASCII))


def kernels() -> list[str]:
    """The series of Linux that a lab may be of, the oldest first."""
    return sorted((path.name for path in (ROOT / "kernel" / "patches").iterdir()), key=age)


def age(kernel: str) -> list[int]:
    """What orders kernels: the numbers of its series."""
    return [int(number) for number in series(kernel).split(".")]


def series(kernel: str) -> str:
    """The series of Linux that a kernel is: 6.12, of 6.12 and of 6.12-debug."""
    return kernel.removesuffix(DEBUG)


def traces(kernel: str) -> bool:
    """Whether a kernel holds the lab's programs by ptrace; later ones do by a seccomp filter."""
    return age(kernel) < [6, 16]


def without_ptrace() -> str:
    """The oldest kernel that holds the lab's programs without ptrace."""
    return next(kernel for kernel in kernels() if not traces(kernel))


def is_debug(kernel: str) -> bool:
    """Whether a kernel is one that looks for faults."""
    return kernel.endswith(DEBUG)


def patches(kernel: str) -> list[Path]:
    """Our patches for a kernel's series, in the order they are applied."""
    return sorted((ROOT / "kernel" / "patches" / series(kernel)).glob("*.patch"))


def configurations(kernel: str) -> list[Path]:
    """What a kernel's configuration is made of; a later file has the last word."""
    parts = ["lab.config", "lab.debug.config"] if is_debug(kernel) else ["lab.config"]
    return [ROOT / "kernel" / part for part in parts]


@once
def module_directories() -> list[Path]:
    """Where out-of-tree modules lie: kmods/, and the directory $SANDGLASS_KMODS of a user's own.

    Raises SandglassError when there is no module in that.
    """
    directories = [ROOT / "kmods"]
    if chosen := os.environ.get("SANDGLASS_KMODS"):
        directories.append(Path(chosen).absolute())
        if not any(directories[1].glob("*/Kbuild")):
            raise SandglassError(
                f"SANDGLASS_KMODS: there is no module in {chosen}",
                "name a directory laid out as kmods/ is: MODULE/Kbuild and its sources beside it",
            )
    return directories


def placed(path: Path) -> Path:
    """A source's name wherever the repository lies, such as kmods/tcp_abe/abe.h.

    Modules of a user's own have theirs in the same tree, in which all are built.
    """
    text = str(path)
    for directory in module_directories():
        if text.startswith(f"{directory}/"):
            return Path("kmods", text[len(str(directory)) + 1 :])
    return path.relative_to(ROOT)


@once
def module_sources() -> list[Path]:
    """Everything that out-of-tree modules are built from, without what a build leaves behind.

    Raises SandglassError when a module or a shared header of the user's is called as one of ours.
    """
    found: dict[Path, Path] = {}
    for directory in module_directories():
        for place, folders, names in os.walk(directory):
            folders[:] = [name for name in folders if name != "tests"]
            kept = {"Kbuild", "Makefile"}
            if Path(place) == directory != ROOT / "kmods":  # they build a user's directory alone
                kept = set()
            for name in names:
                is_source = name.endswith((".c", ".h", ".mk")) and not name.endswith(".mod.c")
                if is_source or name in kept:
                    path = Path(place, name)
                    if found.setdefault(placed(path), path) != path:
                        raise SandglassError(
                            f"SANDGLASS_KMODS: {placed(path)} is there already", "rename it"
                        )
    return [found[name] for name in sorted(found)]


@once
def modules() -> dict[str, list[Path]]:
    """The out-of-tree modules by name, each with all that it is built from.

    That is its own directory, and what it includes from the one above.
    """
    sources = {placed(path): path for path in module_sources()}
    found = {}
    for kbuild in (name for name in sources if name.match("kmods/*/Kbuild")):
        own = [path for name, path in sources.items() if name.is_relative_to(kbuild.parent)]
        found[kbuild.parent.name] = own + shared_sources(own, sources)
    return found


def plugins_alone() -> dict[Path, list[Path]]:
    """The plugins of tc for qdiscs of mainline, each with all that it is built from."""
    sources = {placed(path): path for path in module_sources()}
    return {
        path: [path, *shared_sources([path], sources)]
        for name, path in sources.items()
        if name.match("q_*.c") and name.parent / "Kbuild" not in sources
    }


def shared_sources(own: Iterable[Path], sources: Mapping[Path, Path]) -> list[Path]:
    """What a module includes from the directory above it, and what that includes there."""
    texts = [path.read_text() for path in own]
    found: dict[str, Path] = {}
    while texts:
        names = set(re.findall(r'^#?include .*\b(\w+\.(?:h|mk))"?$', texts.pop(), re.M))
        for name in names - set(found):
            if path := sources.get(Path("kmods") / name):
                found[name] = path
                texts.append(path.read_text())
    return [found[name] for name in sorted(found)]


@once
def module_builds() -> dict[str, str]:
    """12 hex digits over the sources of each out-of-tree module, by its name.

    Of what its folder says of it only the layout of its statistics counts.
    """
    return {
        name: fingerprint(sources, read(sources[0].parent / FILE).layout)
        for name, sources in modules().items()
    }


@once
def described() -> list[Module]:
    """What is said of Linux's own qdiscs and congestion controls, and by the folder of each module.

    Raises SandglassError when a module.toml is wrong.
    """
    return [*linux(), *(read(folder / FILE) for folder in _folders())]


def _folders() -> list[Path]:
    places = module_directories()
    return sorted(kbuild.parent for place in places for kbuild in place.glob("*/Kbuild"))


def modules_for_the_lab() -> dict[Path, Module]:
    """The folders of modules that only a kernel of the lab's takes, one that they name."""
    found = {folder: read(folder / FILE) for folder in _folders()}
    return {folder: module for folder, module in found.items() if module.kernel}


def aliases(sources: Iterable[Path]) -> set[str]:
    """The names that a module is loaded by besides its own."""
    text = "".join(source.read_text() for source in sources)
    return set(re.findall(r'^MODULE_ALIAS\("(\w+)"\);', text, re.M))


def module_pattern(sources: Iterable[Path]) -> re.Pattern[str]:
    """Finds a module in the text of an experiment, by any of its names."""
    return re.compile(rf"\b({'|'.join(sorted(module_names(sources)))})\b")


def module_names(sources: Iterable[Path]) -> set[str]:
    """What an experiment may call a module by: its aliases, with and without 'tcp_' or 'sch_'."""
    sources = list(sources)
    found = aliases(sources) | {sources[0].parent.name}
    return found | {name.removeprefix("tcp_").removeprefix("sch_") for name in found}


def fingerprint(files: Iterable[Path], *more: str) -> str:
    """12 hex digits that change when a file's name or content, or one of the strings, does."""
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        digest.update(f"{placed(path)}\0{len(content)}\0".encode() + content)
    for text in more:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:12]


def kernel_key(kernel: str) -> str:
    """What the kernel proper is made from, but for the source's own version and the compiler."""
    how = [ROOT / name for name in COMPILATION]
    return fingerprint([*configurations(kernel), *how, *patches(kernel)])


def built_kernel(kernel: str) -> Path | None:
    """The directory of the newest kernel built of its series from today's configuration."""
    pattern = f"{series(kernel)}.*-{kernel_key(kernel)}*/build.json"
    found = (directory() / "kernels").glob(pattern)
    newest = max(found, key=lambda path: path.stat().st_mtime_ns, default=None)
    return newest.parent if newest else None


def kernel_build(kernel_directory: Path) -> str:
    """12 hex digits over the kernel proper, and init; the compiler changes no run."""
    source_and_key = kernel_directory.name.rpartition("-")[0]
    return fingerprint([ROOT / "kernel" / "init.c"], source_and_key)


def linked_with(root: Path) -> tuple[str, ...]:
    """What has a compiler take headers, start files and libraries of a root's files.

    With a sysroot alone gcc finds this machine's start files and libraries first.
    """
    return f"--sysroot={root}", f"-B{root}/usr/lib/x86_64-linux-gnu/"


def dynamic_with(root: Path) -> tuple[str, ...]:
    """The same for a program that finds its libraries as it starts.

    The root's name for the loader is a link to /lib, and so to this machine's, which another
    version of the C library does not find all it wants in. In the lab it is the root's.
    """
    return *linked_with(root), "-Wl,--allow-shlib-undefined"


def further_packages() -> list[str]:
    """The Debian packages that a lab's root has besides those of setup/packages-lab.txt.

    Those that `on` says, and of $SANDGLASS_PACKAGES, in which they are handed to the build.
    """
    return sorted({*os.environ.get("SANDGLASS_PACKAGES", "").split(), *_packages})


def root_key(further: Iterable[str] = ()) -> str:
    """What a root with further packages is made of, but for the packages' versions."""
    made_of = [*(ROOT / name for name in (ROOT_PACKAGES, *ROOT_RECIPE)), *root_patches()]
    return fingerprint(made_of, SUITE, *further)


def root_patches() -> list[Path]:
    """Our patches for files of the root, in the order they are applied."""
    return sorted((ROOT / ROOT_PATCHES).glob("*.patch"))


def root_name(home: Path) -> str:
    """What a root is kept under: what it is made of, and 12 hex digits over its packages."""
    versions = hashlib.sha256((home / ROOT_LIST).read_bytes()).hexdigest()[:12]
    return f"{root_key(further_packages())}-{versions}"


def built_root(further: Iterable[str] | None = None) -> Path | None:
    """The directory of the newest root of today's list and further packages, by default ours."""
    key = root_key(further_packages() if further is None else further)
    found = (directory() / "roots").glob(f"{key}-*")
    return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)


def guest_key(kernel_directory: Path, root_directory: Path) -> str:
    """What modules and init are made from, how, and the kernel and root that they were made for."""
    sources = [ROOT / "kernel" / "init.c", ROOT / "kernel" / "build", *module_sources()]
    return fingerprint(sources, kernel_directory.name, root_directory.name)


@dataclass(frozen=True)
class Lab:
    """A lab that is whole in the cache, as lab.json beside its init says."""

    id: str
    """12 hex digits over all that it is made of, but for the compiler."""
    name: str
    """Of its kernel: 6.12, 7.2 or 6.12-debug."""
    kernel: str
    """What its kernel is kept under, such as 6.12.117-1_deb12u1-9aefd536d1c9-d685."""
    guest: str
    """What its init and modules are kept under, in the kernel's directory."""
    root: str
    """What its programs are kept under."""
    build: str
    """12 hex digits over its kernel and init."""
    module_builds: dict[str, str]
    """12 hex digits over the sources of each module, by its name."""
    packages: list[str] = field(default_factory=list)
    """Of Debian, in its root, besides those of setup/packages-lab.txt."""
    tree: str = ""
    """What its kernel is called, if that is of somebody's tree: version, commit, difference."""

    @property
    def places(self) -> tuple[Path, Path, Path]:
        """The directories of kernel, guest and root in the cache."""
        return self.places_in(directory())

    def places_in(self, home: Path) -> tuple[Path, Path, Path]:
        """The same in a directory that is laid out as the cache is."""
        kernel = home / "kernels" / self.kernel
        return kernel, kernel / self.guest, home / "roots" / self.root


def todays_lab(name: str, kernel_directory: Path, root_directory: Path, tree: str = "") -> Lab:
    """What the lab of today's sources is called, built or not, for a kernel and a root.

    `tree` is the kernel's own name, if it is of somebody's tree.
    """
    build, modules = kernel_build(kernel_directory), module_builds()
    parts = [build, root_directory.name, *(f"{key} {modules[key]}" for key in sorted(modules))]
    parts += map(fingerprint, plugins_alone().values())
    return Lab(
        id=fingerprint([], *parts),
        name=name,
        kernel=kernel_directory.name,
        guest=guest_key(kernel_directory, root_directory),
        root=root_directory.name,
        build=build,
        module_builds=modules,
        packages=further_packages(),
        tree=tree,
    )


def labs() -> list[Lab]:
    """The labs that are whole in the cache, the one last used first."""
    files = list((directory() / "kernels").glob(f"*/*/{LAB_FILE}"))
    files.sort(key=lambda path: path.parent.stat().st_mtime_ns, reverse=True)
    return [lab for lab in map(_read, files) if all(place.is_dir() for place in lab.places)]


def _read(about: Path) -> Lab:
    return Lab(**manifests.lab(about))


def is_imported(guest: Path) -> bool:
    """Whether a directory of init and modules came from a file."""
    return (guest / IMPORTED).exists()


def is_kept(guest: Path) -> bool:
    """Whether no build forgets a directory of init and modules.

    It came from a file, or is of a lab with further packages or a name: someone has asked for it.
    """
    about = guest / LAB_FILE
    if is_imported(guest) or not about.exists():
        return is_imported(guest)
    lab = _read(about)
    return bool(lab.packages) or lab.id in (
        own for name, own in names().items() if name[0].isalpha()
    )


def names() -> dict[str, str]:
    """The identities of labs by their names.

    A name that somebody gave begins with a letter; what a tree is called by itself, with a digit.
    """
    found = (directory() / NAMES).glob("[!.]*")
    return {path.name: path.read_text().strip() for path in sorted(found)}


def call(lab: Lab, name: str) -> None:
    """Give a lab a name, which another may have had; names of labs that are gone go."""
    place = directory() / NAMES
    place.mkdir(parents=True, exist_ok=True)
    there = {each.id for each in labs()}
    for other in (other for other, own in names().items() if own not in there):
        (place / other).unlink(missing_ok=True)
    (place / f".{name}").write_text(f"{lab.id}\n")
    (place / f".{name}").rename(place / name)


def lab_called(text: str) -> Lab:
    """The lab of a name, or whose identity begins with a text.

    Raises UsageError when there is none in the cache, or another one's does, too.
    """
    text = names().get(text, text)
    found = {lab.id: lab for lab in reversed(labs()) if text and lab.id.startswith(text)}
    if len(found) != 1:
        several = f"{len(found)} labs are" if found else "no lab is"
        raise UsageError(f"{several} called {text}", "`./sandglass lab list` shows them.")
    return next(iter(found.values()))


def chosen_root() -> Path | None:
    """The directory of the root in use, which may be there before the rest of a lab is."""
    return lab().places[2] if chosen_lab() else built_root()


def is_in_root(root: Path, name: str) -> bool:
    """Whether a root has a path of the lab's: its links lead on within it, as they do there."""
    return in_root(root, name) is not None


def in_root(root: Path, name: str) -> Path | None:
    """Where on this machine a root has a path of the lab's; None: it has none."""
    there = root
    left = name.split("/")[::-1]
    for _ in range(MOST_STEPS):
        if not left:
            return there if there.exists() else None
        part = left.pop()
        if part == "..":
            there = there if there == root else there.parent
        elif (there / part).is_symlink():
            target = str((there / part).readlink())
            there = root if target.startswith("/") else there
            left += target.split("/")[::-1]
        elif part:
            there /= part
    return None


@once
def lab() -> Lab:
    """The lab that runs are done in: one that is chosen, else the one of today's sources.

    Raises SandglassError when set-up has not built it, or the sources changed since.
    """
    if chosen := chosen_lab():
        return _with_packages(lab_called(chosen))
    kernel = chosen_kernel()
    hint = SETUP_HINT if kernel == DEFAULT_KERNEL else f"run `./sandglass setup --kernel {kernel}`"
    home = built_kernel(kernel)
    if home is None:
        raise SandglassError(f"the lab kernel (Linux {kernel}) is not built yet", hint)
    root = built_root()
    if root is None:
        raise SandglassError("the lab's programs are not there yet", hint)
    found = todays_lab(kernel, home, root)
    if not found.places[1].is_dir():
        raise SandglassError("the lab kernel's modules and init are not built yet", hint)
    return found


def _with_packages(chosen: Lab) -> Lab:
    """A lab that somebody has chosen; raises UsageError where it lacks packages that `on` says."""
    listed = manifests.root(chosen.places[2] / ROOT_LIST) if _packages else []
    if missing := sorted(set(_packages) - {each["name"] for each in listed}):
        words = " ".join(f"--with {name}" for name in missing)
        raise UsageError(
            f"the lab {chosen.id} has no package {', '.join(missing)}, which the experiment names",
            f"Choose no lab, or one that has: ./sandglass lab build {words}",
        )
    return chosen


def lab_kernel() -> LabKernel:
    """What a lab is started with; raises what lab() does."""
    found = lab()
    home, guest, root = found.places
    with contextlib.suppress(OSError):  # a cache that others keep
        os.utime(guest)  # it is in use: kernel/build removes what is not
    info = manifests.kernel(home / BUILD_FILE)
    return LabKernel(
        linux=home / "linux",
        init=guest / "init",
        modules=sorted(guest.glob(f"lib/modules/{info['release']}/*.ko")),
        symbols=guest / "debug",
        tc=guest / "lib" / "tc",
        root=root / ROOT_FILES,
        release=str(info["release"]),
        lab=found.id,
        build=found.build,
        module_builds=found.module_builds,
        info=info,
    )


def folder_build(folder: str) -> str:
    """12 hex digits over the Python files of a folder."""
    known = _folder_builds()
    if folder not in known:
        known[folder] = fingerprint(sorted((ROOT / folder).glob("*.py")))
    return known[folder]


@once
def _folder_builds() -> dict[str, str]:
    """Those that were asked for while all is settled."""
    return {}


@once
def lab_build() -> str:
    """What decides every run besides its experiment: kernel, root, recorder, and our code.

    12 hex digits. The modules that a run needs are its own matter; whether all others are built for
    the kernel changes nothing. Raises UsageError when a lab is chosen that is not there.
    """
    texts = [module.layout for module in linux()] + [*map(fingerprint, plugins_alone().values())]
    if chosen_lab():
        found = lab()
        parts = [found.build, found.root, found.module_builds["recorder"]]
    else:
        kernel, root = built_kernel(chosen_kernel()), built_root()
        parts = [kernel_build(kernel) if kernel else "not built", root.name if root else ""]
        parts.append(module_builds()["recorder"])
    return fingerprint([], *map(folder_build, DECIDE_RUNS), *parts, *texts)


def planning() -> str:
    """12 hex digits over the code that makes plans: with another one, plans may be others."""
    return fingerprint([], *map(folder_build, MAKE_PLANS))
