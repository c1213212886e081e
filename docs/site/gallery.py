"""The gallery: every example and every figure of a paper, with picture, file and command."""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl
import yaml
from mkdocs.exceptions import PluginError

from sandglass.install.builds import ROOT
from sandglass.papers import grid, shelf

PAGE = "gallery/README.md"
REFERENCE = ROOT / "results" / "reference"
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
VERDICTS = {"pass": "holds", "fail": "fails", "not judged": "not judged"}


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery, and what is said of it."""

    title: str
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
    """Congestion controls, and workloads that are no bulk transfers."""


def examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.yaml"))


def drawn() -> dict[str, bytes]:
    """The examples' pictures, by where they are on the site; as many at once as processors.

    Runs are taken from the cache. Raises PluginError with what a command said that failed.
    """
    processors = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(processors) as pool:
        pictures = pool.map(lambda path: _draw(path, Path(scratch)), examples())
        return {picture_of(path): svg for path, svg in zip(examples(), pictures, strict=True)}


def _draw(example: Path, scratch: Path) -> bytes:
    run, picture = scratch / example.stem, scratch / f"{example.stem}.svg"
    _sandglass("run", example, "--cached", "--out", run)
    _sandglass("plot", run, "--out", picture)
    return picture.read_bytes()


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


def pages() -> dict[str, str]:
    """The gallery, and the page of each entry."""
    shown = [_example(path) for path in examples()]
    made = {entry.page: _example_page(entry) for entry in shown}
    for paper in papers():
        about = shelf.figures(paper)
        for name, figure in about.figures.items():
            entry = _figure(paper, about.paper, name, figure)
            made[entry.page] = _figure_page(entry, paper, name, about, figure)
            shown.append(entry)
    return {PAGE: _gallery(shown), **made}


# Examples


def _example(path: Path) -> Entry:
    text = path.read_text()
    queues, flows = _topics(text)
    comment = re.sub(r"^# ?(yaml-language-server.*)?", "", _head(text), flags=re.MULTILINE)
    paragraphs = [" ".join(part.split()) for part in comment.strip().split("\n\n")]
    return Entry(
        title=yaml.safe_load(text)["title"],
        caption=paragraphs[0].partition(" Run it with")[0].partition(" Compare:")[0],
        command=f"./sandglass run examples/{path.name}",
        page=page_of(path),
        picture=picture_of(path),
        source="Examples",
        queues=queues,
        flows=flows,
    )


def _head(text: str) -> str:
    """The comment that a file begins with."""
    found = re.match(r"(#.*\n)*", text)
    return found[0] if found else ""


def _example_page(entry: Entry) -> str:
    name = Path(entry.page).stem
    return (
        f"# {entry.title}\n\n{entry.caption}\n\n"
        f"![{entry.title}: what each flow gets over time]({Path(entry.picture).name})\n\n"
        f"```\n{entry.command} --out results/runs/{Path(name).stem}\n"
        f"./sandglass show results/runs/{Path(name).stem}\n"
        f"./sandglass plot results/runs/{Path(name).stem}\n```\n\n"
        f"## examples/{name}\n\n"
        f"````yaml\n{(ROOT / 'examples' / name).read_text()}````\n\n"
        "All keys: [Keys of an experiment](../reference/experiment.md).\n"
    )


# Papers' figures


def _figure(paper: str, short: str, name: str, figure: shelf.Figure) -> Entry:
    queues: frozenset[str] = frozenset()
    flows: frozenset[str] = frozenset()
    home = shelf.folder(paper)
    points = grid.points(paper, name, "paper")
    for experiment in sorted({point.experiment for point in points}):
        found = _topics(shelf.experiment_file(home, experiment).read_text())
        queues, flows = queues | found[0], flows | found[1]
    return Entry(
        title=figure.title,
        caption=" ".join(figure.caption.split()),
        command=f"./sandglass reproduce {paper}/{name}",
        page=f"gallery/{paper}/{name}.md",
        picture=f"results/reference/{paper}/{name}.svg",
        source=short,
        queues=queues,
        flows=flows,
    )


def _figure_page(
    entry: Entry, paper: str, name: str, about: shelf.Figures, figure: shelf.Figure
) -> str:
    up = "../../"
    text = (
        f"# {entry.title}\n\n{about.paper}: {about.title}\n\n{entry.caption}\n\n"
        f"![{entry.title}]({up}{entry.picture})\n\n```\n{entry.command}\n```\n\n"
        "That runs a coarse grid; `--profile paper` gives the whole one, of which the picture is.\n\n"
    )
    verdicts = pl.read_csv(REFERENCE / paper / "verdicts.csv", infer_schema=False)
    rows = verdicts.filter(pl.col("figure") == name)
    if rows.height:
        text += "## What the paper says of it\n\n| the paper | expected | measured | |\n|---|---|---|---|\n"
        for row in rows.iter_rows(named=True):
            cells = (f"“{row['quote']}”", row["expected"], _rounded(row["measured"]))
            outcome = f"**{VERDICTS[row['verdict']]}**"
            text += f"| {' | '.join(_cell(each) for each in (*cells, outcome))} |\n"
        failed = [row for row in rows.iter_rows(named=True) if row["explanation"]]
        text += "".join(f"\n**{row['claim']}.** {row['explanation']}\n" for row in failed) + "\n"
    text += "## Where its settings come from\n\n"
    words = {"stated": "Stated", "derived": "Derived", "redesign": "Our own (re-design)"}
    for kind, word in words.items():
        if settings := getattr(figure.setup, kind):
            text += f"{word}:\n\n" + "".join(f"- {each}\n" for each in settings) + "\n"
    code = f"pipelines/{paper}"
    experiments = sorted({point.experiment for point in grid.points(paper, name, "paper")})
    text += "## Files\n\n"
    text += f"- [{code}/{name}.py]({up}{code}/{name}.py): its numbers and its picture\n"
    for each in experiments:
        text += f"- [{code}/experiments/{each}.yaml]({up}{code}/experiments/{each}.yaml)\n"
    table = f"results/reference/{paper}/{name}.csv"
    return text + f"- [{table}]({up}{table}): the numbers that are drawn\n"


def _cell(text: str) -> str:
    return escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("*", "\\*") if not text.startswith("**") else text


def _rounded(text: str | None) -> str:
    return f"{float(text):.4g}" if text else ""


# The gallery


def _topics(experiment: str) -> tuple[frozenset[str], frozenset[str]]:
    """Queues, and what is sent through them."""
    content = yaml.safe_load(experiment)
    kinds = re.findall(r"\bkind: *(\w+)", experiment)
    queues = frozenset(QUEUES[kind] for kind in kinds if kind in QUEUES)
    flows = {
        flow.get("cc") or str(flow["workload"]).partition(":")[0]
        for flow in content["flows"]
        if flow.get("cc") or flow["workload"] != "bulk"
    }
    return queues, frozenset(flows)


def _gallery(entries: list[Entry]) -> str:
    choices = {
        "source": ("From", [entry.source for entry in entries]),
        "queue": ("Queue", sorted({each for entry in entries for each in entry.queues})),
        "flow": ("Flows", sorted({each for entry in entries for each in entry.flows})),
    }
    text = (
        f"---\nhide: [navigation, toc]\n---\n\n# Gallery\n\n"
        "Every example and every figure of the papers: what it shows, and the one command that draws it. "
        "A picture leads to its file, its numbers and, of a paper's figure, to what the paper says of it.\n\n"
        '<form class="sg-filter" role="search" aria-label="Filter the gallery" hidden>\n'
        '<label>Words <input type="search" name="words" autocomplete="off"></label>\n'
    )
    for name, (label, values) in choices.items():
        options = "".join(f"<option>{escape(value)}</option>" for value in dict.fromkeys(values))
        text += f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>\n'
    text += '<output aria-live="polite"></output>\n</form>\n\n'
    text += '<div class="sg-gallery" markdown>\n\n'
    return text + "".join(map(_card, entries)) + "</div>\n"


def _card(entry: Entry) -> str:
    def attribute(values: frozenset[str]) -> str:
        return escape("|".join(sorted(values)))

    return (
        f'<article class="sg-card" data-source="{escape(entry.source)}" '
        f'data-queue="{attribute(entry.queues)}" data-flow="{attribute(entry.flows)}" markdown>\n\n'
        f"[![{entry.title}](../{entry.picture}){{ loading=lazy }}](../{entry.page})\n\n"
        f"## [{entry.title}](../{entry.page})\n\n{entry.caption}\n\n"
        f"`{entry.command}`\n\n{entry.source}\n{{ .sg-source }}\n\n</article>\n\n"
    )
