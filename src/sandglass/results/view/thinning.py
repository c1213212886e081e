"""Fewer records for a page that would have too many for a browser, and that look the same.

Of each interval of time a stream keeps the records with the first, the last, the least and the
greatest value (Jugel et al., M4: A Visualization-Oriented Time Series Data Aggregation, VLDB 2014).
What mean and distribution are is computed of all records before. Events are counted.
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
    "gauge": ("value",),
    "acks": ("cwnd", "ssthresh", "srtt"),
    "qlog": ("cwnd", "ssthresh", "srtt"),
    "deliveries": ("took",),
    "echoes": ("took",),
}
"""Columns of values of the kinds that have any."""
AMOUNTS = ("samples", "goodput", "opportunities")
"""Kinds that have amounts which grow alone: of an interval the first and the last stay."""
EVENTS = ("drops", "marks", "resent")
"""Kinds of which an interval's records become one, with their number."""
HELD = ("backlog", "gauge", "acks", "qlog")
"""Kinds whose values hold until the next record, and so count by time."""
SHARES = 1000
"""A distribution is kept as so many quantiles and the least value."""


def thin(streams: Sequence[Stream], limit: int) -> tuple[list[Stream], int | None]:
    """The streams with at most about `limit` records, and the interval in ns; None: all stay."""
    if sum(stream.table.height for stream in streams) <= limit:
        return list(streams), None
    span = max((int(stream.table["time"][-1]) for stream in streams if kept(stream)), default=0)
    step = max(1, span * sum(map(kept, streams)) // limit)
    most = span // step
    return [
        thinned(stream, step) if 0 < kept(stream) * most < stream.table.height else stream
        for stream in streams
    ], step if span else None


def kept(stream: Stream) -> int:
    """How many records of an interval stay at most."""
    if stream.kind in EVENTS:
        return 1
    if stream.kind in AMOUNTS or stream.kind in MEASURES:
        return 2 + 2 * len(MEASURES.get(stream.kind, ()))
    return 0  # completions have no time


def thinned(stream: Stream, step: int) -> Stream:
    """The stream with fewer records."""
    if stream.kind in EVENTS:
        return replace(stream, table=counted(stream.table, step))
    return replace(stream, table=reduced(stream, step), whole=whole(stream) or None)


def counted(events: pl.DataFrame, step: int) -> pl.DataFrame:
    """How many events each interval has, at the time of its first."""
    number = pl.col("count").sum() if "count" in events.columns else pl.len()
    return (
        events.group_by(pl.col("time") // step, maintain_order=True)
        .agg(pl.col("time").first().alias("first"), number.cast(pl.Int64).alias("count"))
        .select(time="first", count="count")
    )


def reduced(stream: Stream, step: int) -> pl.DataFrame:
    """The records that stay, in order."""
    row = pl.col("row")
    measures = MEASURES.get(stream.kind, ())
    rows = (
        stream.table.with_row_index("row")
        .group_by(pl.col("time") // step)
        .agg(
            row.first().alias("first"),
            row.last().alias("last"),
            *(row.get(pl.col(of).arg_min()).alias(f"least {of}") for of in measures),
            *(row.get(pl.col(of).arg_max()).alias(f"most {of}") for of in measures),
        )
        .drop("time")
        .unpivot()["value"]
        .unique()
        .sort()
    )
    return stream.table[rows]


def whole(stream: Stream) -> dict[str, Mapping[str, Any]]:
    """Numbers of each column of values that has any, over all records."""
    times = stream.table["time"].to_numpy()
    held = np.diff(times, append=times[-1]) if stream.kind in HELD else None
    found = {of: numbers(stream.table[of].to_numpy(), held) for of in MEASURES.get(stream.kind, ())}
    return {of: told for of, told in found.items() if told}


def numbers(
    values: npt.NDArray[np.int64], held: npt.NDArray[np.int64] | None
) -> Mapping[str, Any] | None:
    """Count, least, mean, 95 % quantile, greatest and quantiles of values, as `series.js` has them.

    Each counts as much as it was held, or one as much as the other. None where nothing counts.
    """
    weights = np.ones_like(values) if held is None else held
    known = (values != NONE) & (weights > 0)
    if not known.any():
        return None
    order = np.argsort(values[known], kind="stable")
    values, weights = values[known][order], weights[known][order]
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
