"""The programs of a lab, and their versions."""

import json
from pathlib import Path

from sandglass.install import builds, root


def versions(files: Path) -> dict[str, str]:
    """Debian versions of the packages that our list asks for, by name, in the root at `files`."""
    asked = set(root.wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text()))
    packages: list[root.Package] = json.loads((files.parent / builds.ROOT_LIST).read_text())
    return {each["name"]: each["version"] for each in packages if each["name"] in asked}
