"""One turn of a knob: an experiment's file with settings, checked, run, and made what a page draws.

All of it happens in a worker's process (worker.py).
"""

import shlex
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import document, kernel, reading
from sandglass.experiment.document import Document
from sandglass.experiment.experiment import Experiment
from sandglass.guide import preview
from sandglass.install import builds, checkout, setup_lab
from sandglass.play import knobs
from sandglass.records.summary import quantiles_ms
from sandglass.results import series
from sandglass.results.palette import PALETTE
from sandglass.results.view import page, streams
from sandglass.run import runs
from sandglass.studies.statistics import jain
from sandglass.terminal import from_here, shown

LIMIT = 2_000_000
"""Records of a run that a page is given; of more it gets the ends and extremes of intervals."""
P95 = "95\u00a0%"
MOST_ROWS = 12
"""Flows whose goodput is told in numbers."""
Say = Callable[[str, Any], None]


def opened(file: Path) -> dict[str, Any]:
    """What a page has to know of a file before anything of it is turned."""
    found = document.read(file)
    reading.load(file)
    return {
        "title": found.data.get("title", file.stem),
        "name": shown(file),
        "knobs": [vars(knob) for knob in knobs.of(found.data, file.parent)],
        "queues": knobs.catalogue(),
        "colours": PALETTE,
    }


def turned(file: Path, settings: Sequence[str], out: Path, say: Say) -> None:
    """Check and run what a page asks for; `say` is told what is found, as it is found."""
    started = time.monotonic()
    _, experiment = _read(file, settings)
    told = preview.preview(experiment)
    picture = preview.drawn(experiment, told.plan)
    _there(experiment)
    say(
        "told",
        {
            "title": experiment.title,
            "picture": picture,
            "warnings": told.warnings,
            "command": command(file, settings),
            "virtual_s": experiment.duration * experiment.repeat / 1e9,
        },
    )
    checked = time.monotonic()
    try:
        ended = runs.run(
            experiment, file, out, progress=lambda now, whole: say("progress", [now, whole])
        )
        ran = time.monotonic()
        say("done", _drawn(ended.content, out, [started, checked, ran]))
    finally:
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(f"{out}.failed", ignore_errors=True)


def written(file: Path, settings: Sequence[str]) -> str:
    """The experiment as a file of its own."""
    found, experiment = _read(file, settings)
    for text in settings:
        document.override(found.data, text, file)
    found.data["title"] = experiment.title
    text = yaml.safe_dump(found.data, sort_keys=False, allow_unicode=True)
    return f"# Made by: {command(file, settings)}\n{text}"


def command(file: Path, settings: Sequence[str]) -> str:
    """What repeats a run in a terminal."""
    sets = "".join(f" --set {shlex.quote(text)}" for text in settings)
    return from_here(f"./sandglass run {shown(file)}{sets}")


def _read(file: Path, settings: Sequence[str]) -> tuple[Document, Experiment]:
    """A file, and its experiment with settings that a page may make."""
    found = document.read(file)
    knobs.allowed(settings, knobs.of(found.data, file.parent))
    return found, reading.load(file, settings)


def _there(experiment: Experiment) -> None:
    """Raise UsageError where an experiment wants a lab that is not there: to build it takes long.

    One that an installed package carries is unpacked.
    """
    wanted = kernel.wanted(experiment)
    with builds.on(wanted, experiment.packages):
        try:
            builds.lab()
        except UsageError:
            raise
        except SandglassError:
            if not builds.INSTALLED:
                raise UsageError(
                    f"this runs on Linux {builds.chosen_kernel()}, whose lab is not built",
                    "Once run it in a terminal, which builds it and takes some minutes.",
                ) from None
            setup_lab.kernel(builds.chosen_kernel())
        # A run looks these up in a thread, which would outlive one that is ended at once, and then
        # look at another's lab.
        checkout.commit()
        builds.lab_build()


def _drawn(content: Mapping[str, Any], out: Path, times: Sequence[float]) -> dict[str, Any]:
    """What a page draws of a finished run."""
    run = series.load(out, {})
    found = [(0, stream) for stream in streams.of(run)]
    told, texts, step = page.packed(found, LIMIT)
    described = page.description(run, [run])
    started, checked, ran = times
    return {
        "run": {name: described[name] for name in page.DRAWN},
        "streams": told,
        "texts": texts,
        "interval": step,
        "digest": content["digest"],
        "kernel": content["kernel"]["release"],
        "seed": content["seed"],
        "missing": described["missing"],
        "numbers": [*pings(run), *numbers(content)],
        "warnings": described["warnings"],
        "wall_s": {
            "check": round(checked - started, 3),
            "run": round(ran - checked, 3),
            "pack": round(time.monotonic() - ran, 3),
        },
    }


def pings(run: series.Run) -> Iterator[tuple[str, str, float]]:
    """How long the answers to pings took."""
    if not (run.directory / "rtt.parquet").exists():
        return
    found = run.records("rtt").select("flow", "rtt_ns").drop_nulls().collect()
    ends = {flow["id"]: f"{flow['from']} → {flow['to']}" for flow in run.document["flows"]}
    for (flow,), rows in found.group_by("flow", maintain_order=True):
        took = quantiles_ms(rows["rtt_ns"].to_numpy())
        yield f"pings of {flow}: {ends[flow]}, median", "ms", float(took["median"] or 0)
        yield f"pings of {flow}, {P95}", "ms", float(took["p95"] or 0)


def _completions(content: Mapping[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """How long flows took that have an end, by workload."""
    for key, what in {"plt_s": "load time", "fct_s": "completion"}.items():
        took: dict[str, list[float]] = {}
        for flow in content["flows"]:
            if flow.get(key) is not None:
                took.setdefault(f"{what} of {flow['workload']}, median", []).append(flow[key])
        yield from took.items()


def numbers(content: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """What a run comes to: names, units and numbers."""
    found: list[tuple[str, str, float | None]] = []
    links = content["bottlenecks"] or {}
    for name, link in links.items():
        of = f" of {name}" if len(links) > 1 else ""
        delay = link.get("queue_delay_ms") or {}
        used = link.get("utilisation")
        found += [
            (f"queueing delay{of}, median", "ms", delay.get("median")),
            (f"queueing delay{of}, {P95}", "ms", delay.get("p95")),
            (f"link used{of}", "%", None if used is None else 100 * used),
            (f"drops{of}", "", link.get("drops")),
            (f"marks{of}", "", link.get("marks")),
        ]
    found += [(name, "s", statistics.median(took)) for name, took in _completions(content)]
    rates = {
        f"goodput of {flow['id']}: {flow['from']} → {flow['to']} {flow.get('cc') or ''}".strip():
        flow["goodput_mbit"]
        for flow in content["flows"]
        if flow.get("goodput_mbit") is not None
    }  # fmt: skip
    if len(rates) > 1:
        share = jain([*rates.values()]) if any(rates.values()) else None
        found.append(("Jain's index of the flows", "", share))
    found += [(name, "Mb/s", rate) for name, rate in [*rates.items()][:MOST_ROWS]]
    return [(name, unit, value) for name, unit, value in found if value is not None]
