"""Bills of materials: what labs and the package carry of others, and of which sources it was made.

One is CycloneDX 1.7 (ECMA-424), for programs. The other is a table, for whoever wants the sources.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import tomllib
from packaging.requirements import Requirement
from packaging.version import Version

from sandglass import __version__
from sandglass.install import builds, manifests
from sandglass.install.extras import DISTRIBUTION

LICENSE: Final = "GPL-2.0-only"
KERNEL: Final = "linux"
"""The source package of linux-source-6.12 and all others."""
FORMAT: Final = {"bomFormat": "CycloneDX", "specVersion": "1.7", "version": 1}
WHERE: Final = """\
Where the sources are of what Sandglass {version} carries.

What is ours, our patches, and what builds the labs: {archive}, beside this file.

All else is Debian's. `apt-get source SOURCE=VERSION` fetches a source package, where a line deb-src
names a suite that has this version. Debian's snapshot archive keeps all versions.
"""
TITLES: Final = ("package", "version", "source package", "version", "our patches")
Component = dict[str, Any]


def of_materials(labs: Sequence[builds.Lab], made_s: int, archive: str) -> dict[str, Any]:
    """The bill of some labs and of the package, made at a time in seconds since 1970.

    Its patches are those of the source archive of that name.
    """
    own = {
        "type": "application",
        "bom-ref": DISTRIBUTION,
        "name": DISTRIBUTION,
        "version": __version__,
        "licenses": [{"license": {"id": LICENSE}}],
        "purl": f"pkg:pypi/{DISTRIBUTION}@{__version__}",
    }
    top = archive.removesuffix(".tar.gz")
    components = [*(_component(package, top) for package in _debian(labs)), *_python()]
    refs = [each["bom-ref"] for each in components]
    return FORMAT | {
        "metadata": {
            "timestamp": datetime.fromtimestamp(made_s, timezone.utc).isoformat(),
            "component": own,
        },
        "components": components,
        "dependencies": [{"ref": DISTRIBUTION, "dependsOn": refs}],
    }


def of_sources(labs: Sequence[builds.Lab], archive: str) -> str:
    """A line for each Debian package that labs are of, with its source package and our patches."""
    rows = [
        (*each[:4], " ".join(map(str, each.patches))) if each.patches else each[:4]
        for each in _debian(labs)
    ]
    about = WHERE.format(version=__version__, archive=archive)
    return "\n".join([about, *("\t".join(row) for row in (TITLES, *rows)), ""])


class Package(NamedTuple):
    """A Debian package that a lab has files of, or, of the kernel, is compiled from."""

    name: str
    version: str
    source: str
    source_version: str
    sha256: str
    """Of the package; of the kernel's it is not kept."""
    patches: tuple[Path, ...]
    """Ours, by their places in the checkout."""


def _debian(labs: Iterable[builds.Lab]) -> list[Package]:
    found = set()
    for lab in labs:
        kernel, _, root = lab.places
        name, version = str(manifests.kernel(kernel / builds.BUILD_FILE)["source"]).split()
        patches = _placed(builds.patches(lab.name))
        found.add(Package(name, version, KERNEL, version, "", patches))
        for each in manifests.root(root / builds.ROOT_LIST):
            name = each["name"]
            own = [path for path in builds.root_patches() if path.name.startswith(f"{name}-")]
            source, source_version = each["source"].split()
            package = Package(
                name, each["version"], source, source_version, each["sha256"], _placed(own)
            )
            found.add(package)
    return sorted(found)


def _placed(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path.relative_to(builds.ROOT) for path in paths)


def _component(package: Package, top: str) -> Component:
    """A Debian package in a bill; our patches lie below `top` in the source archive."""
    purl = _purl(package.name, package.version)
    component: Component = {
        "type": "operating-system" if package.source == KERNEL else "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "pedigree": {
            "ancestors": [
                {
                    "type": "library",
                    "name": package.source,
                    "version": package.source_version,
                    "purl": f"{_purl(package.source, package.source_version)}?arch=source",
                }
            ],
        },
    }
    if package.patches:
        component["pedigree"]["patches"] = [
            {"type": "unofficial", "diff": {"url": f"{top}/{path}"}} for path in package.patches
        ]
    if package.sha256:
        component["hashes"] = [{"alg": "SHA-256", "content": package.sha256}]
    return component


def _purl(name: str, version: str) -> str:
    """What a Debian package is called in a bill (ECMA-427, package-url)."""
    return f"pkg:deb/debian/{quote(name)}@{quote(version, safe=':')}"


def _python() -> list[Component]:
    """The Python packages that an installer adds, in which versions."""
    project = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"].values()
    wanted = [("required", text) for text in project["dependencies"]]
    wanted += [("optional", text) for texts in optional for text in texts]
    components = []
    for scope, text in wanted:
        requirement = Requirement(text)
        if requirement.name.startswith(DISTRIBUTION):  # an extra in an extra, another lab
            continue
        purl = f"pkg:pypi/{requirement.name}"
        component = {
            "type": "library",
            "bom-ref": purl,
            "name": requirement.name,
            "versionRange": _range(requirement),
            "isExternal": True,
            "scope": scope,
            "purl": purl,
        }
        components.append(component)
    return components


def _range(requirement: Requirement) -> str:
    """The versions that a requirement takes (ECMA-428, vers)."""
    parts = sorted(requirement.specifier, key=lambda part: Version(part.version))
    return "vers:pypi/" + ("|".join(re.sub("^==", "", str(part)) for part in parts) or "*")
