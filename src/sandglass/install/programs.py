"""The programs of a lab, and their versions."""

from pathlib import Path

from sandglass.install import builds, manifests, root


def versions(files: Path) -> dict[str, str]:
    """Debian versions of the packages that our list asks for, by name, in the root at `files`."""
    asked = set(root.wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text()))
    packages = manifests.root(files.parent / builds.ROOT_LIST)
    return {each["name"]: each["version"] for each in packages if each["name"] in asked}
