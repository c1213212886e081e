"""The page of a paper, one file: each figure with its set-up, its origin and its verdicts."""

import base64
from dataclasses import dataclass

import polars as pl
from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt

from sandglass.papers.provenance import Provenance
from sandglass.papers.shelf import PIPELINES, Figure, Figures
from sandglass.papers.verdicts import Verdict

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
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["markdown"] = MarkdownIt("js-default").render
    environment.filters["data_uri"] = _data_uri
    environment.filters["count"] = _count
    template = environment.from_string(TEMPLATE.read_text())
    total = None
    if runs is not None:
        virtual_s, wall_s = runs["virtual_s"].sum(), runs["wall_s"].sum()
        total = {"runs": len(runs), "virtual_s": virtual_s, "wall_s": wall_s}
    return template.render(paper=paper, sections=sections, total=total)


def _data_uri(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def _count(verdicts: list[Verdict], outcome: str) -> int:
    return sum(verdict.verdict == outcome for verdict in verdicts)
