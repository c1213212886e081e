"""Tables as CSV: what every run may hold can be written."""

from pathlib import Path

import polars as pl

from sandglass.results.export import tables
from tests.export import made
from tests.export.made import packet


def test_headers_are_written_as_hexadecimal_digits(tmp_path: Path) -> None:
    run = made.run(tmp_path / "run", [packet(), packet()], headers=[b"\x45\x00\xff", b""])
    assert tables.write(run, tmp_path / "csv") == ["headers.csv", "packets.csv"]
    told = pl.read_csv(tmp_path / "csv" / "headers.csv", schema={"header": pl.String})
    assert told["header"].fill_null("").to_list() == ["4500ff", ""]
