"""What pictures of a study say of their numbers."""

from collections.abc import Mapping, Sequence

import polars as pl

from sandglass.studies import recorded
from sandglass.studies.layout import Results


def uncounted(runs: Sequence[recorded.Values]) -> str:
    """What a caption says of values that there are not."""
    unfinished, missing = (sum(each) for each in zip(*(run[2:] for run in runs), strict=True))
    known = sum(run.known.size for run in runs)
    said = ""
    if unfinished:
        of = f"{unfinished} of {known + unfinished} flows"
        said += f" {of} did not end: they count, and a curve ends below 1."
    if missing:
        said += f" {missing} of {known + missing} rows have no value, and are left out."
    return said


def mean_of(counts: pl.Series, mean: str = "Mean", noun: str = "runs") -> str:
    """Of points and their dots."""
    if counts.max() == 1:
        return "One run a point: there is no interval."
    return f"{mean} and 95 % interval of {counted(counts, noun)}, each a dot."


def counted(counts: pl.Series, noun: str = "runs") -> str:
    """So many replicas a point."""
    least, most = (int(end) for end in (counts.min(), counts.max()))  # type: ignore[arg-type]
    if most == 1:
        return "one run"
    return f"{least} {noun}" if least == most else f"{least} to {most} {noun}"


def band(results: Results) -> str:
    """What the ends of a band are."""
    few = int(results.summary["n"].min()) < recorded.FEW  # type: ignore[arg-type]
    return "band: from the least to the largest" if few else "band: from 5 to 95 % of them"


def mean_and_half(row: Mapping[str, float | None]) -> str:
    """Of a field of a map."""
    mean, half = row["mean"], row["half"]
    return _short(mean, 3) if half is None else f"{_short(mean, 3)}\n±{_short(half, 2)}"


def _short(value: float | None, digits: int) -> str:
    """To so many digits, and always to the whole number."""
    assert value is not None
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
