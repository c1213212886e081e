"""What the terminal says of a study."""

import polars as pl
import pytest
from rich.console import Console

from sandglass.studies import outcome


def summary(**columns: list[object]) -> pl.DataFrame:
    row: dict[str, list[object]] = {
        "queue": ["CoDel"],
        "metric": ["delay"],
        "n": [5],
        "mean": [18.94321],
        "sd": [0.2],
        "low": [18.7],
        "high": [19.18],
    }
    return pl.DataFrame(row | columns)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "18.94 ± 0.24"),
        ({"low": [10.0], "high": [28.0]}, "18.9 ± 9.0"),
        ({"low": [0.0], "high": [400.0], "mean": [200.0]}, "200 ± 200"),
        ({"low": [None], "high": [None], "n": [1], "sd": [None]}, "18.94"),
        ({"low": [18.94321], "high": [18.94321], "sd": [0.0]}, "18.94"),
        ({"reached": [False]}, "18.94 ± 0.24 not reached"),
        ({"reached": [True]}, "18.94 ± 0.24"),
    ],
)
def test_a_number_ends_where_its_interval_does(columns: dict[str, list[object]], said: str) -> None:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(outcome.table(summary(**columns), ["queue"], {"delay": "ms"}))
    n = columns.get("n", [5])[0]
    head, row = capture.get().splitlines()
    assert head.split() == ["queue", "n", "delay", "(ms)"]
    assert row.split() == ["CoDel", str(n), *said.split()]
