"""Expressions in a study's file are of its table, and read nothing else."""

from pathlib import Path

import polars as pl
import pytest

from sandglass.studies import sql

TABLE = pl.DataFrame({"n": [1, 2, 3], "queue": ["CoDel with ECN", "selected", "values"]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("AVG(n)", 2),
        ("SUM(CASE WHEN queue = 'CoDel with ECN' THEN n END)", 1),
        ("COUNT(*) FILTER (WHERE queue IN ('selected', 'values'))", 2),
        ("MAX(n) - MIN(n) / 2.0", 2.5),
    ],
)
def test_an_expression_of_the_table(text: str, found: float) -> None:
    assert TABLE.select(sql.expression(text)).item() == found


@pytest.mark.parametrize(
    "text",
    [
        "n IN (SELECT a FROM read_csv('{file}'))",
        "n IN (sElEcT a FROM '{file}')",
        "n IN (\n from read_csv('{file}'))",
        "n IN (TABLE \"read_csv\"('{file}'))",
        "n IN (WITH q AS (VALUES (1)) TABLE q)",
        "EXISTS (SELECT 1)",
        "(SELECT 1)",
        "read_parquet('{file}')",
        "'it\\' || (SELECT a FROM read_csv(' || '{file}'))",
    ],
)
def test_no_file_is_opened(text: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"is no part of an expression: it knows one table"):
        sql.expression(text.format(file=file))


def test_what_is_no_sql() -> None:
    with pytest.raises(ValueError, match="unable to parse"):
        sql.expression("AVG(")
