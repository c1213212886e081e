"""The gallery: every example and every figure of a paper, with picture, file and command."""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import yaml
from mkdocs.exceptions import PluginError

from docs.site import render
from sandglass.install.builds import ROOT
from sandglass.papers import grid, shelf

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
OUTCOMES = {"pass": "holds", "fail": "fails", "not judged": "not judged"}


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


def examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.yaml"))


def drawn() -> dict[str, bytes]:
    """The examples' pictures and pages to look at them, by where they are on the site.

    As many at once as processors, and runs from the cache. Raises PluginError with what a command
    said that failed.
    """
    processors = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(processors) as pool:
        made = [*pool.map(lambda path: _draw(path, Path(scratch)), examples())]
    return {path: content for each in made for path, content in each.items()}


def _draw(example: Path, scratch: Path) -> dict[str, bytes]:
    run = scratch / example.stem
    picture, look = run.with_suffix(".svg"), run.with_suffix(".html")
    _sandglass("run", example, "--cached", "--out", run)
    _sandglass("plot", run, "--out", picture)
    _sandglass("view", run, "--out", look)
    return {picture_of(example): picture.read_bytes(), look_of(example): look.read_bytes()}


def _sandglass(*words: str | Path) -> None:
    command = [sys.executable, "-P", "-m", "sandglass", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PluginError(f"{' '.join(command[3:])} failed:\n{done.stdout}{done.stderr}")


def page_of(example: Path) -> str:
    return f"{example.relative_to(ROOT)}.md"


def papers() -> list[str]:
    """Ours, which have reference results."""
    return [name for name, home in shelf.folders().items() if home.parent == shelf.PIPELINES]


def picture_of(example: Path) -> str:
    return f"examples/{example.stem}.svg"


def look_of(example: Path) -> str:
    return f"examples/{example.stem}.run.html"


def pages() -> dict[str, str]:
    """The gallery, and the page of each entry, by their paths on the site."""
    made: dict[str, str] = {}
    entries = []
    for path in examples():
        entry = _example(path)
        run = f"results/runs/{path.stem}"
        file = str(path.relative_to(ROOT))
        text = path.read_text().rstrip("\n")
        entries.append(entry)
        made[entry.page] = render.page(
            "example", entry=entry, look=look_of(path), file=file, run=run, text=text
        )
    for paper in papers():
        for name in shelf.figures(paper).figures:
            entry = _figure(paper, name)
            entries.append(entry)
            made[entry.page] = _figure_page(entry, paper, name)
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
    queues, flows = _topics(text)
    title = yaml.safe_load(text)["title"]
    return Entry(
        title=title,
        alternative=f"{title}: what flows got over time",
        caption=_caption(text),
        command=f"./sandglass run examples/{path.name}",
        page=page_of(path),
        picture=picture_of(path),
        source="Examples",
        queues=queues,
        flows=flows,
    )


def _caption(experiment: str) -> str:
    """The first paragraph of the comment that an experiment begins with, without its commands."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), experiment.splitlines())
    told = [line.removeprefix("#").strip() for line in lines if "$schema" not in line]
    sentences = re.split(r"(?<=[.?!]) ", " ".join(itertools.takewhile(bool, told)))
    return " ".join(each for each in sentences if "--set" not in each)


def _figure(paper: str, name: str) -> Entry:
    about = shelf.figures(paper)
    figure = about.figures[name]
    topics = [_topics(path.read_text()) for path in _experiments(paper, name)]
    caption = " ".join(figure.caption.split())
    return Entry(
        title=figure.title,
        alternative=f"{figure.title}. {caption}",
        caption=caption,
        command=f"./sandglass reproduce {paper}/{name}",
        page=f"gallery/{paper}/{name}.md",
        picture=f"results/reference/{paper}/{name}.svg",
        source=about.paper,
        queues=frozenset().union(*(queues for queues, _ in topics)),
        flows=frozenset().union(*(flows for _, flows in topics)),
    )


def _experiments(paper: str, figure: str) -> list[Path]:
    """The experiments that a figure is made of."""
    points = grid.points(paper, figure, "paper")
    home = shelf.folder(paper)
    return [
        shelf.experiment_file(home, name) for name in sorted({each.experiment for each in points})
    ]


def _figure_page(entry: Entry, paper: str, name: str) -> str:
    about = shelf.figures(paper)
    setup = about.figures[name].setup
    origins = {"Stated": setup.stated, "Derived": setup.derived, "Re-design": setup.redesign}
    reference = f"results/reference/{paper}"
    files = [(f"pipelines/{paper}/{name}.py", "its numbers and its picture")]
    files += [(str(path.relative_to(ROOT)), "") for path in _experiments(paper, name)]
    files += [(f"{reference}/{name}.csv", "the numbers that are drawn")]
    return render.page(
        "figure",
        entry=entry,
        paper=about,
        profile=json.loads((ROOT / reference / f"{name}.json").read_text())["profile"],
        verdicts=[*_verdicts(ROOT / reference / "verdicts.csv", name)],
        setup=[(word, settings) for word, settings in origins.items() if settings],
        files=files,
    )


def _verdicts(file: Path, figure: str) -> Iterator[dict[str, str]]:
    rows = pl.read_csv(file, infer_schema=False).filter(pl.col("figure") == figure)
    for row in rows.with_columns(pl.all().fill_null("")).iter_rows(named=True):
        measured = f"{float(row['measured']):.4g}" if row["measured"] else ""
        yield row | {"measured": measured, "outcome": OUTCOMES[row["verdict"]]}


def _topics(experiment: str) -> tuple[frozenset[str], frozenset[str]]:
    """The queues of an experiment, and what is sent through them."""
    kinds = re.findall(r"\bkind: *(\w+)", experiment)
    flows = [
        flow.get("cc") or flow["workload"].partition(":")[0]
        for flow in yaml.safe_load(experiment)["flows"]
    ]
    return frozenset(QUEUES[kind] for kind in kinds if kind in QUEUES), frozenset(flows)
