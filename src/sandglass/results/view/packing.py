"""Columns of whole numbers made small for a page; `unpack.js` reads them.

A column is divided by what divides all of it, and each number is written as its difference from
the one before: packets that leave a link one after the other do so at equal distances, and
deflate (RFC 1951) finds that. Differences of either sign become natural numbers, 0, -1, 1, -2 and
so on as 0, 1, 2, 3, of as many bytes as the largest needs, least significant first.
"""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

LARGEST = 2**53
"""JavaScript's numbers are exact below: in nanoseconds 104 days."""
LEVEL = 6


def column(numbers: npt.NDArray[np.int64]) -> tuple[dict[str, int], bytes]:
    """How a column is written, `bytes` each in units of `unit`, and it; none may be `LARGEST`."""
    steps = np.diff(numbers, prepend=np.int64(0))
    unit = int(np.gcd.reduce(steps)) or 1
    steps //= unit
    natural = ((steps << 1) ^ (steps >> 63)).view(np.uint64)
    width = max(1, (int(natural.max()).bit_length() + 7) // 8)
    written = natural.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
    return {"bytes": width, "unit": unit}, written.tobytes()


def pack(table: pl.DataFrame) -> tuple[Mapping[str, Any], str]:
    """A table of Int64 columns without nulls as `rows` and `columns`, and its text in base64."""
    layout, parts = {}, []
    for numbers in table:
        layout[numbers.name], written = column(numbers.to_numpy())
        parts.append(written)
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(b"".join(parts)) + deflate.flush()
    return {"rows": table.height, "columns": layout}, base64.b64encode(packed).decode()
