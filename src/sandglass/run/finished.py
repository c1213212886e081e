"""Whether a directory holds the run that an experiment would give now."""

import json
from pathlib import Path

from sandglass.agent.plan import Plan
from sandglass.experiment import kernel
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds
from sandglass.run.kept import named_modules


def holds(directory: Path, experiment: Experiment, plan: Plan) -> bool:
    """Whether a run of this experiment and plan, in the lab in use, is in a directory."""
    with builds.on(kernel.wanted(experiment), experiment.packages):
        return _holds(directory, experiment, plan)


def _holds(directory: Path, experiment: Experiment, plan: Plan) -> bool:
    try:
        content = json.loads((directory / "run.json").read_text())
        planned = json.loads((directory / "plan.json").read_text())
        return bool(
            content["experiment"] == json.loads(json.dumps(experiment.filled()))
            and planned == json.loads(json.dumps(plan))
            and content["lab_build"] == builds.lab_build()
            and named_modules(plan).items() <= content["kernel"]["modules"].items()
            and all(_same(directory / name, text) for name, text in _files(experiment, plan))
        )
    except (OSError, ValueError, KeyError):
        return False


def _files(experiment: Experiment, plan: Plan) -> list[tuple[str, str]]:
    """The texts that a run has copies of, by the copies' names."""
    found = [("topology.py", (builds.ROOT / plan["topology"]["path"]).read_text())]
    for flow in experiment.flows:
        if not flow.kind.ours:
            found.append((flow.kind.file, flow.kind.path.read_text()))
    return [*found, *experiment.copied().items()]


def _same(path: Path, text: str) -> bool:
    return path.read_text() == text
