"""The reference of a paper: what its paper profile gave when it was last made for the record.

PAPER/reference/ has a file for each figure, FIGURE.parquet: its table, of all replicas, so
that whoever has a clone can judge again, and in the file's metadata its origin. verdicts.csv has
what came of each claim; what a claim says is in the paper's folder, and is put beside that when it
is read. sentences.csv has what became of each sentence. smoke-runs.csv lists the runs of the smoke
profile.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sandglass.errors import SandglassError, UsageError
from sandglass.papers import across, published, shelf, steps
from sandglass.papers.across import COLUMNS, NUMBERS, RECORD, VERDICTS, Row, SetUp
from sandglass.papers.provenance import Provenance
from sandglass.papers.published import Pair
from sandglass.papers.rulings import Ruling
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact, series, style
from sandglass.results.export.whole import write_all

SENTENCES = "sentences.csv"
DIGITS = 6
"""Of floats in the CSV files."""
SMOKE_RUNS = "smoke-runs.csv"
SMOKE_COLUMNS = (
    *("experiment", "settings", "kernel_build", "modules", "digest"),
    *("goodput_mbit", "utilisation", "delay_median_ms", "drops", "marks"),
)
"""What tells a run, its lab and its bytes, and numbers for where the lab is another one."""


class Kept(NamedTuple):
    """What is kept of a figure."""

    table: pl.DataFrame
    origin: Provenance
    verdicts: list[Verdict]


def figures(paper: str) -> list[str]:
    """Those of a paper's figures that have one."""
    return [name for name in shelf.paper(paper).figures if shelf.kept(paper, name).is_file()]


def path(paper: str, figure: str) -> Path:
    """The file of a figure. Raises SandglassError where there is none."""
    found = shelf.kept(paper, figure)
    if not found.is_file():
        raise SandglassError(
            f"{found.parent} has no table of {figure}",
            f"./sandglass reproduce {paper}/{figure} --profile {RECORD}, and then "
            f"./sandglass reference {paper}/{figure} --renew",
        )
    return found


def table(paper: str, figure: str) -> pl.DataFrame:
    """The table of a figure. Raises SandglassError where there is none."""
    return compact.read(path(paper, figure))


def origin(paper: str, figure: str) -> Provenance:
    """Where the table of a figure comes from. Raises SandglassError where there is none."""
    return Provenance(**json.loads(compact.about(path(paper, figure))))


def picture(paper: str, figure: str) -> bytes:
    """A figure as SVG, drawn from its table."""
    rows, source = table(paper, figure), origin(paper, figure)
    return style.drawn(steps.drawn(paper, figure, rows, source), "svg")


def verdicts(paper: str) -> list[Verdict]:
    """The verdicts that are kept on a paper's claims, with what these say.

    Raises SandglassError where there are none, or one is on a claim that is no more.
    """
    return across.said(paper, across.rows(paper))


def judged(paper: str, figure: str) -> list[Verdict]:
    """The verdicts on a figure's table by the claims as they are now, as they would be kept."""
    found = steps.judge(paper, figure, table(paper, figure), origin(paper, figure).profile)
    return [_short(each) for each in found]


def judge(named: Mapping[str, Iterable[str]]) -> None:
    """Judge figures' tables, by papers, by the claims as they are now, and keep the verdicts."""
    found = {paper: {name: judged(paper, name) for name in own} for paper, own in named.items()}
    write_all(_judged(found, {}))


def renew(found: Mapping[str, Mapping[str, Kept]]) -> None:
    """Put figures in the place of what is kept of them, by papers; all of them or none.

    Raises UsageError for figures of a variant that are of two profiles.
    """
    files: dict[Path, bytes] = {}
    profiles: dict[str, str] = {}
    for paper, own in found.items():
        others = {origin(paper, name).profile for name in figures(paper) if name not in own}
        several = others | {each.origin.profile for each in own.values()}
        if len(several) > 1:
            raise UsageError(f"{paper}: figures of the profiles {' and '.join(sorted(several))}")
        profiles[paper] = several.pop()
        for name, each in own.items():
            about = json.dumps(each.origin.document())
            files[shelf.kept(paper, name)] = compact.packed(each.table, about)
    judged = {paper: {n: each.verdicts for n, each in own.items()} for paper, own in found.items()}
    write_all(files | _judged(judged, profiles))


def pairs(paper: str, found: Iterable[Ruling]) -> list[Pair]:
    """The numbers that a paper prints, in its sentences and where figures' tables have them."""
    figures = shelf.paper(paper).figures
    return published.of_paper(found, figures, lambda name: table(paper, name))


def renew_smoke(found: Mapping[str, pl.DataFrame]) -> None:
    """Put papers' lists of the smoke profile's runs in the place of those that are kept."""
    files: dict[Path, bytes] = {}
    for paper, runs in found.items():
        few = series.rounded(runs.select(SMOKE_COLUMNS), DIGITS)
        files[shelf.reference(paper) / SMOKE_RUNS] = few.write_csv().encode()
    write_all(files)


def _short(verdict: Verdict) -> Verdict:
    """With as many digits as are kept."""
    found = {name: getattr(verdict, name) for name in NUMBERS}
    return verdict.model_copy(
        update={
            name: value if value is None else float(f"{value:.{DIGITS}g}")
            for name, value in found.items()
        }
    )


def _judged(
    found: Mapping[str, Mapping[str, list[Verdict]]], profiles: Mapping[str, str]
) -> dict[Path, bytes]:
    """VERDICTS with these of some figures, by papers, and SENTENCES by them.

    The verdicts of other figures stay, unless the figure is no more.
    """
    files: dict[Path, bytes] = {}
    fresh: dict[str, dict[str, SetUp]] = {}
    for paper, own in found.items():
        file = shelf.reference(paper) / VERDICTS
        kept = across.rows(paper) if file.is_file() else []
        listed: list[Row] = []
        for figure in shelf.paper(paper).figures:
            if figure in own:
                listed += [_short(each).model_dump(include={*COLUMNS}) for each in own[figure]]
            else:
                listed += [row for row in kept if row["figure"] == figure]
        table = pl.DataFrame(listed, schema=Verdict.frame([]).select(COLUMNS).schema)
        files[file] = table.write_csv().encode()
        set_up = SetUp(profiles.get(paper) or across.profile(paper), across.said(paper, listed))
        fresh.setdefault(shelf.plain(paper), {})[paper] = set_up
    for plain, set_ups in fresh.items():
        said = across.table(across.set_ups(plain, set_ups))
        files[shelf.reference(plain) / SENTENCES] = said.write_csv().encode()
    return files
