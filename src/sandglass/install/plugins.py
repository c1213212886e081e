"""The plugins of tc that qdiscs of kmods/ bring: their options and statistics.

Nothing here needs more than the standard library, as in builds.py.
"""

from pathlib import Path

from sandglass.install import builds

WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers")


def libraries(root: Path = Path("/")) -> list[Path]:
    """Where Debian's tc in a root file system keeps its plugins and tables of distributions."""
    return [root / "usr/lib/tc", *root.glob("usr/lib/*-linux-gnu*/tc")]


def sources(kmods: Path) -> list[Path]:
    """The sources of plugins in a directory laid out as kmods/ is."""
    return sorted(kmods.glob("*/q_*.c"))


def plugin(source: Path, directory: Path) -> Path:
    """The file in tc's `directory` that a source becomes."""
    return directory / f"{source.stem}.so"


def compilation(source: Path, directory: Path, root: Path = Path("/")) -> tuple[str, ...]:
    """The command that makes a plugin of a source, for the tc of a root file system."""
    target = str(plugin(source, directory))
    options = (*builds.linked_with(root), "-shared", "-fPIC", "-O2", *WARNINGS)
    return ("cc", *options, "-o", target, str(source))
