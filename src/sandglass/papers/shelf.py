"""The papers that there are: ours in pipelines/, and those of $SANDGLASS_PAPERS.

A paper is one folder; whatever has a paper.yaml is one. Each other YAML file in it is a figure;
docs/pipeline.md says what else lies beside them.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from sandglass.errors import UsageError, nearest
from sandglass.experiment import document
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part, refusal
from sandglass.experiment.problems import Problem
from sandglass.install import builds
from sandglass.papers import variants
from sandglass.papers.metrics import Metric
from sandglass.papers.profiles import PROFILES, Grid, Grids, Less, part
from sandglass.papers.sentences import Quoted, Terms
from sandglass.papers.strict import parse
from sandglass.papers.variants import AT, Applied, Variant

PIPELINES = builds.ROOT / "pipelines"
REFERENCE = "reference"
ABOUT = "paper.yaml"
ABSTRACT = "abstract.md"
AMENDED = "amended.yaml"
RULES = "rules.smk"
SOURCES = "sources.yaml"
NO_FIGURES = (ABOUT, AMENDED, SOURCES)
RUN_PARTS = ("experiments",)
"""Folders of a paper that decide which runs there are; no step after the runs reads them."""
NO_CODE = (*RUN_PARTS, REFERENCE, variants.FOLDER)
TAKEN = ("logs", "reference", "runs")
"""Folders of results/ that are no paper's."""

Overrides = dict[str, Value]


class Setup(Part):
    """The settings of a figure, by where each comes from (three words, used strictly)."""

    stated: list[str] = Field(default_factory=list)
    """The paper says it."""
    derived: list[str] = Field(default_factory=list)
    """Follows from what is stated; each entry says from what."""
    redesign: list[str] = Field(default_factory=list, alias="re-design")
    """The paper does not publish it; ours."""


class Published(Part):
    """Where a figure's table has numbers that the source prints."""

    theirs: str
    """The column with the source's numbers; null where it has none."""
    ours: str
    by: Annotated[list[str], Field(min_length=1)]
    """The columns that tell the numbers apart; of several replicas ours is the mean."""
    unit: str = ""


class Figure(Part):
    """One figure of a paper: PAPER/FIGURE.yaml."""

    title: str
    caption: str
    setup: Setup
    code: str = ""
    """The module with its table and plot, where that is not called as the figure is."""
    axes: dict[str, str | dict[str, Overrides]] = Field(default_factory=dict)
    """The key that an axis sets, or what each label of it sets."""
    runs: Grids
    """Of the profile paper."""
    quick: Grids | Less = Field(default_factory=dict)
    """A part of `runs`, or grids of its own."""
    smoke: Grids | Less = Field(default_factory=dict)
    """A part of `quick`, or grids of its own."""
    metrics: dict[str, Metric] = Field(default_factory=dict)
    """By name, what claims measure that needs no code."""
    published: Published | None = None
    """What of its table the source prints, beside what claims name."""
    sentences: Annotated[list[Quoted], Field(min_length=1)]
    """What the paper says of it: every figure carries its verdict."""

    def grids(self, profile: str) -> list[Grid]:
        """The grids of a profile. Raises ValueError where a smaller one is no part (`part`)."""
        found: list[Grid] = self.runs
        smaller = {"paper": [], "quick": [self.quick], "smoke": [self.quick, self.smoke]}
        for own in smaller[profile]:
            found = own if isinstance(own, list) else part(found, own)
        return found


class PaperHead(Terms):
    """A paper's paper.yaml."""

    paper: str
    """The paper's number or short reference, as verdicts name it."""
    title: str
    memory_mb: Annotated[int, Field(gt=0)] = 2500
    """What a run may take: the largest lab's memory, the same again for its records in tables, and
    500 MB."""
    order: list[str] = Field(default_factory=list)
    """Figures in the order of the report; those that it does not name come after, by name."""
    shared: dict[str, Any] = Field(default_factory=dict)
    """What figures have in common, by name: {shared: NAME} stands for it."""


class _Figures(Mapping[str, Figure]):
    """A paper's figures, each read when it is asked for."""

    def __init__(self, home: Path, names: Sequence[str], variant: str) -> None:
        self._home, self._names, self._variant = home, names, variant

    def __getitem__(self, name: str) -> Figure:
        if name not in self._names:
            raise KeyError(name)
        found = parse(self._home / f"{name}.yaml", Figure, sharing=self._home / ABOUT)
        return self._varied(name, found) if self._variant else found

    def _varied(self, name: str, plain: Figure) -> Figure:
        """A figure of a variant: its set-up says what is otherwise, and its grids may be."""
        variant = variants.read(self._home, self._variant)
        ours = [*plain.setup.redesign, f"{variant.title}: {'; '.join(variant.told)}"]
        said: dict[str, Any] = {"setup": plain.setup.model_copy(update={"redesign": ours})}
        if name in variant.grids:
            sampled = variant.grids[name].model_dump(exclude_none=True)
            known = {axis for each in PROFILES for grid in plain.grids(each) for axis in grid}
            for key, grids in sampled.items():
                axes = {axis for grid in grids if isinstance(grids, list) for axis in grid}
                if added := axes - known:
                    own = variants.file(self._home, self._variant)
                    what = f"{name} varies no {', '.join(sorted(added))}: make it a change"
                    raise refusal(own, document.plain(own), [(("grids", name, key), what)])
            said |= sampled
        return plain.model_copy(update=said)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Paper:
    """A paper's folder."""

    home: Path
    head: PaperHead
    variant: str = ""
    """Its name, of a paper in another set-up."""

    @cached_property
    def otherwise(self) -> Variant | None:
        """What is otherwise in its variant."""
        return variants.read(self.home, self.variant) if self.variant else None

    def changed(self, source: str, overrides: Overrides) -> list[Applied]:
        """What its variant sets at a point of an experiment's file; nothing without a variant."""
        if not self.otherwise:
            return []
        own = variants.file(self.home, self.variant)
        return variants.applied(self.otherwise, own, source, overrides)

    @cached_property
    def figures(self) -> Mapping[str, Figure]:
        """By name. Raises UsageError for an `order` of figures that there are not."""
        there = sorted(
            path.stem for path in self.home.glob("*.yaml") if path.name not in NO_FIGURES
        )
        for name in self.head.order:
            if name not in there:
                raise UsageError(
                    f"{self.home / ABOUT}: order: there is no {name}.yaml{nearest(name, there)}"
                )
        return _Figures(self.home, list(dict.fromkeys([*self.head.order, *there])), self.variant)

    @property
    def abstract(self) -> str:
        """Of the reproduction, in Markdown: what holds, what does not, and why; of a variant, what
        is otherwise in it."""
        if self.otherwise:
            return "".join(f"- {each}\n" for each in self.otherwise.told)
        path = self.home / ABSTRACT
        return path.read_text() if path.is_file() else ""

    def file(self, figure: str) -> Path:
        """Where a figure stands."""
        return self.home / f"{figure}.yaml"

    def refusal(self, figure: str, *problems: Problem) -> UsageError:
        """What is said of problems in a figure's file, each with its line."""
        file = self.file(figure)
        return refusal(file, document.plain(file), problems)


def folders() -> dict[str, Path]:
    """Every paper's folder, by the paper's name, in the order of the names.

    Raises UsageError when $SANDGLASS_PAPERS holds no paper, or one whose name is taken or is none.
    """
    found = {path.parent.name: path.parent for path in PIPELINES.glob(f"*/{ABOUT}")}
    if chosen := os.environ.get("SANDGLASS_PAPERS"):
        for theirs in within(Path(chosen).absolute()):
            _check_name(theirs, found)
            found[theirs.name] = theirs
    return dict(sorted(found.items()))


def wanted(names: Collection[str]) -> dict[str, Path]:
    """The folders of these papers and variants, by their names; of all papers where one is all."""
    found = {name: home for name, home in folders().items() if {"all", name} & {*names}}
    return found | {name: folder(name) for name in sorted(names) if AT in name}


def ours() -> list[str]:
    """The papers of this repository, in the order of their names."""
    return [name for name, home in folders().items() if home.parent == PIPELINES]


def within(directory: Path) -> list[Path]:
    """The papers of a directory, which may be a paper itself. Raises UsageError without one."""
    if (directory / ABOUT).is_file():
        return [directory]
    found = sorted(path.parent for path in directory.glob(f"*/{ABOUT}"))
    if not found:
        raise UsageError(
            f"{directory} holds no paper", f"a paper is a folder with a {ABOUT}: docs/pipeline.md"
        )
    return found


def _check_name(theirs: Path, ours: dict[str, Path]) -> None:
    name = theirs.name
    if name in ours:
        raise UsageError(f"{theirs}: there is a paper {name} in {ours[name]}", "rename one of them")
    if name in TAKEN or not name.isidentifier():
        raise UsageError(
            f"{theirs}: {name!r} cannot be a paper's name",
            f"letters, digits and _ make one, and not {', '.join(TAKEN)}",
        )


def papers() -> list[str]:
    """The names of all papers."""
    return list(folders())


def folder(paper: str) -> Path:
    """A paper's folder, or that of its variant. Raises UsageError when there is no such paper."""
    found = folders()
    paper = plain(paper)
    if paper not in found:
        raise UsageError(
            f"there is no paper {paper!r}{nearest(paper, found)}",
            f"There are {', '.join(found)}; a figure is named PAPER/FIGURE.",
        )
    return found[paper]


def paper(name: str) -> Paper:
    """A paper, or a variant of one, PAPER@VARIANT.

    Raises UsageError when there is none of that name, or its file is malformed.
    """
    printed = at(folder(name))
    if AT not in name:
        return printed
    variant = name.partition(AT)[2]
    said = variants.read(printed.home, variant)
    for figure in said.grids.keys() - printed.figures.keys():
        own = variants.file(printed.home, variant)
        wrong = f"there is no figure {figure}{nearest(figure, printed.figures)}"
        raise refusal(own, document.plain(own), [(("grids", figure), wrong)])
    head = printed.head.model_copy(update={"title": f"{printed.head.title}: {said.title}"})
    return replace(printed, head=head, variant=variant)


def at(home: Path) -> Paper:
    """The paper in a folder. Raises UsageError when its file is malformed."""
    return Paper(home, parse(home / ABOUT, PaperHead))


def called(home: Path, variant: str) -> str:
    """A paper in a folder, or its variant, as commands name it: abe, abe@ns2."""
    return f"{home.name}{AT}{variant}" if variant else home.name


def plain(paper: str) -> str:
    """The paper whose variant it is: abe of abe@ns2."""
    return paper.partition(AT)[0]


def reference(paper: str) -> Path:
    """The folder of what its results were when they were last made for the record."""
    return folder(paper) / REFERENCE / paper.partition(AT)[2]


def kept(paper: str, figure: str) -> Path:
    """Where the reference has a figure's table, if it has one."""
    return reference(paper) / f"{figure}.parquet"


def experiment_file(home: Path, experiment: str) -> Path:
    """An experiment of the paper whose folder `home` is."""
    return home / "experiments" / f"{experiment}.yaml"


def code(home: Path) -> list[Path]:
    """What a paper's figures are made by: all of its folder but what decides runs and claims.

    That is its modules, whichever imports which, and the data that they read.
    """
    return [
        path
        for path in sorted(home.rglob("*"))
        if path.is_file() and not _left_out(path.relative_to(home))
    ]


def _left_out(path: Path) -> bool:
    """Whether a file in a paper's folder is the editor's, Python's, a run's, or says what a figure
    is and claims."""
    hidden = any(part.startswith((".", "__pycache__")) for part in path.parts)
    said = len(path.parts) == 1 and (path.suffix == ".yaml" or path.name in (ABSTRACT, RULES))
    return hidden or said or path.parts[0] in NO_CODE or path.name.endswith("~")


def listing(directories: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Papers, their figures and their variants as `reproduce` takes them, each with its title.

    Those of further directories lie in papers/.
    """
    named = list(folders().items())
    for directory in directories:
        if (directory / "papers").is_dir():
            named += [(str(home), home) for home in within(directory / "papers")]
    for name, home in named:
        about = at(home)
        yield name, about.head.title
        yield from ((f"{name}/{key}", figure.title) for key, figure in about.figures.items())
        for each in variants.names(home):
            yield f"{name}{AT}{each}", f"{about.head.title}: {variants.read(home, each).title}"
