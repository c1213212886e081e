"""What Sandglass needs of a machine, and what of it is there."""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sandglass.cage import cage
from sandglass.errors import SandglassError
from sandglass.install import builds, extras, manifests, memory, setup_lab

LAB_MEMORY_MB = 1024
CACHE_FREE_MB = 4096
PTRACE_TRACEME = 0
PIPE_WIDTH = 200
SANDBOXES: dict[cage.Layer, str] = {
    "landlock": "Landlock and seccomp: files, network, other processes",
    "namespaces": "namespaces and seccomp: files, network, other processes",
    "landlock-files": "Landlock and seccomp: files and network; not signals to your processes",
    "none": "seccomp alone: network; not your files",
}
OPTIONAL = "-"
WITHOUT = "only run --backend host and a build of the lab want such packages"


@dataclass(frozen=True)
class Finding:
    """One thing needed: what was found of it, and when it is missing what to do."""

    thing: str
    found: str
    """A version or an amount; empty when it is missing."""
    remedy: str = ""
    """What to do; also where something is found but not as good as it should be."""
    needed: bool = True


def examine() -> list[Finding]:
    """Everything Sandglass needs, in the order in which it is set up."""
    compilers = [] if builds.INSTALLED else packages()
    return [*machine(), *compilers, *python_packages(), lab_programs(), lab_kernel()]


def report(findings: list[Finding]) -> bool:
    """Print the table, and what comes of it; true when nothing needed is missing."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "needed"):
        table.add_column(column, no_wrap=True)
    table.add_column("found", overflow="fold")
    table.add_column("what to do", overflow="fold")
    for finding in findings:
        mark = "ok" if finding.found else "missing" if finding.needed else OPTIONAL
        table.add_row(mark, finding.thing, finding.found, finding.remedy)
    # a pipe has no width of its own: there, a row stays a line
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(width=width, markup=False, emoji=False, highlight=False).print(table)
    missing = [each.thing for each in findings if each.needed and not each.found]
    if missing:
        print(f"not ready: missing are {', '.join(missing)}")
    else:
        print("ready: experiments can run")
    if any(not each.found and not each.needed for each in findings):
        why = "more commands want it" if builds.INSTALLED else WITHOUT
        print(f"({OPTIONAL} is not there, and not needed: {why})")
    return not missing


def machine() -> Iterator[Finding]:
    """The host itself; what it lacks, set-up cannot install.

    The cache is written to only while there is no lab kernel.
    """
    kind = f"{platform.system()} {platform.machine()}"
    yield Finding(
        "Linux on x86-64",
        f"{kind} {platform.release()}" if kind == "Linux x86_64" else "",
        "" if kind == "Linux x86_64" else f"this is {kind}: the lab kernel needs an x86-64 host",
    )
    yield Finding("processors", str(len(os.sched_getaffinity(0))))
    flags = processor_flags()
    yield Finding("processor state with AMX", "yes" if "amx_tile" in flags else "no")
    yield tables(flags)
    free_mb = memory.available_mb()
    yield Finding(
        f"{LAB_MEMORY_MB} MB of free memory",
        f"{free_mb} MB" if free_mb >= LAB_MEMORY_MB else "",
        "" if free_mb >= LAB_MEMORY_MB else f"only {free_mb} MB are free: end something else",
    )
    yield lab_memory()
    yield sandbox()
    other = builds.without_ptrace()
    remedy = (
        "a seccomp profile, or kernel.yama.ptrace_scope=3, forbids it; "
        f"Linux {other} does without: SANDGLASS_KERNEL={other}"
    )
    traced = ptrace_allowed()
    yield Finding(
        "ptrace of own processes",
        "allowed" if traced else "",
        "" if traced else remedy,
        needed=builds.traces(builds.chosen_kernel()),
    )
    home = builds.directory()
    existing = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(existing).free // 2**20
    yield Finding(
        "cache directory",
        str(home) if os.access(existing, os.W_OK) else "",
        ""
        if free >= CACHE_FREE_MB
        else f"{free} MB are free, a build of the kernel takes {CACHE_FREE_MB} MB",
        needed=not lab_kernel().found,
    )


def tables(flags: set[str]) -> Finding:
    """Polars, which is compiled for processors with AVX2, or its build for all others."""
    thing = "processor for Polars"
    if "avx2" in flags:
        return Finding(thing, "with AVX2")
    if version := setup_lab.python_version("polars-runtime-compat"):
        return Finding(thing, f"without AVX2: Polars' compatible build {version}")
    return Finding(thing, "", f"has no AVX2: rm -r {sys.prefix}; the next command makes it anew")


def lab_memory() -> Finding:
    """Memory that a lab can map as code."""
    allowed = memory.executable()
    remedy = "" if allowed else "as root: sysctl vm.memfd_noexec=0"
    return Finding("memory that holds code", "allowed" if allowed else "", remedy)


def sandbox() -> Finding:
    """What keeps a lab from the rest of this machine."""
    thing = "sandbox of labs"
    try:
        held = cage.layer()
    except SandglassError as error:
        return Finding(thing, "", error.message, needed=bool(os.environ.get(cage.REQUIRED)))
    return Finding(thing, SANDBOXES[held], "" if cage.holds(held) else "see docs/security.md")


def packages() -> Iterator[Finding]:
    """Debian packages of setup's lists, with what each is for where it is missing.

    Those to build with are needed only while there is no lab; the others on the machine's own
    kernel. One that is in both lists is told once, as one to build with.
    """
    told = set[str]()
    remedies = {"packages-build.txt": "--system", "packages-host.txt": "--host"}
    for listed, option in remedies.items():
        text = (builds.ROOT / "setup" / listed).read_text()
        wanted = dict(re.findall(r"^([a-z0-9][a-z0-9.+-]*)\s+(.*)$", text, re.M))
        installed = installed_packages(list(wanted))
        needed = option == "--system" and not lab_kernel().found
        for name, purpose in wanted.items():
            if name in told:
                continue
            told.add(name)
            version = installed.get(name, "")
            remedy = "" if version else f"sudo ./sandglass setup {option} ({purpose})"
            yield Finding(f"package {name}", version, remedy, needed)


def installed_packages(names: list[str]) -> dict[str, str]:
    """Versions of those packages that are installed; none on a system without dpkg."""
    if not shutil.which("dpkg-query"):
        return {}
    layout = "-f=${db:Status-Status} ${Package} ${Version}\n"
    command = ["dpkg-query", "-W", layout, *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = (line.split() for line in answer.splitlines())
    return {row[1]: row[2] for row in rows if row[:1] == ["installed"]}


def python_packages() -> Iterator[Finding]:
    """The Python environment against requirements.lock; of an installed package, its extras."""
    python = f"Python {platform.python_version()}"
    if builds.INSTALLED:
        for extra, modules in extras.EXTRAS.items():
            there = all(find_spec(module) for module in modules)
            thing = f"extra [{extra}]"
            yield Finding(thing, python if there else "", extras.words(extra), needed=False)
        return
    differing = setup_lab.differing("requirements.lock")
    thing = "Python packages as locked"
    if differing:
        yield Finding(thing, "", f"differ: {' '.join(differing)}")
    else:
        yield Finding(thing, f"yes, {python}")


def lab_programs() -> Finding:
    """The root file system of what runs in the lab."""
    home = builds.built_root()
    if home is None:
        return Finding("lab's programs", "", builds.SETUP_HINT)
    packages = manifests.root(home / builds.ROOT_LIST)
    return Finding("lab's programs", f"{len(packages)} packages of Debian {builds.SUITE}")


def lab_kernel() -> Finding:
    """The lab kernel built from today's sources."""
    try:
        kernel = builds.lab_kernel()
    except SandglassError as error:
        return Finding("lab kernel", "", f"{error.hint}: {error.message}")
    return Finding("lab kernel", f"{kernel.release}, build {kernel.build}")


def processor_flags() -> set[str]:
    """What the processors can do, in Linux's words."""
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return set(found[1].split()) if found else set()


def ptrace_allowed() -> bool:
    """Whether a child may be traced, as the lab kernel traces its processes: tries it."""
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0
