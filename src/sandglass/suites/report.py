"""The report of a suite: index.html, and what is in it as JSON, CSV and Parquet."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.experiment.document import Value
from sandglass.results import series, style
from sandglass.results.pages import environment, number
from sandglass.results.series import Run
from sandglass.studies import manifest, tables, targets
from sandglass.studies.origin import Origin, origin
from sandglass.studies.points import text
from sandglass.studies.quantity import titled, words
from sandglass.studies.statistics import named
from sandglass.studies.study import Study
from sandglass.suites import graph, judging, sensitivity
from sandglass.suites.contenders import Contender
from sandglass.suites.judging import WORDS, Cell, Word
from sandglass.suites.sensitivity import Elasticity
from sandglass.suites.subject import Parameter, Subject
from sandglass.suites.suite import Profile, Prompt, Scenario, Suite

TEMPLATE = "report.html.jinja"
INDEX, JSON, WORDS_CSV, MEANS_CSV, RUNS = (
    *("index.html", "report.json", "words.csv", "means.csv", "runs.parquet"),
)
TOOLS = ("sandglass", "mininet", "iproute2")
"""What set the network up."""
SIGNS: Mapping[Word, str] = {
    **{"better": "▲", "worse": "▼", "equal": "=", "undecided": "?"},
    **{"likely better": "△", "likely worse": "▽", "likely equal": "≈"},
}
CLASSES: Mapping[Word, str] = {
    **{"better": "holds", "worse": "fails", "equal": "muted", "undecided": "open"},
    **{"likely better": "holds", "likely worse": "fails", "likely equal": "muted"},
}


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    suite: Suite
    subject: Subject
    contenders: Sequence[Contender]
    """The baseline, the algorithm in question, its rivals."""
    studies: dict[str, Study]
    """By the scenarios' names."""
    scenarios: Sequence[Scenario]
    profile: Profile
    home: Path
    partial: bool
    """Whether some scenarios were left out."""

    @property
    def own(self) -> Contender:
        return self.contenders[1]

    @property
    def others(self) -> list[Contender]:
        return [each for each in self.contenders if each is not self.own]


@dataclass
class Part:
    """A scenario with what its study found; nothing where it did not end."""

    scenario: Scenario
    study: Study
    runs: pl.DataFrame | None = None
    summary: pl.DataFrame | None = None
    source: Origin | None = None
    cells: list[Cell] = field(default_factory=list)
    pictures: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Name, words, SVG."""


def write(asked: Asked) -> None:
    """Write all files of the report."""
    parts = [_part(asked, scenario) for scenario in asked.scenarios]
    cells = judging.holm([cell for part in parts for cell in part.cells])
    for part in parts:
        part.cells = [cell for cell in cells if cell.scenario == part.scenario.name]
    done = [part for part in parts if part.runs is not None]
    drawn = graph.draw(
        [(part.scenario, part.runs) for part in done if part.runs is not None],
        asked.suite.described.axis,
        [each.label for each in asked.contenders],
        asked.home,
    )
    if drawn is not None:
        style.save(drawn, asked.home / graph.NAME)
    _write_tables(asked, parts, cells)
    page = (
        environment(Path(__file__).parent)
        .get_template(TEMPLATE)
        .render(
            asked=asked,
            described=asked.suite.described,
            about=asked.subject.about(asked.own.name),
            parts=parts,
            rows=_rows(asked, parts),
            graph=(asked.home / f"{graph.NAME}.svg").read_bytes() if drawn else None,
            kinds=_kinds(asked, cells),
            details=_details,
            means=_means,
            signs=SIGNS,
            classes=CLASSES,
            cells=len(cells),
            parameters=_parameters(asked, done),
            contenders=_contenders(asked, done),
            tuned=_tuned,
            insensitive=sensitivity.INSENSITIVE,
            setup=_setup,
            tools=_tools(asked, done),
            replicas=sorted({part.study.first for part in parts}),
            seconds=sum(part.source.wall_s for part in done if part.source),
            runs=sum(part.source.runs for part in done if part.source),
        )
    )
    (asked.home / INDEX).write_text(page)


def _part(asked: Asked, scenario: Scenario) -> Part:
    """What the study of a scenario left."""
    study, home = asked.studies[scenario.name], asked.home / scenario.name
    part = Part(scenario, study)
    if not manifest.finished(home):
        return part
    rows = tables.read(targets.RUNS, study, home)
    part.runs, part.summary = rows, tables.read(targets.SUMMARY, study, home)
    part.source = origin([series.load(home / each, {}) for each in rows["directory"]], study.title)
    margins = asked.suite.described.margins
    if not scenario.tuned:
        part.cells = judging.judge(
            scenario.name,
            rows,
            study.axes,
            asked.suite.described.axis,
            asked.own.label,
            {metric: margins[margin] for metric, margin in scenario.judged.items()},
        )
    for name, entry in zip(targets.pictures(study), study.plots, strict=True):
        alt = entry.title or f"{scenario.title}: {', '.join(key for _, _, key in entry.names())}"
        part.pictures.append((name, alt, (home / f"{name}.svg").read_bytes()))
    drawn = {name for name, _, _ in part.pictures}
    part.pictures += [
        (path.stem, f"{scenario.title}: {words(path.stem)}", path.read_bytes())
        for path in sorted(home.glob("*.svg"))  # those of the study's own module
        if path.stem not in drawn
    ]
    return part


def _write_tables(asked: Asked, every: Sequence[Part], cells: Sequence[Cell]) -> None:
    """The same for machines."""
    parts = [part for part in every if part.runs is not None]
    rows = [
        {
            **{key: value for key, value in vars(cell).items() if key != "point"},
            "point": named(cell.point) if cell.point else "",
            "word": cell.word,
            "needed": cell.needed(len(cells)),
        }
        for cell in cells
    ]
    pl.DataFrame(rows, infer_schema_length=None).write_csv(asked.home / WORDS_CSV)
    long = [_long(asked, part) for part in parts]
    if long:
        pl.concat(long).write_parquet(asked.home / RUNS)
        pl.concat(
            [
                part.summary.select(
                    pl.lit(part.scenario.name).alias("scenario"),
                    pl.col(asked.suite.described.axis).cast(pl.String).alias("label"),
                    _place(part.study, asked).alias("point"),
                    *("metric", "n", "mean", "sd", "median", "low", "high"),
                )
                for part in parts
                if part.summary is not None
            ]
        ).write_csv(asked.home / MEANS_CSV)
    whole: dict[str, Any] = {
        "suite": asked.suite.described.model_dump(),
        "profile": asked.profile,
        "name": asked.own.name,
        "contenders": [vars(each) for each in asked.contenders],
        "scenarios": [
            {"name": part.scenario.name, "origin": vars(part.source) if part.source else None}
            for part in every
        ],
        "words": rows,
    }
    (asked.home / JSON).write_text(json.dumps(whole, indent=1, default=str) + "\n")


def _place(study: Study, asked: Asked) -> pl.Expr:
    """The point of a row in words, without the axis of the contenders."""
    others = [axis for axis in study.axes if axis != asked.suite.described.axis]
    if not others:
        return pl.lit("")
    said = [pl.format(f"{axis} {{}}", pl.col(axis)) for axis in others]
    return pl.concat_str(said, separator=", ")


def _long(asked: Asked, part: Part) -> pl.DataFrame:
    """A row for each run and metric of a scenario."""
    assert part.runs is not None
    assert part.summary is not None
    metrics = part.summary["metric"].unique(maintain_order=True).to_list()
    return part.runs.select(
        pl.lit(part.scenario.name).alias("scenario"),
        pl.col(asked.suite.described.axis).cast(pl.String).alias("label"),
        _place(part.study, asked).alias("point"),
        *("replica", "seed", "digest"),
        pl.format(f"{part.scenario.name}/{{}}", "directory").alias("directory"),
        *(pl.col(metric).cast(pl.Float64) for metric in metrics),
    ).unpivot(
        on=metrics,
        index=["scenario", "label", "point", "replica", "seed", "digest", "directory"],
        variable_name="metric",
    )


@dataclass(frozen=True)
class Said:
    """What a cell of the summary says: the words of a metric at all points against one other."""

    text: str
    classes: str


Row = tuple[Scenario | Prompt, Part | None, list[tuple[str, list[Said]]]]
"""Of the summary: what it is of, what was run of it, and a line for each judged metric."""


def _rows(asked: Asked, parts: Sequence[Part]) -> list[Row]:
    """Scenarios and what the author has to write, by the document's sections."""
    found: list[Row] = [(part.scenario, part, _summary_rows(asked, part)) for part in parts]
    found += [(prompt, None, []) for prompt in asked.suite.described.prompts]
    return sorted(found, key=lambda row: in_order(row[0].section))


def in_order(section: str) -> tuple[bool, list[tuple[int, str]]]:
    """5.3a after 5.2, 10 after 9, and what has no number in the document last."""
    parts = re.findall(r"(\d*)([^.\d]*)", section)
    return not section[:1].isdigit(), [(int(number or 0), rest) for number, rest in parts]


def _summary_rows(asked: Asked, part: Part) -> list[tuple[str, list[Said]]]:
    """A row for each judged metric: its name, and a cell for each other contender."""
    return [
        (
            words(metric),
            [
                said([c for c in part.cells if (c.metric, c.against) == (metric, other.label)])
                for other in asked.others
            ],
        )
        for metric in part.scenario.judged
    ]


def said(cells: Sequence[Cell]) -> Said:
    if not cells:
        return Said("", "muted")
    counts = Counter(cell.word for cell in cells)
    if len(counts) == 1:
        (word,) = counts
        return Said(f"{SIGNS[word]} {word}", CLASSES[word])
    shown = ", ".join(f"{SIGNS[word]} {counts[word]}" for word in WORDS if counts[word])
    clear = {CLASSES[word] for word in counts} & {"holds", "fails"}
    return Said(shown, clear.pop() if len(clear) == 1 else "open")


def _tuned(part: Part, asked: Asked) -> list[Elasticity]:
    """What the study of a scenario with `tuned` says of each option."""
    assert part.runs is not None
    axis, judged = asked.suite.described.axis, list(part.scenario.judged)
    return list(sensitivity.elasticities(part.runs, part.study.axes, axis, judged))


def _kinds(asked: Asked, cells: Sequence[Cell]) -> list[tuple[str, list[Said]]]:
    """The words of all metrics with one margin: its name, and a cell for each other contender."""
    kinds = {
        (each.name, metric): kind
        for each in asked.scenarios
        for metric, kind in each.judged.items()
    }
    return [
        (
            kind,
            [
                said(
                    [
                        cell
                        for cell in cells
                        if kinds[cell.scenario, cell.metric] == kind and cell.against == other.label
                    ]
                )
                for other in asked.others
            ],
        )
        for kind in asked.suite.described.margins
        if kind in kinds.values()
    ]


def _details(part: Part, cells: int) -> list[tuple[str, str, list[tuple[Cell, str]]]]:
    """The words of a scenario: metric and point, and each cell with what would decide it."""
    found: dict[tuple[str, str], list[tuple[Cell, str]]] = {}
    for cell in part.cells:
        key = (_titled(part, cell.metric), named(cell.point) if cell.point else "")
        needed = None if cell.word == cell.side else cell.needed(cells)
        hint = f"n = {needed} would decide" if needed else ""
        found.setdefault(key, []).append((cell, hint))
    return [(*key, own) for key, own in found.items()]


def _titled(part: Part, metric: str) -> str:
    known = part.study.metrics.get(metric)
    return titled(metric, known.unit if known else "")


def _means(part: Part, asked: Asked) -> tuple[list[str], list[tuple[str, str, list[str]]]]:
    """Every metric at every point: a column for each label of the axis."""
    assert part.summary is not None
    axis = asked.suite.described.axis
    labels = [text(each) for each in part.study.labels[axis]]
    metrics = part.summary["metric"].unique(maintain_order=True).to_list()
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in sorted(part.summary.to_dicts(), key=lambda row: metrics.index(row["metric"])):
        place: dict[str, Value] = {each: row[each] for each in part.study.axes if each != axis}
        key = (_titled(part, row["metric"]), named(place) if place else "")
        found.setdefault(key, {})[text(row[axis])] = _mean(row)
    rows = [(*key, [own.get(label, "") for label in labels]) for key, own in found.items()]
    return labels, rows


def _mean(row: dict[str, Any]) -> str:
    """A mean and half its interval."""
    if row["low"] is None or row["low"] == row["high"]:
        return number(row["mean"])
    return f"{number(row['mean'])} ± {number((row['high'] - row['low']) / 2, 2)}"


def _setup(part: Part) -> str:
    """The path of a scenario, as its file has it; the axes may say otherwise."""
    experiment = part.study.experiment
    bottleneck = experiment.get("bottleneck", {})
    queue = bottleneck.get("queue", {})
    said = {
        "rate": bottleneck.get("rate"),
        "base round trip": experiment.get("rtt"),
        "buffer": queue.get("limit") if isinstance(queue, dict) else None,
    }
    return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)


def _tools(asked: Asked, parts: Sequence[Part]) -> str:
    """Versions of what took part besides the kernel."""
    if not parts:
        return ""
    known = _first(asked, parts[0], asked.own).field("tools")
    return ", ".join(f"{name} {known[name]}" for name in TOOLS if name in known)


def _first(asked: Asked, part: Part, contender: Contender) -> Run:
    """The first run of a contender in a scenario."""
    assert part.runs is not None
    axis = pl.col(asked.suite.described.axis).cast(pl.String)
    own = part.runs.filter(axis == contender.label)
    return series.load(asked.home / part.scenario.name / own["directory"][0], {})


def _contenders(asked: Asked, parts: Sequence[Part]) -> list[tuple[Contender, str]]:
    """Each with its options in force, in the first scenario that all take part in as they are."""
    for part in parts:
        if not part.scenario.tuned and not part.scenario.options:
            return [(each, _in_force(asked, part, each)) for each in asked.contenders]
    return []


def _in_force(asked: Asked, part: Part, contender: Contender) -> str:
    """All options of a contender, as the kernel reports them."""
    known = asked.subject.parameters(contender.name, _first(asked, part, contender))
    return ", ".join(f"{each.name} {each.in_force}" for each in known if each.in_force)


def _parameters(asked: Asked, parts: Sequence[Part]) -> list[Parameter]:
    """Of the algorithm in question, as they were in the first of its runs."""
    for part in parts:
        return asked.subject.parameters(asked.own.name, _first(asked, part, asked.own))
    return []
