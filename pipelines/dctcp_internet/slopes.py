"""What Figs. 7 to 9 share: the grid of marking slopes, and its ridge of equal shares."""

from collections.abc import Sequence

import polars as pl

from pipelines.dctcp_internet import sharing
from sandglass.results import series


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per Min_Thresh_DCTCP (`minimum`, in Min_Thresh_Reno) and Max_Prob_DCTCP
    (`probability`); means over the seeds."""
    rows = [
        {
            "minimum": round(
                sharing.setting(run, "mark_min") / sharing.setting(run, "drop_min"), 4
            ),
            "probability": sharing.probability(run, "mark"),
            "relative": round(
                sharing.probability(run, "mark") / sharing.probability(run, "drop"), 4
            ),
        }
        | sharing.steady(run)
        for run in runs
    ]
    return sharing.means(rows)


def rule(relative: float) -> float:
    """Equation (3): the minimum threshold of DCTCP, in that of Reno, for a ratio of maximum
    probabilities above 1."""
    return (relative - 1) / relative


def ridge(table: pl.DataFrame) -> pl.DataFrame:
    """One row per ratio of maximum probabilities above 1: the `measured` minimum threshold of
    DCTCP with equal shares, in that of Reno (null: there is none), and the `rule`'s."""
    rows = []
    for (relative,), chosen in table.filter(pl.col("relative") > 1).group_by("relative"):
        place = sharing.equal_sharing(chosen, "minimum")
        rows.append((relative, place["minimum"] if place else None, rule(float(relative))))
    schema = {"relative": pl.Float64, "measured": pl.Float64, "rule": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("relative")
