"""The page of a paper, one file: each figure with its set-up, its origin and its verdicts."""

from dataclasses import dataclass

import polars as pl

from sandglass.papers.provenance import Provenance
from sandglass.papers.shelf import PIPELINES, Figure, Figures
from sandglass.papers.verdicts import Verdict
from sandglass.results.pages import environment

TEMPLATE = PIPELINES / "report.html.jinja"


@dataclass(frozen=True)
class Section:
    """One figure of the page; `image` is its SVG."""

    name: str
    about: Figure
    image: bytes
    source: Provenance
    verdicts: list[Verdict]


def page(paper: Figures, sections: list[Section], runs: pl.DataFrame | None) -> str:
    """The whole page; with the list of all runs (`provenance.listing`) it gives their total time.

    Everything but the explanations' markdown is escaped.
    """
    templates = environment(TEMPLATE.parent)
    templates.filters["count"] = _count
    template = templates.get_template(TEMPLATE.name)
    total = None
    if runs is not None:
        virtual_s, wall_s = runs["virtual_s"].sum(), runs["wall_s"].sum()
        total = {"runs": len(runs), "virtual_s": virtual_s, "wall_s": wall_s}
    return template.render(paper=paper, sections=sections, total=total)


def _count(verdicts: list[Verdict], outcome: str) -> int:
    return sum(verdict.verdict == outcome for verdict in verdicts)
