"""What the kept reports of suites say of each contender."""

import polars as pl

from sandglass.suites import reference, suite

KEY = ("scenario", "label", "point", "metric", "n", "kernel")


def values(kind: str) -> pl.DataFrame:
    """A row for each mean of a contender: KEY, `means`, all that reports have, and `reports`, how
    many these are. Without those scenarios in which an algorithm meets itself with other
    options."""
    tuned = [
        each.name for each in suite.read(suite.SUITES / kind).described.scenarios if each.tuned
    ]
    return (
        with_kernels(reference.read(kind, "means"), reference.read(kind, "origins"))
        .filter(~pl.col("scenario").is_in(tuned))
        .group_by(KEY)
        .agg(means=pl.col("mean").unique(), reports=pl.len())
    )


def with_kernels(means: pl.DataFrame, origins: pl.DataFrame) -> pl.DataFrame:
    """Means with the series of the kernel that each scenario ran on, such as 7.2: DualPI2 takes its
    rivals there."""
    series = pl.col("kernel_release").str.extract(r"^(\d+\.\d+)\.")
    place = ["report", "scenario"]
    return means.join(origins.select(*place, kernel=series), on=place)
