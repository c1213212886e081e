"""Where a study's numbers come from: lab, kernel, commits, seeds, and what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandglass.errors import SandglassError
from sandglass.experiment.units import parse_time
from sandglass.results.series import Run, combined_digest


@dataclass(frozen=True)
class Origin:
    """What all runs have in common. Times in seconds; wall time is summed over the runs.

    Of a study that compares labs, release, builds and modules name each lab's, with commas between.
    """

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

    @property
    def seeded(self) -> str:
        """The seeds in words."""
        if len(self.seeds) == 1:
            return f"seed {self.seeds[0]}"
        return f"seeds {self.seeds[0]} to {self.seeds[-1]}"


def origin(runs: Sequence[Run], of: str, *, by_lab: bool = False) -> Origin:
    """Where the runs of something come from, and one digest over all of theirs.

    With `by_lab`, runs whose experiments name different labs may be of different ones. Raises
    SandglassError, which names the runs, when they come from different labs else: another kernel,
    another build of a module, or other code.
    """
    said = f"the runs of {of} come from several"
    parts: dict[str | None, list[Run]] = {}
    for run in runs:
        named = run.document["experiment"].get("lab") if by_lab else None
        parts.setdefault(named, []).append(run)

    def each(path: str, what: str, module: str | None = None) -> str:
        found = [
            [run for run in part if module is None or module in run.field("kernel.modules")]
            for part in parts.values()
        ]
        values = (_only(part, path, f"{said} {what}") for part in found if part)
        return ", ".join(dict.fromkeys(values))

    return Origin(
        kernel_release=each("kernel.release", "kernels"),
        kernel_build=each("kernel.build", "builds of the lab kernel"),
        modules={
            name: each(f"kernel.modules.{name}", f"builds of the module {name}", name)
            for name in sorted({name for run in runs for name in run.field("kernel.modules")})
        },
        lab_build=each("lab_build", "lab builds"),
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
            f"{complaint}: {', '.join(shown)}", "start again: it repeats the runs of another lab"
        )
    (value,) = found
    return value
