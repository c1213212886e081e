"""The plugins of tc that qdiscs of kmods/ bring: their options and statistics.

Nothing here needs more than the standard library, as in builds.py.
"""

from pathlib import Path

LIBRARIES = (Path("/usr/lib/tc"), *Path("/usr/lib").glob("*-linux-gnu*/tc"))
"""Where Debian's tc keeps its plugins and tables of distributions."""

WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers")


def sources(kmods: Path) -> list[Path]:
    """The sources of plugins in a directory laid out as kmods/ is."""
    return sorted(kmods.glob("*/q_*.c"))


def plugin(source: Path, directory: Path) -> Path:
    """The file in tc's `directory` that a source becomes."""
    return directory / f"{source.stem}.so"


def compilation(source: Path, directory: Path) -> tuple[str, ...]:
    """The command that makes a plugin of a source."""
    target = str(plugin(source, directory))
    return ("cc", "-shared", "-fPIC", "-O2", *WARNINGS, "-o", target, str(source))
