"""Whether runs of the same experiment are equal."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.experiment.experiment import Experiment
from sandglass.run import runs
from sandglass.run.difference import first_difference


def verify(
    experiment: Experiment, source: Path, times: int, progress: Callable[[float, float], None]
) -> str:
    """Run an experiment `times` times and return the digest that all runs share.

    Raises SandglassError naming the first difference, and keeps both runs, when two differ.
    """
    home = Path(tempfile.mkdtemp(prefix="sandglass-verify-"))
    first = runs.run(experiment, source, home / "1", progress=progress)
    for number in range(2, times + 1):
        again = runs.run(
            experiment,
            source,
            home / str(number),
            progress=progress,
        )
        if again.content["digest"] != first.content["digest"]:
            difference = first_difference(first.path, again.path) or "not in a table"
            raise SandglassError(
                f"runs 1 and {number} of {times} differ first in {difference}",
                f"both are kept: {first.path} {again.path}",
            )
        shutil.rmtree(again.path)
    shutil.rmtree(home)
    return str(first.content["digest"])
