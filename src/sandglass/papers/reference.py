"""The reference of a paper: what its paper profile gave when it was last made for the record.

PAPER/reference/ has a file for each figure, FIGURE.parquet: its table, of all replicas, so
that whoever has a clone can judge again, and in the file's metadata its origin. verdicts.csv has
what came of each claim; what a claim says is in the paper's folder, and is put beside that when it
is read. sentences.csv has what became of each sentence. smoke-runs.csv lists the runs of the smoke
profile.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sandglass.errors import SandglassError
from sandglass.papers import claims, published, rulings, shelf, steps
from sandglass.papers.provenance import Provenance
from sandglass.papers.published import Pair
from sandglass.papers.rulings import Ruling
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact, series, style
from sandglass.results.export.whole import write_all

PROFILE = "paper"
VERDICTS = "verdicts.csv"
SENTENCES = "sentences.csv"
NUMBERS = ("measured", "low", "high", "quantile")
COLUMNS = ("figure", "claim", "n", *NUMBERS, "verdict")
"""Of VERDICTS."""
DIGITS = 6
"""Of floats in the CSV files."""
SMOKE_RUNS = "smoke-runs.csv"
SMOKE_COLUMNS = (
    *("experiment", "settings", "kernel_build", "modules", "digest"),
    *("goodput_mbit", "utilisation", "delay_median_ms", "drops", "marks"),
)
"""What tells a run, its lab and its bytes, and numbers for where the lab is another one."""

Row = dict[str, Any]
"""Of VERDICTS."""


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
            f"./sandglass reproduce {paper}/{figure} --profile {PROFILE}, and then "
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


def rows(paper: str) -> list[Row]:
    """The rows of VERDICTS. Raises SandglassError where a paper has no reference."""
    file = shelf.reference(paper) / VERDICTS
    if not file.is_file():
        raise SandglassError(f"{paper} has no reference: {file} does not exist")
    return pl.read_csv(file, schema=Verdict.frame([]).select(COLUMNS).schema).to_dicts()


def verdicts(paper: str) -> list[Verdict]:
    """The verdicts that are kept on a paper's claims, with what these say.

    Raises SandglassError where there are none, or one is on a claim that is no more.
    """
    return _said(paper, rows(paper))


def _said(paper: str, found: Sequence[Row]) -> list[Verdict]:
    """Rows of VERDICTS with what their claims say."""
    about = shelf.paper(paper)
    said = {
        (name, claim.id): claim
        for name in about.figures.keys() & {row["figure"] for row in found}
        for claim in claims.claims(paper, name)
    }
    for row in found:
        if (row["figure"], row["claim"]) not in said:
            raise SandglassError(
                f"{shelf.reference(paper) / VERDICTS}: there is no claim {row['claim']} about "
                f"{row['figure']}",
                f"judge its tables again: ./sandglass reference {paper} --judge",
            )
    return [
        Verdict.on(
            said[row["figure"], row["claim"]],
            about.head.paper,
            row["figure"],
            {name: row[name] for name in ("n", *NUMBERS, "verdict")},
        )
        for row in found
    ]


def judged(paper: str, figure: str) -> list[Verdict]:
    """The verdicts on a figure's table by the claims as they are now, as they would be kept."""
    found = steps.judge(paper, figure, table(paper, figure), origin(paper, figure).profile)
    return [_short(each) for each in found]


def judge(named: Mapping[str, Iterable[str]]) -> None:
    """Judge figures' tables, by papers, by the claims as they are now, and keep the verdicts."""
    files: dict[Path, bytes] = {}
    for paper, names in named.items():
        found = {name: judged(paper, name) for name in names}
        files |= _judged(paper, found)
    write_all(files)


def renew(found: Mapping[str, Mapping[str, Kept]]) -> None:
    """Put figures in the place of what is kept of them, by papers; all of them or none."""
    files: dict[Path, bytes] = {}
    for paper, own in found.items():
        for name, each in own.items():
            about = json.dumps(each.origin.document())
            files[shelf.kept(paper, name)] = compact.packed(each.table, about)
        judged = {name: each.verdicts for name, each in own.items()}
        files |= _judged(paper, judged)
    write_all(files)


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


def _judged(paper: str, found: Mapping[str, list[Verdict]]) -> dict[Path, bytes]:
    """VERDICTS with these of some figures, and SENTENCES by them.

    The verdicts of other figures stay, unless the figure is no more.
    """
    kept = rows(paper) if (shelf.reference(paper) / VERDICTS).is_file() else []
    listed: list[Row] = []
    for figure in shelf.paper(paper).figures:
        if figure in found:
            listed += [_short(each).model_dump(include={*COLUMNS}) for each in found[figure]]
        else:
            listed += [row for row in kept if row["figure"] == figure]
    said = rulings.rulings(paper, _said(paper, listed))
    tables = {
        VERDICTS: pl.DataFrame(listed, schema=Verdict.frame([]).select(COLUMNS).schema),
        SENTENCES: rulings.table(paper, said, PROFILE),
    }
    home = shelf.reference(paper)
    return {home / name: table.write_csv().encode() for name, table in tables.items()}
