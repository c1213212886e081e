"""The guest's part of this checkout, compiled by the Python that runs it there.

Without, a lab compiles what it imports at each start, a tenth of a second.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from sandglass.install.builds import ROOT
from sandglass.install.root import within

FOLDERS = ("src/sandglass/agent", "topologies", "workloads")
PYTHON = "usr/bin/python3"
UNCHECKED = (1).to_bytes(4, "little")
"""The flags of a compiled file that is taken without a look at its source (PEP 552)."""


def compile_guests(root: Path) -> None:
    """Bring compiled files up to date, for the Python of a root file system.

    Not where Python is told to write none, nor in a checkout that cannot be written to.
    """
    version = (root / PYTHON).readlink().name.removeprefix("python").replace(".", "")
    changed = [path for path in sources() if not is_compiled(path, f"cpython-{version}")]
    if changed and os.access(ROOT, os.W_OK) and not sys.dont_write_bytecode:
        command = [*within(root, PYTHON), "-SBI", "-m", "py_compile", *map(str, changed)]
        subprocess.run(command, env={}, capture_output=True, check=False)


def sources() -> list[Path]:
    """The Python files that a lab may import from this checkout."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]


def is_compiled(path: Path, tag: str) -> bool:
    """Whether a file is compiled, as it is now, for a Python that calls itself by a tag.

    What an installed package brings compiled is not compared with its source's time.
    """
    own = f".{sys.implementation.cache_tag}.pyc"
    compiled = importlib.util.cache_from_source(str(path)).removesuffix(own) + f".{tag}.pyc"
    try:
        with open(compiled, "rb") as file:  # noqa: PTH123 there are dozens, at each start
            unchecked = file.read(8)[4:] == UNCHECKED
            made_ns = os.fstat(file.fileno()).st_mtime_ns
        return unchecked or made_ns >= path.stat().st_mtime_ns
    except FileNotFoundError:
        return False
