"""The windows of the plan's rows of W_s, and what is on its way in the lab."""

from collections.abc import Sequence

import plotnine as p9
import polars as pl

from pipelines.ls_aimd import regime, steady, throughput
from sandglass.papers.verdicts import scalar
from sandglass.results import series, style

HIGHEST = {"RED ramp": 3, "RED step": 1, "RED instantaneous": 2}
"""Stated: the upper threshold in units of the lower one, which is the target."""
PLAN_MIN = dict(
    zip(
        steady.CASES,
        (13.18, 6.59, 1.24, 1.24, 1.54, 2.32, 3.09, 3.86, 0.26, 0.39, 0.52, 0.65),
        strict=True,
    )
)
"""Stated: the plan's row of W_s at the lower threshold, segments."""
PLAN_MAX = {
    "RED ramp": (29.64, 14.82, 3.29, 3.29, 3.09, 3.86, 4.63, 5.40, 0.52, 0.65, 0.78, 0.91),
    "RED step": tuple(PLAN_MIN.values()),
    "RED instantaneous": (21.41, 10.7, 2.26, 2.26, 2.32, 3.09, 3.86, 4.63, 0.39, 0.52, 0.65, 0.78),
}
"""Stated: those at the upper threshold, by marking."""


def table(runs: Sequence[series.Run]) -> pl.DataFrame:
    """One row per run, in segments: `in_flight`, a sender's packets on their way as
    `throughput.table` has them; `fair_min` and `fair_max`, W_s of the run's own rate, RTT, flows
    and MTU with the thresholds as the queue's wait; `plan_min` and `plan_max`, the thesis's."""
    rows: list[dict[str, object]] = []
    for run in runs:
        names = steady.case(run)
        marking, case = names["marking"], names["case"]
        target = steady.target_us(run)
        rows.append(
            {
                **names,
                "in_flight": throughput.on_their_way(run),
                "fair_min": regime.fair_window(run, target),
                "fair_max": regime.fair_window(run, target * HIGHEST[marking]),
                "plan_min": PLAN_MIN[case],
                "plan_max": PLAN_MAX[marking][steady.CASES.index(case)],
            }
        )
    return steady.ordered(rows)


def plot(table: pl.DataFrame) -> p9.ggplot:
    """What is on its way by experiment; bars reach from the plan's least to its largest window."""
    drawn: p9.ggplot = (
        p9.ggplot(steady.labelled(table), p9.aes("case"))
        + p9.geom_errorbar(p9.aes(ymin="plan_min", ymax="plan_max"), color="#888888")
        + p9.geom_point(p9.aes(y="in_flight", color="sender"), size=2)
        + p9.facet_wrap("marking", ncol=1)
        + p9.scale_y_log10()
        + p9.scale_color_manual(style.PALETTE)
        + p9.labs(x="Experiment", y="Packets on their way per sender", color="")
    )
    return drawn


def off_plan(table: pl.DataFrame) -> float | None:
    """The largest distance of the formula's windows from the plan's."""
    ends = (pl.col(f"fair_{end}") - pl.col(f"plan_{end}") for end in ("min", "max"))
    return scalar(table.select(off=pl.max_horizontal(end.abs() for end in ends))["off"].max())


METRICS = (off_plan,)
