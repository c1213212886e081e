"""Releases: a directory with all that is published of a version, but for the container's image.

    sandglass_lab-1.0-….whl              the package, with the lab
    sandglass_lab_linux_7_2-1.0-….whl    the lab of another kernel
    sandglass-1.0-linux-6.12.lab         each lab as a file
    sandglass-1.0.tar.gz                 the sources, at their commit
    sandglass-1.0.cdx.json               of what it is made (CycloneDX)
    SOURCES                              where the sources of all else are
    NOTES.md                             what CHANGES.md says of the version
    SHA256SUMS

The same commit gives the same bytes, where Debian has the same packages and the same compiler. An
image has times of its engine's, so that the workflow of a release makes it apart.
"""

import gzip
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from sandglass import __version__
from sandglass.errors import UsageError
from sandglass.install import builds, labs, setup_lab
from sandglass.papers.bundle import code
from sandglass.release import bill, wheel

CHOICES: Final = ("SANDGLASS_KERNEL", "SANDGLASS_KMODS", "SANDGLASS_LAB", "SANDGLASS_PACKAGES")
"""Variables that make another lab than the commit's."""
ARCHIVE: Final = f"sandglass-{__version__}.tar.gz"
SUMS: Final = "SHA256SUMS"
TO_COME: Final = "to come"
"""What CHANGES.md says of a version without a date."""


def write(out: Path) -> None:
    """Make the directory `out`, whole or not at all. A lab that is not there is built.

    Raises UsageError when it is there, the checkout is not at a commit, the commit is tagged as
    another version, or the labs would not be the commit's.
    """
    if out.exists():
        raise UsageError(f"{out} is there already", "Remove it, or name another directory.")
    for variable in CHOICES:
        if os.environ.get(variable):
            raise UsageError(f"{variable} is set: the labs are not those of the commit")
    commit = code.commit()
    made = notes((builds.ROOT / "CHANGES.md").read_text(), code.tags())
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".release-") as scratch:
        product = Path(scratch) / "release"
        product.mkdir()
        built = [_kernel(kernel, product) for kernel in builds.kernels()]
        _sources(Path(scratch), commit, product / ARCHIVE)
        materials = bill.of_materials(built, code.committed_s(), ARCHIVE)
        texts = {
            f"sandglass-{__version__}.cdx.json": f"{json.dumps(materials, indent=1)}\n",
            "SOURCES": bill.of_sources(built, ARCHIVE),
            "NOTES.md": made,
        }
        for name, text in texts.items():
            (product / name).write_text(text)
        sums = [f"{labs.checksum(path)}  {path.name}\n" for path in sorted(product.iterdir())]
        (product / SUMS).write_text("".join(sums))
        product.rename(out)


def _kernel(kernel: str, product: Path) -> builds.Lab:
    """Put the lab of a kernel into a release, as a file and as a package."""
    setup_lab.lab(kernel)
    with builds.on(kernel):
        lab = builds.lab()
        file = product / f"sandglass-{__version__}-linux-{kernel}.lab"
        labs.export(lab, file)
        wheel.around(kernel, file, product)
    return lab


def _sources(scratch: Path, commit: str, target: Path) -> None:
    """Write the commit's files, with the note that stands for git there."""
    (scratch / ".commit").write_text(f"{commit}\n")
    packed = scratch / "sources.tar"
    code.archive(packed, f"{target.name.removesuffix('.tar.gz')}/", scratch / ".commit")
    with (
        packed.open("rb") as source,
        target.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as archive,
    ):
        shutil.copyfileobj(source, archive)


def notes(changes: str, tags: list[str]) -> str:
    """What CHANGES.md says of this version, in which links are paths of the source archive.

    Raises UsageError when it says nothing, or the commit has a version's tag that is not this
    version's, or is this version's while CHANGES.md has it to come.
    """
    part = rf"^## {re.escape(__version__)}(| [^\n]*)\n(.*?)(?=^## |\Z)"
    found = re.search(part, changes, re.M | re.DOTALL)
    if not found:
        raise UsageError(f"CHANGES.md has nothing of {__version__}")
    heading, text = found.groups()
    if tags and f"v{__version__}" not in tags:
        raise UsageError(f"the commit is tagged {tags[0]}, and its version is {__version__}")
    if tags and TO_COME in heading:
        raise UsageError(f"the commit is tagged {tags[0]}, and CHANGES.md has that {TO_COME}")
    return re.sub(r"\[[^\]]*\]\(([\w/.-]+)(#[\w-]*)?\)", r"`\1`", text.strip()) + "\n"
