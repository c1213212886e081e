"""What became of each sentence of a paper, judged as a whole by the claims under it.

A sentence agrees when the directions that it states are right and enough of its numbers are within
their bounds. A claim whose bound is where the sentence would turn into its opposite is a direction;
every other one is a number, and has to be on the right side as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import polars as pl

from sandglass.errors import SandglassError
from sandglass.papers import claims
from sandglass.papers.sentences import Claim
from sandglass.papers.verdicts import Verdict
from sandglass.studies.bounds import Outcome

Word = Literal[
    "agrees",
    "differs in size",
    "differs in direction",
    "contradicted",
    "not decided",
    "not judged",
]
WORDS: tuple[Word, ...] = get_args(Word)
DISAGREES: tuple[Word, ...] = ("differs in size", "differs in direction", "contradicted")
Cause = Literal[
    "", "set-up", "the source against itself", "our choice", "contradicted", "unexplained"
]
COLUMNS = ("paper", "profile", "sentence", "verdict", "cause", "agree", "of", "flips")
"""Of sentences.csv; `agree` and `of` count claims, numbers and directions together."""


@dataclass(frozen=True)
class Judged:
    """A claim, with what was measured."""

    claim: Claim
    verdict: Verdict
    flips: bool = False
    """Whether it fails, and the same measure holds in the figure that restores the cause."""

    @property
    def name(self) -> str:
        """FIGURE/CLAIM."""
        return f"{self.verdict.figure}/{self.verdict.claim}"

    @property
    def side(self) -> Outcome | None:
        """Whether the measure is on the right side; None where there is no wrong one."""
        direction, found = self.claim.direction, self.verdict
        if direction is None or found.measured is None:
            return None
        if self.claim.plotted is not None:  # whose ends are those of runs, not of their mean
            return direction.judge((found.measured, None, None))
        return direction.judge((found.measured, found.low, found.high))


class Elsewhere(NamedTuple):
    """What became of a sentence in another set-up of the paper."""

    word: Word
    within: bool
    """Whether that set-up changes nothing that the source states."""


@dataclass(frozen=True)
class Ruling:
    """A sentence with its claims."""

    quote: str
    claims: Sequence[Judged]
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """By the names of the other set-ups."""

    @cached_property
    def judged(self) -> list[Judged]:
        """The claims that the profile judges."""
        return [each for each in self.claims if each.verdict.verdict != "not judged"]

    @property
    def agree(self) -> int:
        """How many of the judged claims hold."""
        return sum(each.verdict.verdict == "holds" for each in self.judged)

    @property
    def failing(self) -> list[Judged]:
        """The claims that fail."""
        return [each for each in self.judged if each.verdict.verdict == "fails"]

    @property
    def flips(self) -> int:
        """How many of the failing claims hold with their cause restored."""
        return sum(each.flips for each in self.failing)

    @property
    def numbers(self) -> list[Judged]:
        """The claims of which the paper prints the number."""
        return [each for each in self.claims if each.claim.number is not None]

    @property
    def own(self) -> bool:
        """Whether all of it is measured in a design of ours."""
        return all(each.claim.kind == "re-design" for each in self.claims)

    @cached_property
    def verdict(self) -> Word:
        """The word for the whole sentence."""
        if not self.judged:
            return "not judged"
        sides = [each.side for each in self.judged]
        if "fails" in sides:
            return "differs in direction" if self.agrees_in else "contradicted"
        sizes = [each.verdict.verdict for each in self.judged if not each.claim.is_direction]
        holds, still_open = sizes.count("holds"), sizes.count("open")
        if "open" in sides:
            return "not decided"
        if self._enough(holds, len(sizes)):
            return "agrees"
        return "not decided" if self._enough(holds + still_open, len(sizes)) else "differs in size"

    @property
    def agrees_in(self) -> list[str]:
        """The other set-ups in which it agrees as a whole; those within what is stated first."""
        agree = [name for name, each in self.elsewhere.items() if each.word == "agrees"]
        return sorted(agree, key=lambda name: not self.elsewhere[name].within)

    def _enough(self, holds: int, of: int) -> bool:
        if any(each.claim.needs == "all" for each in self.claims):
            return holds == of
        return 2 * holds > of or of == 0

    @property
    def cause(self) -> Cause:
        """Why it does not agree, or nothing where it agrees or is not decided.

        It is the set-up where it agrees as a whole in another one that changes nothing stated; the
        source against itself where it agrees in one that goes by one of two statements of the
        source that exclude each other; our choice where all that fails was measured in a design of
        ours; contradicted where a direction is wrong in each set-up that was tried, and there are
        some. A cause that is restored for one claim at a time is counted (`flips`) and is none.
        """
        if self.verdict not in DISAGREES:
            return ""
        if self.agrees_in:
            within = self.elsewhere[self.agrees_in[0]].within
            return "set-up" if within else "the source against itself"
        if all(each.claim.kind == "re-design" for each in self._against):
            return "our choice"
        others = {each.word for each in self.elsewhere.values()} - {"not judged"}
        wrong = self.verdict == "contradicted" and others == {"contradicted"}
        return "contradicted" if wrong else "unexplained"

    @property
    def _against(self) -> list[Judged]:
        """The claims that fail, or that are on the wrong side."""
        return [e for e in self.judged if e.verdict.verdict == "fails" or e.side == "fails"]


def rulings(
    paper: str,
    verdicts: Iterable[Verdict],
    elsewhere: Mapping[str, Mapping[str, Elsewhere]] | None = None,
) -> list[Ruling]:
    """The sentences of a paper's source, in the order in which figures come to them.

    `elsewhere` is what became of them in other set-ups (`across.elsewhere`), by quotes and names.

    Checks and findings are no sentences of the source. Raises SandglassError for a verdict on a
    claim that is no more.
    """
    found = list(verdicts)
    known = {
        (figure, claim.id): claim
        for figure in dict.fromkeys(each.figure for each in found)
        for claim in claims.claims(paper, figure)
    }
    measured = {f"{each.figure}/{each.claim}": each for each in found}
    said: dict[str, list[Judged]] = defaultdict(list)
    for each in found:
        claim = known.get((each.figure, each.claim))
        if claim is None:
            raise SandglassError(f"{each.figure} of {paper} has no claim {each.claim}")
        if claim.sentence == "claim":
            flips = each.verdict == "fails" and _flipped(claim, measured.get(claim.flips))
            said[claim.quote].append(Judged(claim, each, flips))
    others = elsewhere or {}
    return [Ruling(quote, own, others.get(quote, {})) for quote, own in said.items()]


def _flipped(claim: Claim, restored: Verdict | None) -> bool:
    """Whether what was measured with the cause restored is within the claim's bounds."""
    if restored is None or restored.measured is None or claim.bounds is None:
        return False
    return claim.bounds.judge((restored.measured, restored.low, restored.high)) == "holds"


def amendments(found: Iterable[Ruling]) -> tuple[int, int, int]:
    """How many claims had another bound before, and of these how many only hold by the change, and
    how many hold no more."""
    changed = [each for ruling in found for each in ruling.judged if each.claim.amended]
    before = [each.claim.amended[0].outcome for each in changed]
    now = [each.verdict.verdict for each in changed]
    gained = sum(old != "holds" and new == "holds" for old, new in zip(before, now, strict=True))
    lost = sum(old == "holds" and new != "holds" for old, new in zip(before, now, strict=True))
    return len(changed), gained, lost


def headline(found: Sequence[Ruling]) -> list[str]:
    """What became of a paper, in lines: its sentences, those in designs of ours, amendments."""
    lines = []
    for own, what in ((False, "sentences"), (True, "sentences, in designs of ours,")):
        part = [each for each in found if each.own == own]
        judged = [each for each in part if each.verdict != "not judged"]
        if not part:
            continue
        words = counts(part)
        rest = "".join(f", {n} {_many(word, n)}" for word, n in words.items() if word != "agrees")
        lines.append(f"{words.get('agrees', 0)} of {len(judged)} {what} agree{rest}")
    changed, gained, lost = amendments(found)
    if changed:
        lines.append(f"{changed} bounds were changed: {gained} claims hold by it, {lost} no longer")
    return lines


def _many(word: Word, number: int) -> str:
    """A word after a number: 2 differ in size, 3 are not decided."""
    if word.startswith("differs"):
        return word if number == 1 else word.replace("differs", "differ")
    return f"{'is' if number == 1 else 'are'} {word}"


def counts(found: Iterable[Ruling]) -> dict[Word, int]:
    """How many sentences there are of each word; those of which there is none are left out."""
    words = [each.verdict for each in found]
    return {word: words.count(word) for word in WORDS if word in words}


def table(paper: str, found: Iterable[Ruling], profile: str) -> pl.DataFrame:
    """The sentences of a paper, which is called by its folder: a row each, the columns COLUMNS."""
    rows = [
        {
            "paper": paper,
            "profile": profile,
            "sentence": each.quote,
            "verdict": each.verdict,
            "cause": each.cause,
            "agree": each.agree,
            "of": len(each.judged),
            "flips": each.flips,
        }
        for each in found
    ]
    types = dict.fromkeys(("agree", "of", "flips"), pl.Int64)
    return pl.DataFrame(rows, schema={name: types.get(name, pl.String) for name in COLUMNS})
