"""Where a figure's numbers come from: which runs, in which lab, made by which code."""

import dataclasses
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.papers import grid
from sandglass.results.series import Run, load
from sandglass.studies.jobs import Task
from sandglass.studies.origin import Origin, origin

CAPTION_COLUMNS = 108
MOST_DURATIONS = 4
"""That a caption names one by one; of more it names the shortest and the longest."""


@dataclass(frozen=True)
class Provenance(Origin):
    """Where a figure's numbers come from."""

    paper: str
    figure: str
    profile: str

    def document(self) -> dict[str, Any]:
        """As FIGURE.json has it, the figure first."""
        every = dataclasses.asdict(self)
        return {name: every[name] for name in ("paper", "figure", "profile")} | every


def listing(points: Iterable[Task]) -> pl.DataFrame:
    """One row per run of a paper, shared ones once: which, from what, and its main numbers.

    Columns: experiment, settings, seed, kernel_release, kernel_build, modules (name and build),
    lab_build, commit, digest, virtual_s, wall_s, goodput_mbit (of all flows), utilisation,
    delay_median_ms, drops, marks (of the bottleneck, forward; null where a lab held many
    repetitions, whose first one's goodput this is, and the delay also without a record of packets).
    """
    rows = []
    by_path = {Path(point.directory): point for point in points}
    for directory, point in sorted(by_path.items()):
        run = load(directory, {})
        bottleneck = run.field("bottleneck") or {}
        delay = bottleneck.get("queue_delay_ms") or {}
        rows.append(
            {
                "experiment": point.labels[grid.EXPERIMENT],
                "settings": grid.name(point),
                "seed": run.field("seed"),
                "kernel_release": run.field("kernel.release"),
                "kernel_build": run.field("kernel.build"),
                "modules": " ".join(f"{name}:{build}" for name, build in _modules(run).items()),
                "lab_build": run.field("lab_build"),
                "commit": run.field("commit"),
                "digest": run.field("digest"),
                "virtual_s": run.field("virtual_s"),
                "wall_s": run.field("wall_s"),
                "goodput_mbit": sum(flow.get("goodput_mbit") or 0 for flow in run.field("flows")),
                "utilisation": bottleneck.get("utilisation"),
                "delay_median_ms": delay.get("median"),
                "drops": bottleneck.get("drops"),
                "marks": bottleneck.get("marks"),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def provenance(runs: Sequence[Run], paper: str, figure: str, profile: str) -> Provenance:
    """What all runs of a figure have in common, and one digest over all of theirs.

    Raises SandglassError, which names the runs, when they come from different labs: another kernel,
    another build of a module, or other code.
    """
    found = dataclasses.asdict(origin(runs, figure))
    return Provenance(**found, paper=paper, figure=figure, profile=profile)


def _modules(run: Run) -> dict[str, str]:
    """The builds of a run's out-of-tree modules by name."""
    return dict(run.field("kernel.modules"))


def caption(text: str, redesign: list[str], source: Provenance) -> str:
    """Set-up and origin below a figure: what it shows, what is ours, seed, lab and digest."""
    seeds = source.seeds
    shown = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}..{seeds[-1]} ({len(seeds)} seeds)"
    lengths = source.durations
    few = len(lengths) <= MOST_DURATIONS
    lasting = " and ".join(lengths) if few else f"{lengths[0]} to {lengths[-1]}"
    ours = f" Re-design: {'; '.join(redesign)}." if redesign else ""
    origin = (
        f"Profile {source.profile}, {source.runs} runs of {lasting}, "
        f"seed {shown}, "
        f"Linux {source.kernel_release}, lab build {source.lab_build}, "
        f"digest {source.digest[:16]}."
    )
    return "\n".join([textwrap.fill(text + ours, CAPTION_COLUMNS), origin])
