"""The programs of a lab, and their versions."""

from collections.abc import Iterable
from pathlib import Path

from sandglass.install import builds, manifests, root


def versions(files: Path) -> dict[str, str]:
    """Debian versions of the packages that our list asks for, by name, in the root at `files`."""
    return versions_of(root.wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text()), files)


def versions_of(names: Iterable[str], files: Path) -> dict[str, str]:
    """The same of some packages."""
    packages = manifests.root(files.parent / builds.ROOT_LIST)
    asked = set(names)
    return {each["name"]: each["version"] for each in packages if each["name"] in asked}
