"""Bounds on what is measured, and what becomes of a claim by them: it holds, fails, or is open."""

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, model_validator

Kind = Literal["stated", "derived", "re-design"]
"""Where the bound of a claim on a source comes from."""
Outcome = Literal["holds", "open", "fails"]


class Bounds(BaseModel):
    """The range of a metric; at least one end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_least: FiniteFloat | None = None
    above: FiniteFloat | None = None
    at_most: FiniteFloat | None = None
    below: FiniteFloat | None = None

    @model_validator(mode="after")
    def _some_end(self) -> "Bounds":
        if not self.model_dump(exclude_none=True):
            raise ValueError("needs one of at_least, above, at_most, below")
        low, high = self.range
        if low > high or (low == high and not self.hold(low)):
            raise ValueError(f"nothing is {self}")
        return self

    @property
    def range(self) -> tuple[float, float]:
        """The ends, whether or not they are within; infinite where there is none."""
        lower = [end for end in (self.at_least, self.above) if end is not None]
        upper = [end for end in (self.at_most, self.below) if end is not None]
        return max(lower, default=-math.inf), min(upper, default=math.inf)

    def hold(self, value: float) -> bool:
        return not (self._too_low(value) or self._too_high(value))

    def _too_low(self, value: float) -> bool:
        return (self.at_least is not None and value < self.at_least) or (
            self.above is not None and value <= self.above
        )

    def _too_high(self, value: float) -> bool:
        return (self.at_most is not None and value > self.at_most) or (
            self.below is not None and value >= self.below
        )

    def outcome(self, low: float, high: float) -> Outcome:
        """Of an interval: wholly within the bounds, wholly outside, or neither."""
        if self._too_low(high) or self._too_high(low):
            return "fails"
        return "holds" if self.hold(low) and self.hold(high) else "open"

    def judge(self, measured: tuple[float, float | None, float | None]) -> Outcome:
        """Of a mean with the ends of its interval, or by itself where it has none."""
        low, high = (measured[0] if end is None else end for end in measured[1:])
        return self.outcome(low, high)

    def slack(self, low: float, high: float) -> float:
        """How far an interval is from the nearer end of the bounds; below 0 what lies outside."""
        least, most = self.range
        return min(low - least, most - high)

    def __str__(self) -> str:
        ends = self.model_dump(exclude_none=True)
        return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in ends.items())
