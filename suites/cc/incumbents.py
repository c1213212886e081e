"""What an incumbent has beside a new flow, against what it has beside one of its own kind."""

from collections.abc import Sequence

import polars as pl


def with_reference(
    runs: pl.DataFrame, incumbent: str, on: Sequence[str], metrics: Sequence[str]
) -> pl.DataFrame:
    """The rows, each with the `…_ref` of the same point and replica where the new one is the old.

    An incumbent that does not stand on the axis `cc` has no reference, and no rows here.
    """
    own = runs.filter(pl.col("cc").str.to_lowercase() == pl.col(incumbent))
    # Of two that are the same one, the baseline and NAME, either will do: their runs are one.
    place = [incumbent, *on, "replica"]
    reference = own.unique(place, maintain_order=True).select(
        *place, *(pl.col(metric).alias(f"{metric}_ref") for metric in metrics)
    )
    return runs.join(reference, on=place, how="inner", maintain_order="left")
