"""Sandglass's modules on this machine's own kernel, by DKMS, and their plugins for its tc.

All modules are one DKMS package, which DKMS builds again for each kernel that is installed later.
Its version holds a fingerprint of their sources, so that a change of one is a new version.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import sandglass
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, plugins, setup_lab

PACKAGE = "sandglass"
VERSION_MARK = "#MODULE_VERSION#"
SOURCES = Path("/usr/src")
TREE = Path("/var/lib/dkms") / PACKAGE
# As for the lab's: a stray CFLAGS or ARCH of the user's must not enter the build.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
SHOWN_LINES = 15


def install() -> None:
    """Build and install today's modules and plugins; replaces those of another version.

    They are not loaded: a run loads what it needs. Raises SandglassError: not root, a module that
    is in use, or a build that failed, of which nothing is left.
    """
    _as_root()
    wanted = version()
    release = platform.release()
    headers = [] if Path(f"/lib/modules/{release}/build").exists() else [f"linux-headers-{release}"]
    setup_lab.packages("packages-host.txt")
    setup_lab.run(builds.ROOT / "setup" / "packages", "build-essential", "dkms", *headers)
    if is_installed(wanted, release):
        print(f"the modules {wanted} are installed for Linux {release}")
        return
    remove()
    print(f"building the modules {wanted} for Linux {release}", flush=True)
    try:
        _install(wanted, release)
    except BaseException:
        remove()
        raise
    print(f"installed: {' '.join(sorted(modules(SOURCES / f'{PACKAGE}-{wanted}')))}")


def remove() -> None:
    """Unload and remove the modules and plugins of any version; what is not there is no failure.

    Raises SandglassError: not root, or a module that is in use; nothing is removed then.
    """
    _as_root()
    for source in SOURCES.glob(f"{PACKAGE}-*"):
        present = {line.split()[0] for line in Path("/proc/modules").read_text().splitlines()}
        if loaded := sorted(present & modules(source)):
            _run("modprobe", "--remove", *loaded)
        name = source.name.removeprefix(f"{PACKAGE}-")
        if (TREE / name).exists():
            _run("dkms", "remove", "-m", PACKAGE, "-v", name, "--all")
        for plugin_source in plugins.sources(source):
            for library in plugins.libraries():
                plugins.plugin(plugin_source, library).unlink(missing_ok=True)
        shutil.rmtree(source)
        print(f"removed the modules {name}")


def version() -> str:
    """The version of today's sources as a DKMS package."""
    return f"{sandglass.__version__}-{builds.fingerprint(builds.module_sources())}"


def is_installed(wanted: str, release: str) -> bool:
    """Whether this version of the modules is installed for a kernel."""
    if not (TREE / wanted).exists():
        return False
    status = _run("dkms", "status", "-m", PACKAGE, "-v", wanted, "-k", release)
    return "installed" in status


def write_package(wanted: str, target: Path) -> None:
    """Lay out the sources as DKMS wants them, in the directory `target`."""
    for_the_lab = builds.modules_for_the_lab()
    for source in builds.module_sources():
        if source.parent in for_the_lab:
            continue
        place = target / builds.placed(source).relative_to("kmods")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    configuration = (builds.ROOT / "kmods" / "dkms.conf").read_text()
    (target / "dkms.conf").write_text(configuration.replace(VERSION_MARK, wanted))


def modules(package: Path) -> set[str]:
    """The names of the modules that a package laid out in this directory has."""
    return {kbuild.parent.name for kbuild in package.glob("*/Kbuild")}


def _install(wanted: str, release: str) -> None:
    source = SOURCES / f"{PACKAGE}-{wanted}"
    write_package(wanted, source)
    library = next((path for path in plugins.libraries() if path.is_dir()), None)
    if library is None:
        raise SandglassError("tc is not installed", "sudo ./sandglass setup --system")
    for plugin_source in plugins.sources(source):
        _run(*plugins.compilation(plugin_source, library))
    # Last: what DKMS calls installed is whole.
    log = TREE / wanted / "build" / "make.log"
    _run("dkms", "install", "-m", PACKAGE, "-v", wanted, "-k", release, log=log)


def _as_root() -> None:
    if os.geteuid() != 0:
        raise UsageError("the host's own modules need root", "Run it with sudo -E.")


def _run(*command: str, log: Path | None = None) -> str:
    """Run a tool and return what it printed.

    Raises SandglassError with its last words, or those of the log that it has kept.
    """
    done = subprocess.run(
        command,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        said = log.read_text() if log and log.exists() else done.stdout
        words = said.splitlines()[-SHOWN_LINES:]
        raise SandglassError(f"{' '.join(command[:2])} failed", "\n".join(words))
    return done.stdout
