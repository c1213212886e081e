"""A run's tables as CSV, for programs that do not read Parquet."""

import tempfile
from pathlib import Path

import polars as pl
import polars.selectors as cs

from sandglass.errors import UsageError
from sandglass.results.series import Run


def write(run: Run, directory: Path) -> list[str]:
    """Write each table to a file of its name in a new directory; returns the files' names.

    The columns are those of docs/data-format.md; what is null there is empty, and
    bytes are written as hexadecimal digits.
    Raises UsageError when the directory is there already and holds something.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is there already", "Name a directory that is not there yet.")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".csv-") as scratch:
        partial = Path(scratch) / "tables"
        partial.mkdir()
        tables = sorted(run.directory.glob("*.parquet"))
        for table in tables:
            rows = pl.scan_parquet(table, glob=False).with_columns(cs.binary().bin.encode("hex"))
            rows.sink_csv(partial / f"{table.stem}.csv")
        partial.replace(directory)
    return [f"{table.stem}.csv" for table in tables]
