"""Papers and figures as Snakemake's targets."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sandglass.errors import SandglassError, UsageError, nearest
from sandglass.guide.detail import table
from sandglass.install import builds, extras, memory, setup_lab
from sandglass.papers import batches, grid, shelf, verdicts
from sandglass.papers.variants import AT
from sandglass.terminal import complain, say
from sandglass.workflow.snakemake import Work
from sandglass.workflow.snakemake import snakemake as run

LOG = Path("results/logs/snakemake.log")
"""Snakemake's own words."""


def named(target: str) -> str:
    """PAPER or PAPER/FIGURE of a target that may be a path, of a paper's folder or a figure in it.

    Behind the paper may stand @VARIANT.

    The figure's file may be named, too. A paper that is not ours is on the shelf from then on, for
    Snakemake too. Raises UsageError for the path of something else.
    """
    if AT in target:
        paper, _, rest = target.partition(AT)
        return f"{named(paper)}{AT}{rest}"
    if target.partition("/")[0] in shelf.papers():
        return target
    path = Path(target.removesuffix(".yaml")).resolve()
    for home in (path, path.parent):
        if (home / shelf.ABOUT).is_file():
            if home.parent != shelf.PIPELINES:
                os.environ["SANDGLASS_PAPERS"] = str(home)
            return str(path.relative_to(home.parent))
    if target.startswith((".", "/")):
        raise UsageError(f"{target} is no paper", f"a paper is a folder with a {shelf.ABOUT}")
    return target


def is_figure(file: Path) -> bool:
    """Whether a file is a figure of a paper."""
    beside = file.parent / shelf.ABOUT
    return file.suffix == ".yaml" and file.name not in shelf.NO_FIGURES and beside.is_file()


def reproduce(wanted: Sequence[str | None], profile: str, cores: int | None, strict: bool) -> int:
    """Reproduce papers and figures, or all where one is None; returns Snakemake's exit status.

    With `strict` raises SandglassError where a claim fails, or none was judged.
    """
    extras.require("studies")
    words = [word for each in wanted for word in targets(each)]
    setup_lab.lab()
    papers = {each and each.partition("/")[0] for each in wanted}
    status = snakemake(words, profile, cores, min(map(memory_mb, papers)))
    if status == 0:
        say("\n".join(map(judged, wanted)))
        if strict:
            require(wanted)
    return status


def targets(wanted: str | None) -> list[str]:
    """The rules or files that stand for PAPER, PAPER/FIGURE, or everything.

    Raises UsageError naming the nearest paper or figure there is, and for a variant of which a
    change sets nothing, or what no experiment can have.
    """
    if wanted is None:
        return ["all"]
    paper, _, figure = wanted.partition("/")
    grid.check(paper)
    known = grid.made(paper)
    if not figure:
        return [paper]
    if figure not in known:
        two_digits = re.sub(r"\d+", lambda number: number[0].zfill(2), figure)
        raise UsageError(
            f"{paper} has no figure {figure!r}{nearest(two_digits, known)}",
            "a variant has those that it changes and that judge a sentence"
            if AT in paper
            else None,
        )
    return [f"results/{paper}/{figure}.html"]


def choices() -> str:
    """The papers there are, a line each, with how many runs they take, and how to go on."""
    about = {name: shelf.paper(name) for name in shelf.papers()}
    runs = {name: sum(batches.counts([name], "quick").values()) for name in about}
    rows = [(name, f"{runs[name]} runs", about[name].head.title) for name in about]
    first = next(iter(about))
    return "\n".join(
        [
            *table(*rows),
            f"one of them: ./sandglass reproduce {first}",
            f"its figures: ./sandglass list papers {first}",
            f"all, {sum(runs.values())} runs: ./sandglass reproduce --all",
        ]
    )


def memory_mb(wanted: str | None) -> int:
    """What runs may take together: the memory that is free now.

    Says so when that is less than one of them may need.
    """
    free_mb = memory.available_mb()
    for paper in shelf.papers() if wanted is None else [wanted.partition("/")[0]]:
        needed_mb = shelf.paper(paper).head.memory_mb
        if needed_mb > free_mb:
            complain(
                f"warning: a run of {paper} may need {needed_mb} MB of memory, "
                f"and {free_mb} MB are free",
                "its runs go one at a time; one that takes more than there is fails",
            )
    return free_mb


def judged(wanted: str | None) -> str:
    """The verdicts of what has been reproduced, for the terminal, and where the page is."""
    page = (wanted or "").partition("/")[2] or "report"
    lines = []
    for paper, found in _verdicts(wanted):
        lines.append(verdicts.summary(found))
        lines.append(f"see results/{paper}/{page}.html")
    if wanted is None:
        lines.append("see results/index.html, over all papers")
    return "\n".join(lines)


def require(wanted: Sequence[str | None]) -> None:
    """Raises SandglassError where a claim about what has been reproduced fails, or none was judged.

    It names what fails as PAPER/FIGURE CLAIM. A claim that is open, a check and a finding are none.
    """
    found = [
        (paper, verdict)
        for each in wanted
        for paper, verdicts in _verdicts(each)
        for verdict in verdicts
    ]
    failed = [
        f"{paper}/{each.figure} {each.claim}"
        for paper, each in found
        if (each.sentence, each.verdict) == ("claim", "fails")
    ]
    if failed:
        raise SandglassError(f"{len(failed)} claims fail", "\n".join(failed))
    if all(each.verdict == "not judged" for _, each in found):
        raise SandglassError(
            "nothing was judged: this profile's runs are too short or too few",
            "take another one: --profile quick",
        )


def _verdicts(wanted: str | None) -> Iterator[tuple[str, list[verdicts.Verdict]]]:
    figure = (wanted or "").partition("/")[2]
    name = f"{figure}.verdicts.csv" if figure else "verdicts.csv"
    for paper in shelf.papers() if wanted is None else [wanted.partition("/")[0]]:
        yield paper, verdicts.Verdict.read(builds.WORK / "results" / paper / name)


def snakemake(targets: list[str], profile: str, cores: int | None, memory_mb: int) -> int:
    """Run Snakemake at the top of the repository; returns its exit status.

    It starts as many runs at once as there are cores and their memory fits into `memory_mb`.

    Raises SandglassError when another one is at work there, or it must not write there.
    """
    shown = ", ".join(word.removeprefix("results/").removesuffix(".html") for word in targets)
    papers = _papers(targets)
    config = [f"profile={profile}", f"papers={','.join(papers)}"]
    rules = ["--snakefile", str(builds.ROOT / "Snakefile")]
    work = Work(
        title=f"{shown} ({profile})",
        words=[*rules, "--keep-incomplete", "--config", *config, "--", *targets],
        folder=builds.WORK,
        log=LOG,
        cores=cores,
        memory_mb=memory_mb,
        parts=batches.counts(papers, profile),
    )
    return run(work)


def _papers(targets: Sequence[str]) -> list[str]:
    """The papers whose runs Snakemake's targets need: to put them into jobs takes a second each."""
    return list(shelf.wanted({w.removeprefix("results/").partition("/")[0] for w in targets}))
