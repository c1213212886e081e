"""Set up what experiments need beyond Python: the lab."""

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, extras

BUILD = (sys.executable, builds.ROOT / "kernel" / "build")
READABLE = 0o022
"""The umask of set-up: what it makes is of one mode for everybody, and others can read it."""


def packages(listed: str = "packages-build.txt") -> None:
    """Install a list's missing Debian packages; the script has said it when it fails."""
    run(builds.ROOT / "setup" / "packages", listed)


def lab(wanted: str | None = None, further: Sequence[str] = ()) -> None:
    """Make sure that an experiment can run; does nothing, quickly, when all is there.

    Args:
        wanted: the kernel that it asks for, if it does.
        further: the Debian packages that it asks for.

    Raises UsageError where Debian has no such package.
    """
    with builds.on(wanted, further):
        try:
            builds.lab()
        except UsageError:  # another one is asked for, which is not there
            raise
        except SandglassError:
            if further and not builds.INSTALLED:
                programs()  # it knows in seconds what Debian has not
            kernel(builds.chosen_kernel())


def kernel(name: str) -> None:
    """Build a lab, or unpack one that an installed package carries.

    A script has said what went wrong when a build fails. Raises UsageError when the cache lies
    where no kernel can be built, or no package carries this lab.
    """
    if builds.INSTALLED:
        _unpack(name)
        return
    _prepare()
    run(*BUILD, "--source-version", name)


def tree(place: Path, *, names: Sequence[str], fragment: Path | None, debug: bool) -> None:
    """Build the lab of somebody's tree, and give it names.

    A script has said what went wrong when a build fails. Raises what `kernel` does.
    """
    _prepare()
    run(*BUILD, *of_tree(place, fragment, debug), *(f"--name={name}" for name in names))


def of_tree(place: Path, fragment: Path | None, debug: bool = False) -> list[str | Path]:
    """The words that have a build take a tree and a part of a configuration."""
    words: list[str | Path] = ["--tree", place.absolute()]
    if fragment is not None:
        words += ["--config", fragment.absolute()]
    return [*words, *["--debug"] * debug]


def _prepare() -> None:
    """Make sure that a kernel can be built here; raises UsageError."""
    home = builds.directory()
    if re.search(r"[\s:]", str(home)):  # the kernel's Makefile refuses both, minutes later
        raise UsageError(
            f"the cache {str(home)!r} has a space or a colon in its path: no kernel is built there",
            "Set SANDGLASS_CACHE to another directory, or import a lab, which runs there, too.",
        )
    packages()


def programs() -> Path:
    """The directory of the root in use, which is made where there is none: Mininet is in it.

    Topologies are asked by an import of it, before it is known which kernel an experiment wants.
    """
    if (found := builds.chosen_root()) is None:
        if builds.INSTALLED:
            _unpack(builds.DEFAULT_KERNEL)
        else:
            from sandglass.install import root  # noqa: PLC0415 it is for once

            before = os.umask(READABLE)
            try:
                root.make()
            finally:
                os.umask(before)
        found = builds.chosen_root()
        assert found
    return found


def _unpack(name: str) -> None:
    """Put the lab of a kernel that a package carries into the cache.

    Raises UsageError where none does, or what is asked for needs a build.
    """
    file = builds.CARRIED / f"{name}.lab"
    if not file.is_file():
        if name not in builds.kernels():
            extras.checkout_only(f"a lab of Linux {name}")
        raise UsageError(
            f"no package with the lab of Linux {name} is installed",
            extras.words(f"linux-{name}"),
        )
    from sandglass.install import labs  # noqa: PLC0415 it is for once, and Rich is slow to import

    print(f"sandglass: unpacking the lab, once, into {builds.directory()}", file=sys.stderr)
    labs.take(file)
    with builds.on(name):
        try:
            builds.lab()
        except SandglassError:
            if builds.further_packages() or os.environ.get("SANDGLASS_KMODS"):
                extras.checkout_only("a lab with modules or packages of your own")
            raise UsageError(
                f"the lab of Linux {name} is of another version than {extras.DISTRIBUTION}",
                "Install both from one release.",
            ) from None


def debugger() -> None:
    """Install gdb if it is missing."""
    run(builds.ROOT / "setup" / "packages", "gdb")


def executors() -> None:
    """Add Snakemake's executors for clusters to the Python environment."""
    add_locked("requirements-cluster.lock")


def bundler() -> None:
    """Add what describes bundles to the Python environment."""
    add_locked("requirements-bundle.lock")


def notebooks() -> None:
    """Add JupyterLab to the Python environment; raises UsageError where that is the user's own."""
    if builds.INSTALLED:
        extras.require("notebook")
    else:
        add_locked("requirements-notebook.lock")


def player() -> None:
    """Add what `play` serves with to the Python environment.

    Raises UsageError where that is the user's own.
    """
    if builds.INSTALLED:
        extras.require("play")
    else:
        add_locked("requirements-play.lock")


def linters_and_tests() -> None:
    """Add what the tests need to the Python environment."""
    documentation()
    packager()
    player()
    add_locked("requirements-dev.lock")


def packager() -> None:
    """Add what writes wheels to the Python environment."""
    add_locked("requirements-wheel.lock")


def documentation() -> None:
    """Add what makes the documentation a site to the Python environment."""
    bundler()
    add_locked("requirements-docs.lock")


def add_locked(lock: str) -> None:
    """Add the packages of a lock file to the Python environment, those that are not there yet."""
    if not differing(lock):
        return
    print(f"sandglass: adding the Python packages of {lock}", flush=True)
    options = ("--no-input", "--disable-pip-version-check", "--quiet", "--no-deps")
    hashed = ("--require-hashes", "--requirement", builds.ROOT / lock)
    run(sys.executable, "-m", "pip", "install", *options, *hashed)


def differing(lock: str) -> list[str]:
    """The packages of a lock file that the Python environment has not, or not in this version."""
    text = (builds.ROOT / lock).read_text()
    wanted = re.findall(r"^([^#\s=]+)==(\S+)", text, re.M)
    return [name for name, version in wanted if python_version(name) != version]


def python_version(name: str) -> str | None:
    """A Python package's version in the environment."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def run(*command: str | Path) -> None:
    """Run a step of set-up; when it fails, this process ends with its status.

    What it makes can be read by others, whatever the user's umask is: programs in a lab that are
    not root's are others.
    """
    environment = os.environ | {"SANDGLASS_PACKAGES": " ".join(builds.further_packages())}
    done = subprocess.run(command, check=False, umask=READABLE, env=environment)
    if done.returncode:
        raise SystemExit(done.returncode)
