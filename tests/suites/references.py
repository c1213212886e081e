"""What the committed reports of suites say of each contender."""

import json
from pathlib import Path

import polars as pl

from sandglass.install.builds import ROOT
from sandglass.suites import suite
from sandglass.suites.report import JSON, MEANS_CSV

REFERENCE = ROOT / "results" / "reference" / "suites"
KEY = ("scenario", "label", "point", "metric", "n", "kernel")


def values(kind: str) -> pl.DataFrame:
    """A row for each mean of a contender: KEY, `means`, all that reports have, and `reports`, how
    many these are. The kernel is part of it: DualPI2 takes its rivals to Linux 7.2. Without those
    scenarios in which an algorithm meets itself with other options."""
    tuned = [
        each.name for each in suite.read(suite.SUITES / kind).described.scenarios if each.tuned
    ]
    return (
        pl.concat(means(path) for path in sorted((REFERENCE / kind).iterdir()))
        .filter(~pl.col("scenario").is_in(tuned))
        .group_by(KEY)
        .agg(means=pl.col("mean").unique(), reports=pl.len())
    )


def means(home: Path) -> pl.DataFrame:
    """means.csv of a report, with the series of the kernel that each scenario ran on."""
    told = json.loads((home / JSON).read_text())["scenarios"]
    kernels = {each["name"]: series(each["origin"]["kernel_release"]) for each in told}
    return pl.read_csv(home / MEANS_CSV, infer_schema_length=None).with_columns(
        point=pl.col("point").fill_null(""),
        kernel=pl.col("scenario").replace_strict(kernels),
    )


def series(release: str) -> str:
    """7.2 of 7.2.12-sandglass."""
    return ".".join(release.split(".")[:2])
