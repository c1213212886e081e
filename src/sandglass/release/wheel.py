"""Wheels: Sandglass as packages to install, with labs in them.

The first one holds the code, all that belongs to it, and a lab; each further one holds the lab of
another kernel, which lies beside the first one's where both are installed:

    sandglass/__init__.py    finds the package in the tree
    sandglass/tree/          what a checkout has, without tests, and labs/

The same commit and lab give the same bytes.
"""

import base64
import csv
import hashlib
import io
import json
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import tomllib
from packaging.version import Version
from pyproject_metadata import StandardMetadata

from sandglass import __version__
from sandglass.errors import UsageError
from sandglass.experiment import reading
from sandglass.install import builds, checkout, labs
from sandglass.install.extras import DISTRIBUTION, further
from sandglass.papers.bundle import code

TREE: Final = Path("sandglass", "tree")
TAG: Final = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
"""The lab brings its own C library, so that it runs beside any."""
CARRIED: Final = (
    "src", "topologies", "workloads", "kmods", "kernel", "setup", "examples", "suites", "profiles",
    "pipelines", "results", "Snakefile", "LICENSE", "CITATION.cff",
)  # fmt: skip
"""What the wheel has of a checkout, without tests."""
SHIM: Final = '''"""Finds Sandglass in the tree beside this file, laid out as its checkout is."""

from pathlib import Path

_package = Path(__file__).parent / "tree" / "src" / "sandglass"
__path__ = [str(_package)]
exec(compile((_package / "__init__.py").read_text(), str(_package / "__init__.py"), "exec"))
'''
ENTRY_POINTS: Final = "[console_scripts]\nsandglass = sandglass.__main__:main\n"
RECORD: Final = "RECORD"
"""The member that names the others, with their checksums."""
Content = Mapping[Path, bytes]


def build(kernel: str, out: Path) -> Path:
    """The wheel of a kernel's lab in the directory `out`, with the code if it is the usual kernel.

    The lab has to be built. Raises what `around` does.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".lab-") as scratch, builds.on(kernel):
        _refuse_another(_target(kernel, out))
        lab = Path(scratch) / f"{kernel}.lab"
        labs.export(builds.lab(), lab)
        return around(kernel, lab, out)


def around(kernel: str, lab: Path, out: Path) -> Path:
    """The wheel of a lab's file.

    Raises UsageError when such a wheel is there, SandglassError when git does not know what belongs
    to it.
    """
    target = _target(kernel, out)
    _refuse_another(target)
    first = kernel == builds.DEFAULT_KERNEL
    with tempfile.TemporaryDirectory(dir=out, prefix=".wheel-") as scratch:
        content: Content = {TREE / "labs" / f"{kernel}.lab": lab.read_bytes()}
        if first:
            content = {Path("sandglass/__init__.py"): SHIM.encode(), **_tree(), **content}
        written = Path(scratch) / target.name
        metadata = _metadata(_name(kernel), first=first)
        _write(written, content, metadata, ENTRY_POINTS if first else None)
        written.rename(target)
    return target


def _name(kernel: str) -> str:
    return DISTRIBUTION if kernel == builds.DEFAULT_KERNEL else further(kernel)


def _target(kernel: str, out: Path) -> Path:
    return out / f"{_name(kernel).replace('-', '_')}-{__version__}-{TAG}.whl"


def _refuse_another(target: Path) -> None:
    if target.exists():
        raise UsageError(f"{target} is there already", "Remove it, or name another directory.")


def _tree() -> Content:
    """What is carried of the checkout, and the two files that a checkout makes for itself."""
    names = [Path(name) for name in code.git("ls-files", *CARRIED)]
    schema = reading.SCHEMA.relative_to(builds.ROOT)
    return {
        **{TREE / n: (builds.ROOT / n).read_bytes() for n in names if "tests" not in n.parts},
        TREE / schema: f"{json.dumps(reading.schema(), indent=2)}\n".encode(),
        TREE / ".commit": f"{checkout.commit()}\n".encode(),
    }


def _metadata(name: str, *, first: bool) -> bytes:
    """What METADATA says of a wheel; the words are pyproject.toml's."""
    project = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())["project"]
    if not first:
        project = {
            "name": name,
            "description": f"The lab of another kernel for {DISTRIBUTION}",
            "license": project["license"],
            "license-files": project["license-files"],
            "requires-python": project["requires-python"],
            "dependencies": [f"{DISTRIBUTION}=={__version__}"],
        }
    project = {"project": {**project, "dynamic": ["version"]}}
    about = StandardMetadata.from_pyproject(project, builds.ROOT)
    about.dynamic = []
    about.version = Version(__version__)
    return bytes(about.as_rfc822())


def _write(target: Path, content: Content, metadata: bytes, entry_points: str | None) -> None:
    """Write a wheel, of which no byte depends on when and where this is done.

    Its members' times are zip's first, 1980.
    """
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in TAG.split("-")[2].split("."))
    generator = f"Wheel-Version: 1.0\nGenerator: sandglass {__version__}\nRoot-Is-Purelib: false\n"
    about = Path("-".join(target.name.split("-")[:2]) + ".dist-info")
    members = dict(sorted(content.items()))
    members |= {about / "METADATA": metadata, about / "WHEEL": (generator + tags).encode()}
    members[about / "licenses" / "LICENSE"] = (builds.ROOT / "LICENSE").read_bytes()
    if entry_points:
        members[about / "entry_points.txt"] = entry_points.encode()
    record = io.StringIO()
    csv.writer(record, lineterminator="\n").writerows(
        [
            *((path, _sum(data), len(data)) for path, data in members.items()),
            (about / RECORD, "", ""),
        ]
    )
    members[about / RECORD] = record.getvalue().encode()
    with ZipFile(target, "w") as wheel:
        for path, data in members.items():
            member = ZipInfo(str(path))
            mode = 0o755 if data.startswith(b"#!") else 0o644
            member.external_attr = (stat.S_IFREG | mode) << 16
            wheel.writestr(member, data, ZIP_STORED if path.suffix == ".lab" else ZIP_DEFLATED)


def _sum(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"
