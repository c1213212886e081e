"""Section IV-C: the beta_ecn that Figs. 12 and 13 do not show, between those that they do."""

import math
from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from pipelines.abe import convergence, drawing, why_noise
from sandglass.papers import ensemble
from sandglass.papers.verdicts import Extreme, farthest

table = why_noise.table
STEP = 5
"""Between a beta_ecn and its neighbours, percent."""


def plot(table: pl.DataFrame) -> ggplot:
    """The median ratio against beta_ecn, a line per AQM and a panel per congestion control."""
    return drawing.panels(
        medians(table),
        {"median": "Convergence time (default: 1)"},
        ("beta_ecn", "beta_ecn"),
        ("queue", "AQM"),
        ["control"],
    )


def medians(table: pl.DataFrame) -> pl.DataFrame:
    """The `median` over paths of the ratio of convergence times, per replica, control, queue and
    beta_ecn; a path that never converges counts as infinite."""
    case = [ensemble.REPLICA, "control", "queue", "beta_ecn"]
    ratios = ensemble.numbered(table).with_columns(ratio=convergence.whole())
    return ratios.group_by(case, maintain_order=True).agg(median=pl.col("ratio").median())


def off_neighbours(
    table: pl.DataFrame,
    control: str,
    betas: Sequence[float],
    rtts_ms: tuple[float, float] = (0, math.inf),
) -> Extreme | None:
    """How far the median ratio of a beta_ecn is from the geometric mean of its neighbours', the
    farthest over AQMs and some beta_ecn, on paths of some RTTs; the last has one neighbour."""
    found = medians(table.filter(pl.col("rtt_ms").is_between(*rtts_ms))).filter(control=control)
    rows = []
    for (queue,), own in found.group_by("queue", maintain_order=True):
        by_percent = {
            round(beta * 100): median for beta, median in own.select("beta_ecn", "median").rows()
        }
        for percent in (round(beta * 100) for beta in betas):
            beside = [by_percent[p] for p in (percent - STEP, percent + STEP) if p in by_percent]
            if percent in by_percent and beside:
                between = math.prod(beside) ** (1 / len(beside))
                rows.append((queue, percent, by_percent[percent] / between - 1))
    schema = {"queue": pl.String, "percent": pl.Int64, "off": pl.Float64}
    return farthest(pl.DataFrame(rows, schema=schema, orient="row"), "off")


METRICS = (off_neighbours,)
