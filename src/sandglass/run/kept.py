"""Finished runs, kept for other checkouts and users.

A run is a function of its experiment, its seed and the lab build. So it has a key, a hash over all
that, and what the lab left of it is kept under this key: one tar file, with checksums in it. A file
appears whole or not at all, under one name, once; whoever reads one notices when it is damaged.
"""

import contextlib
import hashlib
import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from sandglass.agent.plan import Plan
from sandglass.errors import UsageError
from sandglass.experiment import kernel, units
from sandglass.experiment.experiment import Experiment
from sandglass.install import archive, builds, setup_lab
from sandglass.records import flow_folders
from sandglass.terminal import complain

DEFAULT_LIMIT = "10GB"
SUMS = "SHA256SUMS"
EVALUATE = ("numpy", "polars")
"""The Python packages that make a run's tables of its records."""
PARTIAL = ".partial"
PARTIAL_LASTS_NS = 24 * 3600 * 10**9
"""What a killed writer has left is removed when it is this old."""


def directory() -> Path:
    """Where runs are kept: $SANDGLASS_RUNS, else runs in the cache."""
    if chosen := os.environ.get("SANDGLASS_RUNS"):
        return Path(chosen).absolute()
    return builds.directory() / "runs"


def limit() -> int:
    """How many bytes of runs are kept: $SANDGLASS_RUNS_LIMIT, such as 50GB; of 0, none.

    Raises UsageError when it is not a size.
    """
    text = os.environ.get("SANDGLASS_RUNS_LIMIT") or DEFAULT_LIMIT
    try:
        return 0 if text == "0" else units.parse_size(text)
    except ValueError as error:
        raise UsageError(f"SANDGLASS_RUNS_LIMIT: {error}") from None


def key(experiment: Experiment, plan: Plan) -> str:
    """What names a run in the lab: 64 hex digits over everything that decides what it leaves.

    Raises SandglassError when set-up has not built the lab kernel.
    """
    with builds.on(kernel.wanted(experiment), experiment.packages):
        return _key(experiment, plan)


def _key(experiment: Experiment, plan: Plan) -> str:
    topology = builds.ROOT / plan["topology"]["path"]
    sums = {flow.workload: _sum(flow.kind.path.read_bytes()) for flow in experiment.flows}
    decides = {
        "experiment": experiment.filled(),
        "plan": plan
        | {
            "topology": plan["topology"] | {"path": _sum(topology.read_bytes())},
            "workloads": sums,
        },
        "files": {name: _sum(text.encode()) for name, text in experiment.copied().items()},
        "lab": builds.lab_build(),
        "modules": named_modules(plan),
        "python": {name: setup_lab.python_version(name) for name in EVALUATE},
    }
    return _sum(json.dumps(decides, sort_keys=True).encode())


def named_modules(plan: Plan) -> dict[str, str]:
    """The out-of-tree modules that a plan names, each with its build.

    What options of flows are called names none: `trace` of a udp flow is no sch_trace. Nor do the
    user's own files.
    """
    flows = [{**flow, "options": list(flow["options"].values())} for flow in plan["flows"]]
    text = json.dumps({**plan, "flows": flows, "own_files": None})
    built = builds.lab().module_builds
    return {
        name: built[name]
        for name, sources in builds.modules().items()
        if name in built and builds.module_pattern(sources).search(text)
    }


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def take(name: str, target: Path) -> bool:
    """Lay the run of this key into the directory `target`; false when there is none.

    A damaged one is thrown away, with a word about it, and there is none then.
    """
    entry = directory() / f"{name}.tar"
    try:
        file = entry.open("rb")
    except FileNotFoundError:
        return False
    with file, tempfile.TemporaryDirectory(dir=target, prefix=".") as scratch:
        try:
            archive.unpack(file, scratch, _belongs, exact=False)
            _check(Path(scratch))
        except archive.ArchiveError as error:
            complain(f"the kept run {entry} is thrown away: {error}")
            _remove(entry)
            return False
        for path in Path(scratch).iterdir():
            path.rename(target / path.name)
    with contextlib.suppress(OSError):  # another user's, which stays as old as it is
        os.utime(entry)
    return True


def _belongs(member: archive.Member) -> bool:
    """Whether a kept run has such a member: a file, in no directory but those of flows."""
    in_one = len(member.parts) == 1 or flow_folders.FOLDER.fullmatch(member.parts[0])
    return member.kind == "file" and bool(in_one)


def _check(folder: Path) -> None:
    """Take the checksums out of a folder; raises ArchiveError unless its files have them."""
    sums = folder / SUMS
    found = {name: _checksum(path) for name, path in _named(folder.iterdir()).items()}
    listed = found.pop(SUMS, "")
    if not found or listed != _sum(_lines(found).encode()):
        raise archive.ArchiveError("its files are not those of its checksums")
    sums.unlink()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return archive.checksum(file)


def _lines(sums: Mapping[str, str]) -> str:
    """Checksums by files' names, as sha256sum writes and checks them."""
    return "".join(f"{total}  {name}\n" for name, total in sorted(sums.items()))


def _named(paths: Iterable[Path]) -> dict[str, Path]:
    """The files among some of a run's, and those in directories of flows, by their names there."""
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            found |= {str(each.relative_to(path.parent)): each for each in flow_folders.files(path)}
        else:
            found[path.name] = path
    return found


def keep(name: str, files: Iterable[Path]) -> None:
    """Keep these files as the run of this key, unless there is one; of two at once, the first is.

    Of a directory all files are kept.
    What has not been asked for the longest goes when all is more than the limit. A run that cannot
    be kept, for want of room or a right, is only said to be so: it is finished all the same.
    """
    home = directory()
    entry = home / f"{name}.tar"
    try:
        _make(home)
        with tempfile.NamedTemporaryFile(dir=home, prefix=".", suffix=PARTIAL) as partial:
            _pack({name: path.read_bytes() for name, path in _named(files).items()}, partial)
            partial.flush()
            os.fchmod(partial.fileno(), 0o644)  # for other users
            with contextlib.suppress(FileExistsError):
                os.link(partial.name, entry)  # a rename would replace the first
        trim(limit())
    except OSError as error:
        complain(f"this run is not kept for others in {home}: {error.strerror or error}")


def _make(home: Path) -> None:
    """Make the place for runs, which other users may read as they may each run, unless it is."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        home.mkdir()
        home.chmod(0o755)


def _pack(files: dict[str, bytes], file: IO[bytes]) -> None:
    with tarfile.open(fileobj=file, mode="w:") as tar:
        sums = {name: _sum(content) for name, content in files.items()}
        for name, content in {SUMS: _lines(sums).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def names() -> set[str]:
    """The keys of the runs that are kept."""
    return {path.stem for _, _, path in _found("*.tar")}


def sizes() -> list[int]:
    """Bytes of each kept run."""
    return [size for _, size, _ in _found("*.tar")]


def trim(most: int) -> None:
    """Throw away the runs that have not been asked for the longest, until `most` bytes are left."""
    for modified_ns, _, left in _found(f"*{PARTIAL}"):
        if modified_ns < time.time_ns() - PARTIAL_LASTS_NS:
            _remove(left)
    kept = _found("*.tar")
    total = sum(size for _, size, _ in kept)
    for _, size, entry in kept:
        if total <= most:
            return
        _remove(entry)
        total -= size


def empty() -> None:
    """Throw all kept runs away."""
    trim(0)


def _found(pattern: str) -> list[tuple[int, int, Path]]:
    """When modified (ns), bytes and path of what is kept, the oldest first."""
    found = []
    for path in directory().glob(pattern):
        with contextlib.suppress(FileNotFoundError):  # others throw away, too
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    return sorted(found)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # another has done so, or may it alone
        path.unlink()
