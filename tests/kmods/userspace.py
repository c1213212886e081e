"""The arithmetic of a module, compiled into a library that Python can call."""

import ctypes
import subprocess
from pathlib import Path

from sandglass.install import builds

HERE = Path(__file__).parent


def compiled(name: str, module: str, directory: Path) -> ctypes.CDLL:
    """kmods/MODULE/tests/NAME.c with the headers of the module; the library is left in `directory`.

    "." is kmods/ itself, whose programs are in tests/kmods.
    """
    sources = HERE if module == "." else builds.ROOT / "kmods" / module / "tests"
    path = directory / f"{name}.so"
    include = [f"-I{HERE / 'include'}", f"-I{builds.ROOT / 'kmods' / module}"]
    checks = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-prototypes"]
    # a shift or an index out of range, or a division by zero, must end the test
    checks += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    command = ["/usr/bin/cc", "-shared", "-fPIC", "-O2", *checks, *include, "-o", str(path)]
    subprocess.run([*command, str(sources / f"{name}.c")], check=True)
    return ctypes.CDLL(str(path))
