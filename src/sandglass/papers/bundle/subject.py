"""What is bundled: a paper, one of its figures, or a run that was done by itself.

Each consists of parts, figures or the run, which can be repeated and compared one by one.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandglass.agent.own_files import ARCHIVE
from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import own_files, trace
from sandglass.install import archive, builds
from sandglass.papers import grid, reproduce, shelf
from sandglass.records import flow_folders

SHORT_S = 300.0
"""What the runs of the ten-minute variant may have taken, on one processor.

The rest of the ten minutes is for setting up, and for a slower machine.
"""
MEMORY_MB = shelf.PaperHead.model_fields["memory_mb"].default
RUNS = Path("results/runs")
NEEDED = {"digest", "experiment", "kernel", "title", "wall_s"}
"""Keys of a run.json that are looked at here."""
OF_A_FIGURE = ("csv", "verdicts.csv")
"""What is the same whenever a figure is made again: its table and its verdicts."""
BESIDES = ("json", "svg", "png")
"""What tells when or where it was made."""


@dataclass(frozen=True)
class Part:
    """A figure or a run: the least that can be repeated and compared."""

    name: str
    title: str
    command: list[str]
    """The words after ./sandglass that repeat it."""
    runs: dict[str, float]
    """Directories of its runs below the checkout, and what each took, in seconds."""
    tables: list[str]
    """Files below the checkout that come out the same, byte for byte."""
    experiments: list[str]
    """The experiments that it is made of, in the bundle."""
    ended_s: float
    """When the last of its runs was done, in seconds since 1970."""


@dataclass(frozen=True)
class Subject:
    """What one word of the command line names."""

    name: str
    title: str
    of_paper: bool
    parts: list[Part]
    commands: list[list[str]]
    """The words after ./sandglass that repeat all of it."""
    tables: list[str]
    """Further files that come out the same, of no part alone."""
    files: dict[str, Path]
    """What the bundle holds of it, by its place there."""
    memory_mb: int
    """What one of its runs may take."""


def short(parts: Sequence[Part]) -> list[Part]:
    """The ten-minute variant: what takes least first, as long as there is time; one at least."""
    chosen: list[Part] = []
    runs: dict[str, float] = {}
    for part in sorted(parts, key=lambda part: sum(part.runs.values())):
        runs |= part.runs
        if chosen and sum(runs.values()) > SHORT_S:
            break
        chosen.append(part)
    return [part for part in parts if part in chosen]


def of_run(directory: Path, scratch: Path, records: bool) -> Subject:
    """A finished run. Its experiment is written below `scratch`, all defaults filled in.

    Raises UsageError when it is not one that this checkout and its lab would repeat.
    """
    content = _read(directory)
    name = directory.resolve().name
    place = RUNS / name
    files = _kept(directory, place, records)
    # Where the user's own files lie above the experiment's, they do here, too.
    home = f"experiments/{name}"
    own, below = _own_files(content["experiment"], directory, scratch / f"{name}.own")
    files |= {f"{home}/{used}": path for used, path in own.items()}
    home = str(Path(home, below))
    experiment = f"{home}/experiment.yaml"
    for used, kept in _own_code(content["experiment"], directory).items():
        files[f"{home}/{used}"] = kept
    files[experiment] = scratch / f"{name}.yaml"
    files[experiment].write_text(yaml.safe_dump(content["experiment"], sort_keys=False))
    command = ["run", f"../{experiment}", "--out", str(place)]
    part = Part(
        name,
        content["title"],
        command,
        runs={str(place): content["wall_s"]},
        tables=[],
        experiments=[experiment],
        ended_s=_ended_s(directory),
    )
    return Subject(name, content["title"], False, [part], [command], [], files, MEMORY_MB)


def _own_code(experiment: dict[str, Any], directory: Path) -> dict[str, Path]:
    """A run's copies of topology, workloads and times that are the user's own, by their names.

    The experiment names them by these from then on.
    """
    found = {}
    if experiment["topology"].endswith(".py"):
        experiment["topology"] = Path(experiment["topology"]).name
        found[experiment["topology"]] = directory / "topology.py"
    for flow in experiment["flows"]:
        if flow["workload"].endswith(".py"):
            flow["workload"] = Path(flow["workload"]).name
            found[flow["workload"]] = directory / f"workload-{flow['workload']}"
    for key in ("trace", "host"):
        for holder in _with_key(experiment, key):
            copy = directory / trace.copy_of(str(holder[key]))
            if copy.is_file():
                # By the copy's name: a user's own may be called as a synthetic one.
                holder[key] = copy.name
                found[holder[key]] = copy
    return found


def _own_files(
    experiment: dict[str, Any], directory: Path, scratch: Path
) -> tuple[dict[str, Path], str]:
    """A run's copies of the user's own files, by their places, and where the experiment's lies.

    The experiment names them by their paths from there from then on.
    """
    archive_file = directory / ARCHIVE
    if not archive_file.is_file():
        return {}, ""
    for flow in experiment["flows"]:
        for key, value in flow.items():
            if isinstance(value, list):
                flow[key] = [own_files.relative(each) for each in value]
    scratch.mkdir()
    with archive_file.open("rb") as file:
        archive.unpack(file, scratch, lambda member: True, exact=True)
    found = {str(path.relative_to(scratch)): path for path in scratch.rglob("*")}
    for name, path in found.items():
        if not path.resolve().is_relative_to(scratch.resolve()):
            raise UsageError(
                f"{name} leads to {path.readlink()} of the lab, and a bundle holds files",
                "Put a file in the place of the link, and run it again.",
            )
    planned = json.loads((directory / "plan.json").read_text())["own_files"]
    return {name: path.resolve() for name, path in found.items() if path.is_file()}, planned["here"]


def _with_key(part: Any, key: str) -> Iterator[dict[str, Any]]:
    """The mappings in an experiment that have a key."""
    if isinstance(part, dict):
        if key in part:
            yield part
        for each in part.values():
            yield from _with_key(each, key)
    elif isinstance(part, list):
        for each in part:
            yield from _with_key(each, key)


def of_paper(target: str, profile: str, records: bool) -> Subject:
    """PAPER or PAPER/FIGURE, which has been reproduced with this profile in this checkout."""
    paper, _, figure = target.partition("/")
    about = shelf.paper(paper)
    parts = [
        _figure(paper, name, about.figures[name].title, profile)
        for name in ([figure] if figure else grid.made(paper))
    ]
    results = Path("results") / paper
    pages = [f"{figure}.html"] if figure else ["report.html", "runs.csv"]
    shared = [] if figure else [str(results / "verdicts.csv")]
    names = [str(results / page) for page in pages] + shared
    for part in parts:
        own = part.name.partition("/")[2]
        names += part.tables + [str(results / f"{own}.{kind}") for kind in BESIDES]
    files = {name: builds.WORK / name for name in names}
    for run in {run for part in parts for run in part.runs}:
        files |= _kept(builds.WORK / run, Path(run), records)
    home = shelf.folder(paper)
    if home.parent != shelf.PIPELINES:
        files |= tree(home, f"papers/{home.name}")
    command = ["reproduce", target, "--profile", profile]
    title = about.figures[figure].title if figure else about.head.title
    return Subject(target, title, True, parts, [command], shared, files, about.head.memory_mb)


def _figure(paper: str, figure: str, title: str, profile: str) -> Part:
    points = grid.points(paper, figure, profile)
    runs = [point.directory for point in points]
    home = shelf.folder(paper)
    place = (
        f"code/pipelines/{home.name}" if home.parent == shelf.PIPELINES else f"papers/{home.name}"
    )
    names = {point.labels[grid.EXPERIMENT] for point in points}
    used = sorted(shelf.experiment_file(Path(place), each) for each in names)
    return Part(
        f"{paper}/{figure}",
        title,
        ["reproduce", f"{paper}/{figure}", "--profile", profile],
        runs={run: _read(builds.WORK / run)["wall_s"] for run in runs},
        tables=[f"results/{paper}/{figure}.{kind}" for kind in OF_A_FIGURE],
        experiments=list(map(str, used)),
        ended_s=max(_ended_s(builds.WORK / run) for run in runs),
    )


def _ended_s(run: Path) -> float:
    return (run / "run.json").stat().st_mtime


def _read(directory: Path) -> dict[str, Any]:
    """run.json of a run that this checkout repeats; raises UsageError for another."""
    path = directory / "run.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (ValueError, RecursionError):
        content = {}
    if not isinstance(content, dict) or not content.keys() >= NEEDED:
        raise UsageError(f"{path} is damaged, or no run's", "Run it again.")
    if content["digest"] is None:
        raise UsageError(
            f"{directory} was run on a machine, in real time, so that no other run is equal to it",
            "Bundle runs of the lab.",
        )
    lab = builds.lab()
    modules = content["kernel"]["modules"]
    same = content.get("lab_build") == builds.lab_build() and modules == {
        name: lab.module_builds.get(name) for name in modules
    }
    if not same:
        made = f"commit {content.get('commit')}, lab {content.get('lab')}"
        raise UsageError(
            f"{directory} is of other code or of another lab ({made})",
            f"Run it again, or bundle at its commit, with SANDGLASS_LAB={content.get('lab')}.",
        )
    return content


def _kept(directory: Path, place: Path, records: bool) -> dict[str, Path]:
    """What is bundled of a run: run.json, with its digest, and with `records` all the rest."""
    if not records:
        return {str(place / "run.json"): directory / "run.json"}
    folders = flow_folders.folders(directory)
    kept = [
        file
        for path in sorted(directory.iterdir())
        if not path.name.startswith(".")
        for file in (flow_folders.files(path) if path in folders else [path])
    ]
    return {str(place / path.relative_to(directory)): path for path in kept}


def tree(home: Path, place: str) -> dict[str, Path]:
    """The files of a folder, without what editors, Python and git keep there."""
    return {
        f"{place}/{path.relative_to(home)}": path
        for path in sorted(home.rglob("*"))
        if path.is_file()
        and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(home).parts)
    }


def reproduced(target: str, profile: str) -> None:
    """Reproduce what is not up to date of PAPER or PAPER/FIGURE.

    Raises SandglassError when that fails; Snakemake has said why.
    """
    words = reproduce.targets(target)
    if reproduce.snakemake(words, profile, None, reproduce.memory_mb(target)):
        raise SandglassError(f"{target} could not be reproduced, and is not bundled")
