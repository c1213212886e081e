"""What papers' pipelines have made, beside the reference and to be put in its place."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import polars.selectors as cs
from rich.table import Table

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.papers import across, grid, reference, reproduce, shelf, steps
from sandglass.papers.across import RECORD
from sandglass.papers.provenance import Provenance
from sandglass.papers.reference import Kept
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact, series
from sandglass.terminal import put, say

ROUNDING = 1.001 * 10.0 ** (1 - compact.DIGITS)
"""One of the last digit that a table has, as a share: so much may differ by rounding alone."""
NOTHING = 1e-9
"""What differs by less than this is a difference of equal numbers."""
MOVED = 0.01
"""The share by which few digits may move what is measured: a small difference of large numbers."""
MOVED_NOTHING = 1e-4
"""What is measured and moves by less is as it was: how far ours is from a formula, say."""


FEWEST = ((200, series.DIGITS), (5000, compact.SINGLE), (math.inf, compact.DIGITS))
"""Digits of tables, by how many floats they have: all of them cost 11 kB in the smallest third of
the tables, a sixth one 7 kB in all but the largest, and 160 in those."""


class Change(NamedTuple):
    """Something of a figure that is otherwise than in the reference."""

    what: str
    """A claim's name, or which column."""
    kept: str
    made: str


def wanted(targets: Sequence[str]) -> dict[str, list[str]]:
    """The figures that PAPER and PAPER/FIGURE stand for, by papers; PAPER alone is all of them.

    Raises UsageError for what there is not.
    """
    named: dict[str, list[str]] = {}
    for target in map(reproduce.named, targets):
        reproduce.targets(target)
        paper, _, figure = target.partition("/")
        named.setdefault(paper, []).extend([figure] if figure else grid.made(paper))
    return {paper: list(dict.fromkeys(names)) for paper, names in named.items()}


def results() -> Path:
    """The folder in which `reproduce` leaves what it makes, PAPER/FIGURE.csv and so on."""
    return builds.WORK / "results"


def made(paper: str, figure: str, home: Path) -> Kept:
    """What `reproduce` has left of a figure in a folder of results, as it would be kept: with the
    fewest digits that leave each outcome as it is, and what is measured about so.

    Raises SandglassError where it has left nothing, or made it by another profile.
    """
    profiles = (RECORD, "quick") if shelf.paper(paper).variant else (RECORD,)
    source = _origin(home / paper, figure, *profiles)
    rows = pl.read_csv(home / paper / f"{figure}.csv", infer_schema_length=None)
    whole = steps.judge(paper, figure, rows, source.profile)
    for digits in range(_fewest(rows), series.DIGITS):
        few = series.rounded(rows, digits)
        found = steps.judge(paper, figure, few, source.profile)
        if all(_alike(*both, MOVED, MOVED_NOTHING) for both in zip(found, whole, strict=True)):
            return Kept(few, source, found)
    return Kept(rows, source, whole)


def _fewest(rows: pl.DataFrame) -> int:
    number = rows.height * rows.select(cs.float()).width
    return next(digits for most, digits in FEWEST if number <= most)


def changes(paper: str, figure: str, found: Kept) -> list[Change]:
    """What differs by more than rounding between what has been made and the reference."""
    if figure not in reference.figures(paper):
        return [Change("table", "none", f"{found.table.height} rows")]
    return [
        *_verdicts(paper, figure, found.verdicts),
        *columns(reference.table(paper, figure), found.table),
    ]


def tell(found: Mapping[str, Mapping[str, Kept]]) -> bool:
    """Print what differs from the reference, of figures by their papers; whether something does."""
    table = Table(
        *("figure", "", "reference", "results"), box=None, pad_edge=False, header_style="bold"
    )
    differing = 0
    for paper, own in found.items():
        for name, each in own.items():
            told = changes(paper, name, each)
            differing += bool(told)
            for number, change in enumerate(told):
                table.add_row("" if number else f"{paper}/{name}", *change)
    if differing:
        put(table)
    figures = sum(map(len, found.values()))
    say(f"{figures - differing} of {figures} figures are as in the reference")
    return bool(differing)


def smoke_runs(paper: str) -> pl.DataFrame:
    """The list of runs that `reproduce --profile smoke` has left of a paper.

    Raises SandglassError where it has left none, or another profile has.
    """
    home = results() / paper
    for figure in shelf.paper(paper).figures:
        _origin(home, figure, "smoke")
    file = home / "runs.csv"
    if not file.is_file():
        raise SandglassError(f"{file} does not exist", _reproduce(paper, "smoke"))
    return pl.read_csv(file, infer_schema_length=None)


def _reproduce(target: str, profile: str) -> str:
    return f"./sandglass reproduce {target} --profile {profile}"


def _origin(home: Path, figure: str, *profiles: str) -> Provenance:
    profile = profiles[0]
    file = home / f"{figure}.json"
    if not file.is_file():
        raise SandglassError(f"{file} does not exist", _reproduce(f"{home.name}/{figure}", profile))
    found = Provenance(**json.loads(file.read_text()))
    if found.profile not in profiles:
        raise UsageError(
            f"{file} is of the profile {found.profile}, and not {profile}",
            _reproduce(f"{home.name}/{figure}", profile),
        )
    return found


def _verdicts(paper: str, figure: str, made: Sequence[Verdict]) -> Iterator[Change]:
    kept = {row["claim"]: row for row in across.rows(paper) if row["figure"] == figure}
    for each in made:
        if each.claim not in kept:
            yield Change(each.claim, "none", _told(each))
            continue
        row = kept.pop(each.claim)
        before = each.model_copy(
            update={name: row[name] for name in ("n", *across.NUMBERS, "verdict")}
        )
        if not _alike(before, each, ROUNDING, NOTHING):
            yield Change(each.claim, _told(before), _told(each))
    for name, row in kept.items():
        yield Change(name, row["verdict"], "no claim")


def _alike(one: Verdict, other: Verdict, share: float, least: float) -> bool:
    """Whether two have the same outcome, and measured the same but for a share of it."""

    def near(name: str) -> bool:
        values = getattr(one, name), getattr(other, name)
        if None in values:
            return values == (None, None)
        return math.isclose(*values, rel_tol=share, abs_tol=least)

    same = (one.verdict, one.n) == (other.verdict, other.n)
    return same and all(map(near, across.NUMBERS))


def _told(verdict: Verdict) -> str:
    if verdict.measured is None:
        return verdict.verdict
    return f"{verdict.verdict}, {verdict.result}"


def columns(kept: pl.DataFrame, made: pl.DataFrame) -> Iterator[Change]:
    """What tables have not in common, by more than rounding."""
    for name in kept.columns:
        if name not in made.columns:
            yield Change(f"column {name}", "there", "gone")
    for name in made.columns:
        if name not in kept.columns:
            yield Change(f"column {name}", "none", "there")
    if kept.height != made.height:
        yield Change("rows", str(kept.height), str(made.height))
        return
    for name in kept.columns:
        if name in made.columns and (differing := _differing(kept[name], made[name])):
            yield Change(f"column {name}", "", f"{differing} of {kept.height} rows differ")


def _differing(kept: pl.Series, made: pl.Series) -> int:
    """In how many rows columns differ by more than rounding."""
    if not (kept.dtype.is_numeric() and made.dtype.is_numeric()):
        return int(kept.cast(pl.String).ne_missing(made.cast(pl.String)).sum())
    pairs = pl.DataFrame({"kept": kept.cast(pl.Float64), "made": made.cast(pl.Float64)})
    least = pl.min_horizontal(pl.all().abs())
    apart = (pl.col("kept") - pl.col("made")).abs() > ROUNDING * least + NOTHING
    same = pl.col("kept").eq_missing(pl.col("made"))
    return int(pairs.select((~same & apart.fill_null(value=True)).sum()).item())
