"""Expressions of Polars' SQL in files of studies and papers, which may be a stranger's."""

import re

import polars as pl

QUERY = re.compile(r"\bselect\b|\bread_\w+|\(\s*(?:from|with|values|table)\b", re.IGNORECASE)
"""What begins a query, or is a function that reads files: Polars opens them as it reads the text,
also from the network. Not even in quotes, since a second reader may see others' quotes."""


def expression(text: str) -> pl.Expr:
    """The expression in a text. Raises ValueError unless it is one, and of the table alone."""
    if found := QUERY.search(text):
        raise ValueError(f"'{found[0]}' is no part of an expression: it knows one table")
    try:
        return pl.sql_expr(text)
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error).splitlines()[0]) from None
