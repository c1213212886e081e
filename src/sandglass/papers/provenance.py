"""Where a figure's numbers come from: which runs, in which lab, made by which code."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from sandglass.errors import SandglassError
from sandglass.experiment.units import parse_time
from sandglass.papers.grid import Point
from sandglass.results.series import Run, combined_digest, load

CAPTION_COLUMNS = 108


@dataclass(frozen=True)
class Provenance:
    """Where a figure's numbers come from. Times in seconds; wall time is summed over the runs."""

    paper: str
    figure: str
    profile: str
    kernel_release: str
    kernel_build: str
    modules: dict[str, str]
    """Builds of the out-of-tree modules by name."""
    lab_build: str
    """What decides every run besides its experiment and modules: kernel, recorder and code."""
    commits: list[str]
    """The project's commits that made the runs; one lab build may have several."""
    seeds: list[int]
    runs: int
    durations: list[str]
    digest: str
    virtual_s: float
    wall_s: float

    @property
    def ratio(self) -> float:
        """Simulated seconds per second of one core."""
        return self.virtual_s / self.wall_s


def listing(paper: str, points: Iterable[Point]) -> pl.DataFrame:
    """One row per run of a paper, shared ones once: which, from what, and its main numbers.

    Columns: experiment, settings, seed, kernel_release, kernel_build, modules (name and build),
    lab_build, commit, digest, virtual_s, wall_s, goodput_mbit (of all flows), utilisation,
    delay_median_ms, drops, marks (of the bottleneck, forward; null where a lab held many
    repetitions, whose first one's goodput this is, and the delay also without a record of packets).
    """
    rows = []
    for directory, point in sorted({point.directory(paper): point for point in points}.items()):
        run = load(directory, {})
        bottleneck = run.field("bottleneck") or {}
        delay = bottleneck.get("queue_delay_ms") or {}
        rows.append(
            {
                "experiment": point.experiment,
                "settings": point.name,
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
    of = f"the runs of {figure} come from several"
    modules = sorted({name for run in runs for name in _modules(run)})
    return Provenance(
        paper=paper,
        figure=figure,
        profile=profile,
        kernel_release=_only(runs, "kernel.release", f"{of} kernels"),
        kernel_build=_only(runs, "kernel.build", f"{of} builds of the lab kernel"),
        modules={
            name: _only(
                [run for run in runs if name in _modules(run)],
                f"kernel.modules.{name}",
                f"{of} builds of the module {name}",
            )
            for name in modules
        },
        lab_build=_only(runs, "lab_build", f"{of} lab builds"),
        commits=sorted({run.field("commit") for run in runs}),
        seeds=sorted({run.field("seed") for run in runs}),
        runs=len(runs),
        durations=sorted({run.field("experiment.duration") for run in runs}, key=parse_time),
        digest=combined_digest(run.field("digest") for run in runs),
        virtual_s=sum(run.field("virtual_s") for run in runs),
        wall_s=sum(run.field("wall_s") for run in runs),
    )


def _only(runs: Sequence[Run], path: str, complaint: str) -> str:
    """What a field of run.json is in all runs; raises SandglassError, with a run of each value."""
    found = {str(run.field(path)): run.directory for run in runs}
    if len(found) > 1:
        shown = (f"{value} ({directory})" for value, directory in sorted(found.items()))
        raise SandglassError(
            f"{complaint}: {', '.join(shown)}",
            "run the pipeline again: it repeats the runs of another lab",
        )
    (value,) = found
    return value


def _modules(run: Run) -> dict[str, str]:
    """The builds of a run's out-of-tree modules by name."""
    return dict(run.field("kernel.modules"))


def caption(text: str, redesign: list[str], source: Provenance) -> str:
    """Set-up and origin below a figure: what it shows, what is ours, seed, lab and digest."""
    seeds = source.seeds
    shown = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}..{seeds[-1]} ({len(seeds)} seeds)"
    ours = f" Re-design: {'; '.join(redesign)}." if redesign else ""
    origin = (
        f"Profile {source.profile}, {source.runs} runs of {' and '.join(source.durations)}, "
        f"seed {shown}, "
        f"Linux {source.kernel_release}, lab build {source.lab_build}, "
        f"digest {source.digest[:16]}."
    )
    return "\n".join([textwrap.fill(text + ours, CAPTION_COLUMNS), origin])
