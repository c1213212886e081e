"""One run from an experiment to its directory of results."""

import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandglass import __version__
from sandglass.agent.modules import congestion_controls
from sandglass.agent.own_files import ARCHIVE
from sandglass.agent.plan import Plan
from sandglass.errors import SandglassError
from sandglass.experiment import document, foreign, kernel, own_files, topology
from sandglass.experiment.document import Document
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds, checkout, programs
from sandglass.lab import lab
from sandglass.records import flow_folders
from sandglass.run import kept, place
from sandglass.run.plan import named_tables, resolve
from sandglass.terminal import complain

FORMAT = 1
RUNS = builds.WORK / "results" / "runs"


@dataclass(frozen=True)
class RunResult:
    """A finished run."""

    path: Path
    content: dict[str, Any]
    """run.json."""
    cached: bool
    """Whether it was done before and is a copy."""

    @property
    def told(self) -> str:
        """What a log says of it."""
        origin = "from the cache, " if self.cached else ""
        return f"{self.path}: {origin}digest {self.content['digest']}"


def run(
    experiment: Experiment,
    source: Path | None,
    out: Path | None = None,
    *,
    backend: str = "lab",
    cached: bool = False,
    progress: Callable[[float, float], None] | None = None,
    gdb: list[str] | None = None,
    force: bool = True,
) -> RunResult:
    """Run an experiment and return its results, which are in `out` then.

    Args:
        source: the experiment's file; a copy is kept with the results.
        out: where the results go, by default below results/runs. What an
            earlier run left there is replaced, and nothing else.
        cached: take a run in the lab that is kept (run/kept.py) instead of another; keep this one.
        progress: called with virtual seconds done and in all.
        gdb: run the lab in gdb, with these arguments.
        force: replace a run of an experiment with another title, too.

    Raises:
        UsageError: `out` is something else than a run, or another is being written there.
        SandglassError: the run failed; plan and console are kept in `out`.failed.
    """
    wanted = (kernel.wanted(experiment), experiment.packages) if backend == "lab" else (None, ())
    with builds.on(*wanted), builds.settled(), foreign.kept():
        return _run(experiment, source, out, backend, cached, progress, gdb, force)


def _run(
    experiment: Experiment,
    source: Path | None,
    out: Path | None,
    backend: str,
    cached: bool,
    progress: Callable[[float, float], None] | None,
    gdb: list[str] | None,
    force: bool,
) -> RunResult:
    started = time.monotonic()
    warnings: list[str] = []

    def warn(message: str) -> None:
        warnings.append(message)
        complain(f"warning: {message}")

    plan = resolve(experiment, experiment.facts)
    if backend != "lab":
        _check_host(plan)
    elif builds.chosen_lab():  # which may be of a tree that not all patches fit
        for lost in builds.lab_kernel().info.get("lost", ()):
            warn(f"this lab is without {lost}")
    out = (out or default_directory(experiment, source, plan)).absolute()
    place.check(out, experiment.title, force=force)
    try:
        with place.building(out) as partial:
            _prepare(experiment, source, plan, partial)
            key = kept.key(experiment, plan) if cached and kept.limit() else None
            found = key is not None and kept.take(key, partial)
            if not found:
                given = {path: path.read_bytes() for path in partial.iterdir()}
                if backend == "lab":
                    lab.run(plan, partial, progress, gdb, beside=_look_ahead)
                else:
                    from sandglass.run import host

                    host.run(plan, partial, progress, warn)
                for path, before in given.items():  # a guest can write to them
                    path.write_bytes(before)
                flow_folders.check(partial)
                content = _evaluate(experiment, plan, partial, backend, warn)
                content["warnings"] = warnings
                content["wall_s"] = round(time.monotonic() - started, 3)
                content["files"] = place.files(partial)
                (partial / "run.json").write_text(json.dumps(content, indent=1) + "\n")
                if key is not None:
                    kept.keep(key, set(partial.iterdir()) - given.keys())
            content = json.loads((partial / "run.json").read_text())
            place.put(partial, out)
    except OSError as error:
        raise SandglassError(f"cannot write results to {out}: {error.strerror or error}") from None
    return RunResult(out, content, found)


def default_directory(experiment: Experiment, source: Path | None, plan: Plan) -> Path:
    """Below results/runs, named after the experiment's file and what it asks for."""
    stem = source.stem if source else re.sub(r"\W+", "-", experiment.title.lower())
    wanted: dict[str, Any] = dict(plan)
    if experiment.lab is not None:
        wanted["lab"] = experiment.lab
    if experiment.packages:
        wanted["packages"] = experiment.packages
    asked = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    return RUNS / f"{stem}-{asked[:8]}"


def shell(target: str, settings: Iterable[str]) -> int:
    """Mininet's prompt on a topology or on the network of an experiment; returns its status."""
    from sandglass.experiment import reading

    if target.endswith((".yaml", ".yml")):
        experiment = reading.load(target, settings)
    else:
        experiment = _example(target, settings)
    plan = resolve(experiment, experiment.facts)
    with (
        builds.on(kernel.wanted(experiment), experiment.packages),
        tempfile.TemporaryDirectory(prefix="sandglass-shell-") as directory,
    ):
        _prepare(experiment, None, plan, Path(directory))
        return lab.shell(plan, Path(directory))


def _example(target: str, settings: Iterable[str]) -> Experiment:
    """An experiment to try a topology with. Settings may be parameters.

    Its bottlenecks, if it names some, have 10 Mb/s, 20 ms and CoDel.
    """
    from sandglass.experiment import reading

    settings = list(settings)
    given: dict[str, Any] = {}
    for setting in settings:
        document.override(given, setting, Path(target))
    known = topology.load(target).parameters
    facts = topology.facts(target, {key: given[key] for key in given.keys() & known.keys()})
    first, second = facts.hosts[0], facts.partner.get(facts.hosts[0], facts.hosts[1])
    text: dict[str, Any] = {
        "title": facts.name,
        "topology": str(topology.find(target)),
        "flows": [{"workload": "ping", "from": first, "to": second}],
        "duration": "10s",
    }
    if facts.bottlenecks:
        bottleneck = {"rate": "10mbit", "queue": {"kind": "codel"}}
        text |= {"rtt": "20ms", "bottleneck": bottleneck}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix="sandglass-shell-") as file:
        json.dump(text, file)  # JSON is YAML
        file.flush()
        return reading.load(file.name, settings)


def _prepare(experiment: Experiment, source: Path | None, plan: Plan, directory: Path) -> None:
    """Put what the agent reads into the run's directory."""
    (directory / "plan.json").write_text(json.dumps(plan, indent=1) + "\n")
    file = builds.ROOT / plan["topology"]["path"]
    shutil.copyfile(file, directory / "topology.py")
    for flow in experiment.flows:
        if not flow.kind.ours:
            shutil.copyfile(flow.kind.path, directory / flow.kind.file)
    for name, text in experiment.copied().items():
        (directory / name).write_text(text)
    if "own_files" in plan:
        own_files.pack(experiment.own_files, plan["own_files"], directory / ARCHIVE)
    if source:
        _keep(document.read(source), source, directory / "experiment.yaml")


def _keep(found: Document, source: Path, file: Path) -> None:
    """The experiment's file as it stands, or, of one on a base, what they are together."""
    if found.bases:
        file.write_text(yaml.safe_dump(found.data, sort_keys=False, allow_unicode=True))
    else:
        shutil.copyfile(source, file)


def _check_host(plan: Plan) -> None:
    """Refuse what a module brings that is only built for a kernel of the lab's."""
    needed = {
        cc: module.kernel
        for module in builds.modules_for_the_lab().values()
        for cc in module.congestion_controls
    }
    for where, cc in congestion_controls(plan):
        if cc in needed:
            raise SandglassError(
                f"{where}: {cc} needs the lab's Linux {needed[cc]}, and this is no lab",
                "Leave --backend host out.",
            )


def _look_ahead() -> None:
    """Do while the lab is at work what its run is read and described by afterwards."""
    from sandglass.records import evaluation  # noqa: F401 its imports take a fifth of a second

    checkout.commit()
    builds.lab_build()


def _evaluate(
    experiment: Experiment,
    plan: Plan,
    directory: Path,
    backend: str,
    warn: Callable[[str], None],
) -> dict[str, Any]:
    """Turn what the agent left in `directory` into tables; returns run.json but for wall_s."""
    # Late: half of the start-up time, and the lab is at work without it.
    from sandglass.records import evaluation

    found = evaluation.evaluate(
        plan,
        directory,
        tables=set(named_tables(experiment.record)),
        kinds={flow.workload: flow.kind for flow in experiment.flows},
        ask=foreign.ask,
        warn=warn,
    )
    content: dict[str, Any] = {
        "format": FORMAT,
        "title": experiment.title,
        "experiment": experiment.filled(),
        "seed": experiment.seed,
        "backend": backend,
        "clock": "virtual" if backend == "lab" else "real",
        "kernel": {"release": found.observed["kernel"]},
        "commit": checkout.commit(),
        "tools": {"sandglass": __version__, **found.observed["tools"]},
        "observed": {
            "rtt_ms": {pair: ns / 1e6 for pair, ns in found.observed["rtt_ns"].items()},
            "qdiscs": found.observed["qdiscs"],
            "hosts": found.observed["hosts"],
        },
        "own_files": own_files.sums(plan["own_files"]) if "own_files" in plan else {},
        "flows": found.flows,
        "bottleneck": next(iter(found.bottlenecks.values()), None),
        "bottlenecks": found.bottlenecks,
        "virtual_s": found.virtual_s,
        # in real time no run is equal to another
        "digest": found.digest if backend == "lab" else None,
    }
    if backend == "lab":
        used = builds.lab_kernel()
        content["lab"] = used.lab
        content["lab_build"] = builds.lab_build()
        content["tools"] |= programs.versions(used.root)
        content["packages"] = programs.versions_of(experiment.packages, used.root)
        content["kernel"]["build"] = used.build
        content["kernel"]["modules"] = {
            name: used.module_builds[name] for name in found.observed["modules"]
        }
    return content
