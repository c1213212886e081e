"""Fig. 5's steps where each segment is full, as the paper's condition has it."""

from collections.abc import Sequence

import polars as pl

from pipelines.dctcp_internet import why_steps
from sandglass.results import series

FULL = 1500
"""Bytes of a full packet."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """As `why_steps.table`; with each run how many packets with data were smaller, `small`."""
    small = (pl.col("payload_bytes") > 0) & (pl.col("size_bytes") < FULL)
    rows = [
        (
            int(run.field("experiment.seed")),
            why_steps.table([run])["relative"][0],
            int(series.forward(run).filter(small).select(pl.len()).collect().item()),
        )
        for run in runs
    ]
    counts = pl.DataFrame(rows, schema=["seed", "relative", "small"], orient="row")
    return why_steps.table(runs).join(counts, on=["seed", "relative"], maintain_order="left")


plot = why_steps.plot


METRICS = (*why_steps.METRICS,)
