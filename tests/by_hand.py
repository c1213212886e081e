"""A figure's runs without Snakemake, to compare those of a cluster with."""

from pathlib import Path

from sandglass.papers import grid
from sandglass.run import runs


def digests(paper: str, figure: str, profile: str, home: Path) -> dict[str, str]:
    """Of the figure's runs, each done by hand in `home`, by the names of their directories."""
    found = {}
    for point in grid.points(paper, figure, profile):
        path, name = Path(point.source), Path(point.directory).name
        found[name] = runs.run(point.load(), path, home / name).content["digest"]
    assert len(found) > 1
    return found
