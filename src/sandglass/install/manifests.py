"""The manifests in the cache, lab.json, build.json and packages.json, read and checked.

They decide which directories are used, and may have come from elsewhere in a lab's file.

Nothing here needs more than the standard library, as in builds.py.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandglass.errors import SandglassError

MOST_BYTES = 1 << 20
NAME = r"(?!\.)[\w.+-]{1,200}"
"""Of one directory, which leads nowhere else."""
DIGITS = "[0-9a-f]{12}"
PACKAGE = r"[a-z0-9][a-z0-9.+-]*"
LAB = {
    "id": DIGITS,
    "name": r"\d+\.\d+(-debug)?",
    "kernel": NAME,
    "guest": DIGITS,
    "root": NAME,
    "build": DIGITS,
    "tree": f"({NAME})?",
}
KERNEL = {"source": r"[\w.-]+ [\w.+:~-]+", "release": NAME}
SENTENCE = "[ -~]{1,300}"
ROOT = {"name": PACKAGE, "version": r"[\w.+:~-]+"}
HINT = "Remove the directory that it lies in: what that holds can be built or imported again."


class ManifestError(SandglassError):
    """A manifest that does not say what it should; the message begins with its path."""


def lab(path: Path) -> dict[str, Any]:
    """What a lab.json says, as builds.Lab has it; raises ManifestError."""
    found = _json(path)
    if not isinstance(found, dict):
        raise ManifestError(f"{path}: it is no mapping", HINT)
    found.setdefault("packages", [])
    found.setdefault("tree", "")
    _match(path, found, LAB)
    modules, packages = found.get("module_builds"), found["packages"]
    if not isinstance(modules, dict):
        raise ManifestError(f"{path}: module_builds: it is no mapping", HINT)
    _match(path, modules, dict.fromkeys(modules, DIGITS))
    if not isinstance(packages, list):
        raise ManifestError(f"{path}: packages: it is no list", HINT)
    for key, names, form in (("packages", packages, PACKAGE), ("module_builds", modules, r"\w+")):
        for name in names:
            _match(path, {key: name}, {key: form})
    if unknown := found.keys() - LAB.keys() - {"module_builds", "packages"}:
        raise ManifestError(f"{path}: {min(unknown)!r} is unknown to this version", HINT)
    return found


def kernel(path: Path) -> dict[str, str | list[str]]:
    """What a build.json says; raises ManifestError."""
    found = _json(path)
    if not isinstance(found, dict):
        raise ManifestError(f"{path}: it is no mapping", HINT)
    _match(path, found, KERNEL)
    for key, value in found.items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise ManifestError(f"{path}: {key!r} is neither a text nor a list of texts", HINT)
    lost = found.get("lost", [])
    for each in [lost] if isinstance(lost, str) else lost:  # which `lab list` and runs show
        _match(path, {"lost": each}, {"lost": SENTENCE})
    return found


def root(path: Path) -> list[dict[str, str]]:
    """The Debian packages that a packages.json lists; raises ManifestError."""
    found = _json(path)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ManifestError(f"{path}: it is no list of packages", HINT)
    for package in found:
        _match(path, package, ROOT)
    return found


def _json(path: Path) -> Any:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ManifestError(f"{path}: it has more than {MOST_BYTES} bytes", HINT)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: it is no JSON: {error}", HINT) from None


def _match(path: Path, found: Mapping[str, Any], forms: Mapping[str, str]) -> None:
    """Compare texts of a mapping with what they should look like."""
    for key, form in forms.items():
        value = found.get(key)
        if not isinstance(value, str) or not re.fullmatch(form, value, re.ASCII):
            raise ManifestError(f"{path}: {key}: {str(value)[:80]!r} is impossible", HINT)
