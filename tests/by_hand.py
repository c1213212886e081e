"""A figure's runs without Snakemake, to compare those of a cluster with."""

from pathlib import Path

from sandglass.experiment import reading
from sandglass.papers import grid, shelf
from sandglass.run import runs


def digests(paper: str, figure: str, profile: str, home: Path) -> dict[str, str]:
    """Of the figure's runs, each done by hand in `home`, by the names of their directories."""
    found = {}
    for point in grid.points(paper, figure, profile):
        path = shelf.experiment_file(shelf.folder(paper), point.experiment)
        done = runs.run(reading.load(path, point.settings), path, home / point.name)
        found[point.directory(paper).name] = done.content["digest"]
    assert len(found) > 1
    return found
