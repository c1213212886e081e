"""The gallery: every example and every figure of a paper, with picture, file and command."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.site import examples, figures, render
from sandglass.experiment import document
from sandglass.install.builds import ROOT
from sandglass.papers import grid, numbers, reference, shelf
from sandglass.papers.verdicts import Verdict

PAGE = "gallery/README.md"
QUEUES = {
    "bfifo": "Drop-tail",
    "choke": "CHOKe",
    "codel": "CoDel",
    "dualpi2": "DualPI2",
    "dualred": "Dual RED",
    "fq_codel": "FQ-CoDel",
    "fq_pie": "FQ-PIE",
    "hred": "HRED",
    "pfifo": "Drop-tail",
    "pi2": "PI2",
    "pie": "PIE",
    "pie_draft": "PIE",
    "predict": "Predict",
    "red": "RED",
    "sfq_codel": "SFQ-CoDel",
}
"""What people call them."""


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery, and what is said of it."""

    title: str
    alternative: str
    """What stands for the picture where it is not seen."""
    caption: str
    command: str
    page: str
    """Its own page on the site, which has more of it."""
    picture: str
    """Where its picture is on the site."""
    source: str
    """Where it comes from: examples, or a paper."""
    queues: frozenset[str]
    flows: frozenset[str]
    """Congestion controls, and workloads of flows that name none."""


def papers() -> list[str]:
    """Ours, which have reference results."""
    return [name for name, home in shelf.folders().items() if home.parent == shelf.PIPELINES]


def pages() -> dict[str, str]:
    """The gallery, and the page of each entry, by their paths on the site."""
    made: dict[str, str] = {}
    entries = []
    for path in [*examples.studies(), *examples.single()]:
        entry = _example(path)
        entries.append(entry)
        made[entry.page] = render.page(
            "study" if examples.is_study(path) else "example",
            entry=entry,
            pictures=examples.pictures_of(path),
            look=examples.look_of(path),
            file=str(path.relative_to(ROOT)),
            name=path.stem,
            text=path.read_text().rstrip("\n"),
        )
    for paper in papers():
        verdicts = reference.verdicts(paper)
        for name in shelf.paper(paper).figures:
            entry = _figure(paper, name)
            entries.append(entry)
            own = [each for each in verdicts if each.figure == name]
            made[entry.page] = _figure_page(entry, paper, name, own)
    return {PAGE: render.page("gallery", entries=entries, choices=_choices(entries)), **made}


def _choices(entries: list[Entry]) -> list[tuple[str, str, list[str]]]:
    """What the gallery can be filtered by: a card's attribute, what it is called, its values."""
    return [
        ("source", "From", list(dict.fromkeys(entry.source for entry in entries))),
        ("queue", "Queue", sorted({each for entry in entries for each in entry.queues})),
        ("flow", "Flows", sorted({each for entry in entries for each in entry.flows})),
    ]


def _example(path: Path) -> Entry:
    text = path.read_text()
    queues, flows = _topics(path)
    title = document.read(path).data["title"]
    study = examples.is_study(path)
    return Entry(
        title=title,
        alternative=f"{title}: {'the first figure' if study else 'what flows got over time'}",
        caption=_caption(text),
        command=f"./sandglass {'study' if study else 'run'} {path.relative_to(ROOT)}",
        page=examples.page_of(path),
        picture=examples.pictures_of(path)[0],
        source="Studies" if study else "Examples",
        queues=queues,
        flows=flows,
    )


def _caption(experiment: str) -> str:
    """The first paragraph of the comment that a file begins with, without its commands."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), experiment.splitlines())
    told = [line.removeprefix("#").strip() for line in lines if "$schema" not in line]
    sentences = re.split(r"(?<=[.?!]) ", " ".join(itertools.takewhile(bool, told)))
    return " ".join(each for each in sentences if "./sandglass" not in each and "--set" not in each)


def _figure(paper: str, name: str) -> Entry:
    about = shelf.paper(paper)
    figure = about.figures[name]
    topics = [_topics(path) for path in _experiments(paper, name)]
    caption = " ".join(figure.caption.split())
    return Entry(
        title=figure.title,
        alternative=f"{figure.title}. {caption}",
        caption=caption,
        command=f"./sandglass reproduce {paper}/{name}",
        page=f"gallery/{paper}/{name}.md",
        picture=figures.picture_of(paper, name),
        source=about.head.paper,
        queues=frozenset().union(*(queues for queues, _ in topics)),
        flows=frozenset().union(*(flows for _, flows in topics)),
    )


def _experiments(paper: str, figure: str) -> list[Path]:
    """The experiments that a figure is made of."""
    about = shelf.paper(paper)
    grids = about.figures[figure].grids("paper")
    names = {str(name) for each in grids for name in each[grid.EXPERIMENT]}  # type: ignore[union-attr]
    return [shelf.experiment_file(about.home, name) for name in sorted(names)]


def _figure_page(entry: Entry, paper: str, name: str, verdicts: list[Verdict]) -> str:
    about = shelf.paper(paper)
    setup = about.figures[name].setup
    origins = {"Stated": setup.stated, "Derived": setup.derived, "Re-design": setup.redesign}
    files = [
        (f"pipelines/{paper}/{name}.yaml", "what it is and claims"),
        (f"pipelines/{paper}/{about.figures[name].code or name}.py", "its numbers and its picture"),
    ]
    experiments = _experiments(paper, name)
    bases = [base for path in experiments for base in grid.bases(path)]
    files += [(str(path.relative_to(ROOT)), "") for path in dict.fromkeys([*experiments, *bases])]
    files += [(str(reference.path(paper, name).relative_to(ROOT)), "the numbers that are drawn")]
    return render.page(
        "figure",
        entry=entry,
        paper=about.head,
        profile=reference.origin(paper, name).profile,
        verdicts=[_shown(each) for each in numbers.explained(paper, verdicts)],
        setup=[(word, settings) for word, settings in origins.items() if settings],
        files=files,
    )


def _shown(verdict: Verdict) -> dict[str, str]:
    """A verdict with what was measured in words."""
    measured = "" if verdict.measured is None else f"{verdict.measured:.4g}"
    return verdict.model_dump() | {"measured": measured}


def _topics(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The queues of an experiment, and what is sent through them; or of a study's experiment."""
    content = document.read(path).data
    within = content.get("experiment", content)
    if isinstance(within, str):
        within = document.read(path.parent / within).data
    kinds = {*_kinds(content), *_kinds(within)}
    flows = [flow.get("cc") or flow["workload"].partition(":")[0] for flow in within["flows"]]
    return frozenset(QUEUES[kind] for kind in kinds if kind in QUEUES), frozenset(flows)


def _kinds(content: Any) -> Iterator[str]:
    """What stands at keys that are or end with `kind`, at any depth."""
    if isinstance(content, list):
        for part in content:
            yield from _kinds(part)
    if isinstance(content, dict):
        for key, part in content.items():
            if key.rpartition(".")[2] == document.KIND and isinstance(part, str):
                yield part
            yield from _kinds(part)
