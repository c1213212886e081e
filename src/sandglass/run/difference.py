"""Where two runs of the same experiment first differ."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

CLOCKS = ("enqueue_ns", "time_ns", "sent_ns", "due_ns", "start_ns", "start_s")


@dataclass(frozen=True)
class Difference:
    """The first row in which a table of two runs differs."""

    table: str
    row: int
    """Counted from 0."""
    time_s: float
    """Virtual time of that row, in seconds; infinite where a table has no clock."""
    what: str

    def __str__(self) -> str:
        at = "" if self.time_s == float("inf") else f" at {self.time_s:.9f} s"
        return f"{self.table}, row {self.row}{at}: {self.what}"


def first_difference(one: Path, other: Path) -> Difference | None:
    """The difference that is earliest in virtual time over all tables (*.parquet) of two runs.

    None when every table is equal in columns, rows and values.
    """
    names = sorted({path.name for run in (one, other) for path in run.glob("*.parquet")})
    found = [compare(name, one, other) for name in names]
    return min((d for d in found if d), key=lambda d: d.time_s, default=None)


def compare(name: str, one: Path, other: Path) -> Difference | None:
    """The first row that differs in one table of two runs."""
    for run in (one, other):
        if not (run / name).exists():
            return Difference(name, 0, float("inf"), f"{run} has no such table")
    a, b = pl.read_parquet(one / name), pl.read_parquet(other / name)
    if a.schema != b.schema:
        return Difference(name, 0, float("inf"), f"columns {a.schema} against {b.schema}")
    common = min(a.height, b.height)
    unequal = pl.DataFrame(
        [a[column].head(common).ne_missing(b[column].head(common)) for column in a.columns]
    )
    rows = unequal.select(pl.any_horizontal(pl.all())).to_series().arg_true()
    if rows.is_empty() and a.height == b.height:
        return None
    row = common if rows.is_empty() else int(rows[0])
    if row == common:
        what = f"{a.height} rows against {b.height}"
        return Difference(name, row, clock(a if a.height > common else b, row), what)
    mine, theirs = a.row(row, named=True), b.row(row, named=True)
    what = ", ".join(
        f"{column} {value!r} against {theirs[column]!r}"
        for column, value in mine.items()
        if unequal[column][row]
    )
    return Difference(name, row, clock(a, row), what)


def clock(table: pl.DataFrame, row: int) -> float:
    """Virtual time of a row, in seconds."""
    column = next((name for name in CLOCKS if name in table.columns), None)
    if column is None:
        return float("inf")
    value = float(table[column][row])
    return value / 1e9 if column.endswith("_ns") else value
