"""Tables for the record: of few digits, in a Parquet file that is small and always the same."""

import io
from pathlib import Path

import polars as pl
import polars.selectors as cs

from sandglass.results import series

DIGITS = 5
"""Significant digits of floats, where no more are needed."""
SINGLE = 6
"""Digits of any decimal number that comes back from a Float32."""
LEVEL = 22
"""Of zstd: the most. It takes a second for the largest table, and reading is as fast."""
ABOUT = "sandglass"


def packed(rows: pl.DataFrame, about: str = "") -> bytes:
    """The file of a table, with a text about it in its metadata.

    A column is Float32 where that gives back every value of it, as it does of up to SINGLE digits:
    zstd makes a fifth less of it, and its numbers are no others. Statistics are left out, which
    nothing here would read.
    """
    file = io.BytesIO()
    rows.with_columns(map(_narrow, rows.iter_columns())).write_parquet(
        file,
        compression="zstd",
        compression_level=LEVEL,
        statistics=False,
        metadata={ABOUT: about},
    )
    return file.getvalue()


def read(path: Path) -> pl.DataFrame:
    """The table of a file."""
    return _wide(pl.read_parquet(path))


def about(path: Path) -> str:
    """What a file's metadata say of its table."""
    return pl.read_parquet_metadata(path)[ABOUT]


def _narrow(column: pl.Series) -> pl.Series:
    if column.dtype != pl.Float64:
        return column
    narrow = column.cast(pl.Float32)
    return narrow if _wide(narrow.to_frame()).to_series().equals(column) else column


def _wide(rows: pl.DataFrame) -> pl.DataFrame:
    single = cs.by_dtype(pl.Float32)
    found = rows.select(single.cast(pl.Float64))
    return rows.with_columns(series.rounded(found, SINGLE))
