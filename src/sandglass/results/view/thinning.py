"""Fewer records for a page that would have too many for a browser, and that look the same.

Of each interval of time a stream keeps the records with the first, the last, the least and the
greatest value (Jugel et al., M4: A Visualization-Oriented Time Series Data Aggregation, VLDB 2014).
What mean and distribution are is computed of all records before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.results.view.streams import NONE, Stream

LIMIT = 8_000_000
"""Records of a page. A browser takes some 20 bytes of memory for each that is looked at."""
MEASURES = {
    "packets": ("sojourn",),
    "backlog": ("backlog",),
    "acks": ("cwnd", "ssthresh", "srtt"),
    "deliveries": ("took",),
    "echoes": ("took",),
}
"""Columns of values of the kinds that can be thinned out; of the others all records stay."""
HELD = ("backlog", "acks")
"""Kinds whose values hold until the next record, and so count by time."""
SHARES = 1000
"""A distribution is kept as so many quantiles and the least value."""


def thin(streams: Sequence[Stream], limit: int) -> tuple[list[Stream], int | None]:
    """The streams with at most about `limit` records, and the interval in ns; None: all stay."""
    if sum(stream.table.height for stream in streams) <= limit:
        return list(streams), None
    span = max(int(stream.table["time"][-1]) for stream in streams if stream.kind in MEASURES)
    step = max(1, span * sum(map(kept, streams)) // limit)
    most = span // step
    return [
        replace(stream, table=reduced(stream, step), whole=whole(stream))
        if stream.kind in MEASURES and stream.table.height > kept(stream) * most
        else stream
        for stream in streams
    ], step


def kept(stream: Stream) -> int:
    """How many records of an interval stay at most."""
    return 2 + 2 * len(MEASURES[stream.kind]) if stream.kind in MEASURES else 0


def reduced(stream: Stream, step: int) -> pl.DataFrame:
    """The records that stay, in order."""
    row = pl.col("row")
    rows = (
        stream.table.with_row_index("row")
        .group_by(pl.col("time") // step)
        .agg(
            row.first().alias("first"),
            row.last().alias("last"),
            *(row.get(pl.col(of).arg_min()).alias(f"least {of}") for of in MEASURES[stream.kind]),
            *(row.get(pl.col(of).arg_max()).alias(f"most {of}") for of in MEASURES[stream.kind]),
        )
        .drop("time")
        .unpivot()["value"]
        .unique()
        .sort()
    )
    return stream.table[rows]


def whole(stream: Stream) -> dict[str, Mapping[str, Any]]:
    """Numbers of each column of values over all records."""
    times = stream.table["time"].to_numpy()
    held = np.diff(times, append=times[-1]) if stream.kind in HELD else None
    return {
        of: numbers(stream.table[of].to_numpy(), held)
        for of in MEASURES[stream.kind]
        if stream.table[of].max() != NONE
    }


def numbers(values: npt.NDArray[np.int64], held: npt.NDArray[np.int64] | None) -> Mapping[str, Any]:
    """Count, least, mean, 95 % quantile, greatest and quantiles of values, as `series.js` has them.

    Each counts as much as it was held, or one as much as the other.
    """
    weights = np.ones_like(values) if held is None else held
    counted = (values != NONE) & (weights > 0)
    order = np.argsort(values[counted], kind="stable")
    values, weights = values[counted][order], weights[counted][order]
    reached = np.cumsum(weights)
    shares = np.arange(SHARES + 1) / SHARES
    found = values[np.searchsorted(reached, shares * reached[-1]).clip(0, len(values) - 1)]
    return {
        "n": len(values),
        "least": int(values[0]),
        "mean": float(np.average(values, weights=weights)),
        "p95": float(np.percentile(values, 95) if held is None else found[round(0.95 * SHARES)]),
        "greatest": int(values[-1]),
        "quantiles": found.tolist(),
    }
