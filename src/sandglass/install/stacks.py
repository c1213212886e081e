"""QUIC stacks: programs of workloads/quic/, made with their registries' packages, when asked for.

Each folder there is a stack. What lies in it says how it is made: go.mod, by Go; Cargo.lock, by
cargo; requirements.lock, by pip, of wheels for the lab's Python. All name each package with a
version and a hash.
Cargo's name of its index stands in no lock of ours: it is put in as cargo has it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.install import builds

FOLDER = builds.ROOT / "workloads" / "quic"
GO, CARGO, WHEELS = "go.mod", "Cargo.lock", "requirements.lock"
PACKAGES = "packages"
"""The directory of a stack that pip fills."""
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
"""Of wheels that the lab's C library takes."""
TARGET = "x86_64-unknown-linux-gnu"
STATIC = {
    **{"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"},
    "RUSTFLAGS": "-C target-feature=+crt-static",
}
"""Programs that need no library, of what is named and nothing else."""
INDEX = re.compile(r"^source = .*$", re.M)
CHECKSUM = re.compile(r"^checksum = ", re.M)
"""In what cargo writes, of each package: from which index it is, and what comes behind."""
LAST_WORDS = 5  # lines of what failed


def names() -> list[str]:
    """The stacks that there are."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def made(name: str) -> Path:
    """The directory in which the folder of a stack lies, with its programs; made unless it is.

    Raises ValueError where there is no such stack, UsageError where this machine has not what makes
    it, and SandglassError where that fails.
    """
    if name not in names():
        raise ValueError(f"there is no QUIC stack {name}{nearest(name, names())} {accepted()}")
    sources = sorted(path for path in (FOLDER / name).iterdir() if path.is_file())
    home = builds.directory() / "quic"
    target = home / f"{name}-{builds.fingerprint(sources)}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            for left in home.glob(".made-*"):  # when it was killed
                shutil.rmtree(left)
            with tempfile.TemporaryDirectory(dir=home, prefix=".made-") as scratch:
                print(f"sandglass: making the QUIC stack {name}, once", file=sys.stderr, flush=True)
                product = Path(scratch) / "product"
                _make(product / name, [path for path in sources if path.suffix == ".py"], name)
                product.rename(target)
    return target


def accepted() -> str:
    """What an experiment may write."""
    return f"Use one of {', '.join(names())}"


def _make(product: Path, programs: list[Path], name: str) -> None:
    product.mkdir(parents=True)
    for program in programs:
        shutil.copyfile(program, product / program.name)
    if (FOLDER / name / GO).is_file():
        how = ("-trimpath", "-buildvcs=false", "-o", f"{product}/")
        _run(name, FOLDER / name, "go", "build", *how, ".")
    if (FOLDER / name / CARGO).is_file():
        _by_cargo(product, name)
    if (FOLDER / name / WHEELS).is_file():
        _run(name, FOLDER / name, *_by_pip(product))


def _by_cargo(product: Path, name: str) -> None:
    """Have cargo build the crates that the lock names, of the index that it has by itself."""
    sources = product.parent / "sources"
    shutil.copytree(FOLDER / name, sources)
    lock = sources / CARGO
    locked = lock.read_text()
    lock.unlink()
    _run(name, sources, "cargo", "generate-lockfile", "--quiet")
    index = INDEX.search(lock.read_text())
    lock.write_text(CHECKSUM.sub(index[0] + r"\n\g<0>", locked) if index else locked)
    # With a target of its own: else the flags are of what runs here while it compiles, too.
    how = ("--quiet", "--release", "--locked", "--target", TARGET)
    _run(name, sources, "cargo", "build", *how, "--target-dir", "built")
    for program in (sources / "built" / TARGET / "release").iterdir():
        if program.is_file() and os.access(program, os.X_OK):
            shutil.copy(program, product / program.name)
    shutil.rmtree(sources)


def _by_pip(product: Path) -> list[str]:
    platforms = [word for each in PLATFORMS for word in ("--platform", each)]
    lab = ["--python-version", "3.11", "--implementation", "cp", *platforms]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-compile"]
    exact = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", WHEELS]
    target = ["--target", str(product / PACKAGES)]
    return [sys.executable, "-m", "pip", "install", *quiet, *lab, *exact, *target]


def _run(name: str, place: Path, *command: str) -> None:
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"the QUIC stack {name} is made by {command[0]}, which is not here", "Install it."
        )
    done = subprocess.run(
        command,
        cwd=place,
        env=os.environ | STATIC,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise SandglassError(
            f"the QUIC stack {name} cannot be made: {command[0]} failed",
            "\n".join(said[-LAST_WORDS:]),
        )
