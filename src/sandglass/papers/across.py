"""A paper's sentences across its set-ups: as printed, and in each variant that has a reference.

PAPER/reference/ holds what the paper as printed gave, and PAPER/reference/VARIANT/ what a variant
did, of the figures that it changes; all others are as printed. So a sentence is judged in a variant
by both; it is not judged there where a figure that it needs is changed and was not made, and where
none is changed the variant does not concern it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from sandglass.errors import SandglassError
from sandglass.papers import claims, grid, rulings, shelf, variants
from sandglass.papers.rulings import Elsewhere, Ruling
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact

VERDICTS = "verdicts.csv"
"""Of a reference: what came of each claim."""
NUMBERS = ("measured", "low", "high", "quantile")
COLUMNS = ("figure", "claim", "n", *NUMBERS, "verdict")
"""Of VERDICTS."""
PRINTED = "as printed"
"""What a paper is called beside its variants."""
RECORD = "paper"
"""The profile that proves something."""

Row = dict[str, Any]
"""Of VERDICTS."""


def rows(paper: str) -> list[Row]:
    """The rows of VERDICTS. Raises SandglassError where a paper has no reference."""
    file = shelf.reference(paper) / VERDICTS
    if not file.is_file():
        raise SandglassError(f"{paper} has no reference: {file} does not exist")
    return pl.read_csv(file, schema=Verdict.frame([]).select(COLUMNS).schema).to_dicts()


def said(paper: str, found: Sequence[Row]) -> list[Verdict]:
    """Rows of VERDICTS with what their claims say. Raises SandglassError where one is no more."""
    about = shelf.paper(paper)
    known = {
        (name, claim.id): claim
        for name in about.figures.keys() & {row["figure"] for row in found}
        for claim in claims.claims(paper, name)
    }
    for row in found:
        if (row["figure"], row["claim"]) not in known:
            raise SandglassError(
                f"{shelf.reference(paper) / VERDICTS}: there is no claim {row['claim']} about "
                f"{row['figure']}",
                f"judge its tables again: ./sandglass reference {paper} --judge",
            )
    return [
        Verdict.on(
            known[row["figure"], row["claim"]],
            about.head.paper,
            row["figure"],
            {name: row[name] for name in ("n", *NUMBERS, "verdict")},
        )
        for row in found
    ]


class SetUp(NamedTuple):
    """A paper as printed, or one of its variants: what came of its claims."""

    profile: str
    """How much of it was run."""
    verdicts: list[Verdict]


def profile(paper: str) -> str:
    """How much of a paper, or of its variant, its reference is of."""
    about = shelf.paper(paper)
    if not about.variant:
        return RECORD
    file = next(path for name in about.figures if (path := shelf.kept(paper, name)).is_file())
    return str(json.loads(compact.about(file))["profile"])


def set_ups(paper: str, fresh: Mapping[str, SetUp] | None = None) -> dict[str, SetUp]:
    """A paper and its variants that have a reference, by names: abe, abe@ns2.

    `fresh` are in the place of those that are kept. Nothing where the paper has none.
    """
    home = shelf.folder(paper)
    names = [shelf.called(home, each) for each in ("", *variants.names(home))]
    found = dict(fresh or {})
    for name in names:
        if name not in found and (shelf.reference(name) / VERDICTS).is_file():
            found[name] = SetUp(profile(name), said(name, rows(name)))
    plain = found.get(names[0])
    if plain is None:
        return {}
    return {
        name: SetUp(found[name].profile, _whole(name, plain.verdicts, found[name].verdicts))
        for name in names
        if name in found
    }


def judged(found: Mapping[str, SetUp]) -> dict[str, list[Ruling]]:
    """What became of each sentence in each of a paper's set-ups."""
    return {
        name: rulings.rulings(name, own.verdicts, elsewhere(name, found))
        for name, own in found.items()
    }


def elsewhere(paper: str, found: Mapping[str, SetUp]) -> dict[str, dict[str, Elsewhere]]:
    """What became of each sentence in those set-ups that are not `paper`, by quotes and names.

    Only what the paper profile gave proves something.
    """
    words: dict[str, dict[str, Elsewhere]] = {}
    for name, own in found.items():
        if name == paper or own.profile != RECORD:
            continue
        about = shelf.paper(name)
        for each in rulings.rulings(name, own.verdicts):
            word = Elsewhere(each.verdict, not about.otherwise or about.otherwise.within)
            words.setdefault(each.quote, {})[about.variant or PRINTED] = word
    return words


def table(found: Mapping[str, SetUp]) -> pl.DataFrame:
    """The sentences of a paper and of its variants: a row each, the columns of sentences.csv."""
    return pl.concat(
        [rulings.table(name, own, found[name].profile) for name, own in judged(found).items()]
    )


def _whole(name: str, plain: Sequence[Verdict], own: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts in a set-up on all claims of the sentences that it concerns: its own, and those
    on figures that it leaves."""
    if not shelf.paper(name).variant:
        return list(own)
    mine = {(each.figure, each.claim): each for each in own}
    changed = set(grid.made(name))
    lacking = changed - {each.figure for each in own}
    concerned, without = (
        {each.quote for each in plain if each.figure in figures} for figures in (changed, lacking)
    )
    found = [mine.get((e.figure, e.claim), e) for e in plain if e.quote in concerned]
    return [_unjudged(each) if each.quote in without else each for each in found]


def _unjudged(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update=dict.fromkeys(("n", *NUMBERS)) | {"verdict": "not judged"})
