"""The papers' figures, drawn from the tables that the repository keeps of them."""

import functools
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.progress import track

from docs.site.examples import BLANK_PICTURE
from sandglass.install import builds
from sandglass.papers import reference, shelf
from sandglass.results.export.whole import whole_file

DRAWS = ("experiment", "results", "studies", "papers")
"""The folders of src/sandglass whose code draws, besides a paper's own, as in rules.smk."""


def picture_of(paper: str, figure: str) -> str:
    """Where a figure's picture is on the site."""
    return f"results/reference/{paper}/{figure}.svg"


def all_of(papers: list[str]) -> list[tuple[str, str]]:
    """Paper and name of each figure."""
    return [(paper, name) for paper in papers for name in shelf.paper(paper).figures]


def blank(wanted: list[tuple[str, str]]) -> dict[str, bytes]:
    """What stands for the pictures where none is drawn."""
    return {picture_of(*each): BLANK_PICTURE for each in wanted}


def drawn(wanted: list[tuple[str, str]]) -> dict[str, bytes]:
    """Pictures of figures, by where they are on the site: as many at once as processors.

    They are kept in the cache, so that only what changed is drawn again.
    """
    processors = len(os.sched_getaffinity(0))
    # A process that has threads, as Polars starts them, may not be forked.
    with ProcessPoolExecutor(processors, multiprocessing.get_context("spawn")) as pool:
        made = pool.map(_picture, *zip(*wanted, strict=True))
        shown = track(made, "figures drawn", total=len(wanted))
        return {
            picture_of(*each): path.read_bytes() for each, path in zip(wanted, shown, strict=True)
        }


def _picture(paper: str, figure: str) -> Path:
    """The file of a figure's picture in the cache."""
    kept = builds.directory() / "pictures" / f"{paper}-{figure}-{_made_of(paper, figure)}.svg"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        for other in kept.parent.glob(f"{paper}-{figure}-{'?' * 12}.svg"):
            other.unlink(missing_ok=True)
        with whole_file(kept) as file:
            file.write(reference.picture(paper, figure))
    return kept


def _made_of(paper: str, figure: str) -> str:
    own = [reference.path(paper, figure), shelf.paper(paper).file(figure)]
    return builds.fingerprint([*own, *_own_code(paper)], _shared_code())


@functools.cache
def _own_code(paper: str) -> list[Path]:
    home = shelf.folder(paper)
    return [*shelf.code(home), home / shelf.ABOUT]


@functools.cache
def _shared_code() -> str:
    home = builds.ROOT / "src" / "sandglass"
    return builds.fingerprint(
        path for folder in DRAWS for path in sorted((home / folder).rglob("*.py"))
    )
