"""Experiments whose digests we know: does a lab give the same bytes on this machine?"""

import csv
import dataclasses
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from sandglass.errors import UsageError, nearest
from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.run import runs

LIST = builds.ROOT / "examples" / "digests.csv"


@dataclass(frozen=True)
class Known:
    """An experiment and the digest that it has had everywhere so far; a row of the list."""

    experiment: str
    """Its file in the checkout."""
    settings: str
    """KEY=VALUE, with blanks between."""
    digest: str

    def __str__(self) -> str:
        return f"{self.experiment} {self.settings}".rstrip()


def read(names: Collection[str] = (), path: Path = LIST) -> list[Known]:
    """What a list holds, or those of its experiments that are named.

    Raises UsageError when a name is not in it.
    """
    with path.open(newline="") as file:
        found = [Known(**row) for row in csv.DictReader(file)]
    there = {each.experiment for each in found}
    for name in names:
        if name not in there:
            raise UsageError(f"{path.name} has no {name!r}{nearest(name, there)}")
    return [each for each in found if not names or each.experiment in names]


def run(each: Known, progress: Callable[[float, float], None]) -> Known:
    """Run an experiment anew; returns it with the digest that it has here."""
    source = builds.ROOT / each.experiment
    experiment = reading.load(source, each.settings.split())
    with tempfile.TemporaryDirectory(prefix="sandglass-check-") as home:
        done = runs.run(experiment, source, Path(home) / "run", progress=progress)
    return dataclasses.replace(each, digest=done.content["digest"])


def renew(found: Collection[Known], path: Path = LIST) -> None:
    """Give these experiments of a list other digests."""
    digests = {str(each): each for each in found}
    rows = [digests.get(str(each), each) for each in read(path=path)]
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(field.name for field in dataclasses.fields(Known))
        table.writerows(map(dataclasses.astuple, rows))
