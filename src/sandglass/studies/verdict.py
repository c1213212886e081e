"""A verdict on a claim: what was measured, between which ends, and what became of it.

Studies, papers and assignments have the same columns of it, one table, and one way to say it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import polars as pl
from pydantic import BaseModel
from typing_extensions import Self


class Verdict(BaseModel):
    """A row of a table of verdicts; whatever judges adds columns of its own."""

    claim: str
    kind: str
    """Where the bound comes from."""
    quote: str
    """The words of a source."""
    where: str
    """Which source, and where in it."""
    expected: str
    n: int | None = None
    """Replicas; one alone has no interval, and its value decides."""
    measured: float | None = None
    """The mean over the replicas; None where nothing was judged."""
    low: float | None = None
    high: float | None = None
    """The ends of the mean's 95 % interval."""
    verdict: str
    explanation: str = ""
    """Why it fails, where it does."""

    @classmethod
    def columns(cls) -> pl.Schema:
        """The columns of a table of verdicts: the fields, in their order."""
        return pl.Schema(
            {name: _type(field.annotation) for name, field in cls.model_fields.items()}
        )

    @classmethod
    def frame(cls, verdicts: Sequence[Self]) -> pl.DataFrame:
        """Verdicts as a table."""
        return pl.DataFrame([each.model_dump() for each in verdicts], schema=cls.columns())

    @classmethod
    def read(cls, path: Path) -> list[Self]:
        """The rows of such a table, from a CSV file."""
        table = pl.read_csv(path, schema=cls.columns())
        return [
            cls.model_validate(row)
            for row in table.with_columns(pl.col(pl.String).fill_null("")).to_dicts()
        ]

    @property
    def ends(self) -> str:
        """What is between low and high, where that is not the mean with 95 %."""
        return ""

    @property
    def result(self) -> str:
        """What was measured, with its interval: 5.2 (4.9 to 5.5, n = 3)."""
        value = f"{self.measured:z.4g}"
        if self.low is None:
            return value
        return f"{value} ({self.low:z.4g} to {self.high:z.4g}, {self.ends}n = {self.n})"


TYPES = {int: pl.Int64(), float: pl.Float64()}


def _type(annotation: object) -> pl.DataType:
    kinds = get_args(annotation) or (annotation,)
    return next((kind for python, kind in TYPES.items() if python in kinds), pl.String())
