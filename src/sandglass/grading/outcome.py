"""What came of a check, and of all checks of a submission."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sandglass.grading.sheet import AnyCheck, Sheet

DIGITS = 2
"""Of points, after the point."""
LONGEST = 4000
"""Characters of a detail that is handed on."""


@dataclass(frozen=True)
class Outcome:
    """What came of one check."""

    right: int
    """Of what it asks for, so many."""
    of: int
    said: list[str] = field(default_factory=list)
    """What a person is told, a line each."""

    @property
    def share(self) -> float:
        return self.right / self.of if self.of else 0.0


def failed(*said: str) -> Outcome:
    """The outcome of a submission that cannot be judged."""
    return Outcome(0, 1, [line for each in said for line in each.splitlines()])


@dataclass(frozen=True)
class Graded:
    """A check with its outcome and points."""

    check: AnyCheck
    outcome: Outcome

    @property
    def passed(self) -> bool:
        """Whether it has all points."""
        return self.outcome.right == self.outcome.of

    @property
    def points(self) -> float:
        share = self.outcome.share if self.check.partial else float(self.passed)
        return round(self.check.points * share, DIGITS)

    @property
    def detail(self) -> str:
        """What was seen, and the hint where it failed."""
        lines = [*self.outcome.said]
        if not self.passed and self.check.hint:
            lines.append(f"Hint: {self.check.hint}")
        text = "\n".join(lines)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@dataclass(frozen=True)
class Report:
    """The grade of a submission."""

    sheet: Sheet
    name: str
    """Of the submission."""
    graded: Sequence[Graded]

    @property
    def points(self) -> float:
        return round(sum(each.points for each in self.graded), DIGITS)
