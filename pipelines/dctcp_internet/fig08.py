"""Fig. 8: Jain's index over the marking slope's minimum threshold and maximum probability."""

from typing import Any

import plotnine as p9
import polars as pl

from pipelines.dctcp_internet.slopes import ridge, table


def plot(table: pl.DataFrame) -> p9.ggplot:
    """A tile per setting with its mean index; the line is the ridge, where shares are equal."""
    setting = ["minimum", "probability", "relative"]
    means = table.group_by(setting).agg(
        pl.col("ratio").log().mean().exp(), pl.col("jain", "utilisation", "occupancy").mean()
    )
    minima = means["minimum"].unique().sort()
    probabilities = means["probability"].unique().sort()
    # tiles stand side by side: the settings are not evenly spaced
    shown = means.sort(setting).with_columns(
        x=pl.col("probability").replace_strict(probabilities, range(len(probabilities))),
        y=pl.col("minimum").replace_strict(minima, range(len(minima))),
        text=pl.format("{}", pl.col("jain").round(2)),
    )
    crest = ridge(means).drop_nulls("measured").filter(pl.col("relative") > 1)
    places = shown.select("relative", "x").unique().join(crest, on="relative").sort("x")
    line = places.with_columns(y=_between(places["measured"], minima))
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes("x", "y"))
        + p9.geom_tile(p9.aes(fill="jain"))
        + p9.geom_line(data=line, color="#D55E00", size=1.2)
        + p9.geom_text(p9.aes(label="text"), size=6)
        + p9.scale_fill_gradient(low="#FFFFFF", high="#56B4E9")
        # as a gradient, the legend is two megabytes of SVG
        + p9.guides(fill=p9.guide_colorbar(display="rectangles", nbin=40))
        + p9.scale_x_continuous(**_marks(probabilities))
        + p9.scale_y_continuous(**_marks(minima))
        + p9.labs(
            x="Max_Prob_DCTCP",
            y="Min_Thresh_DCTCP (BDP)",
            fill="Jain's index",
        )
    )
    return drawn


def _marks(values: pl.Series) -> dict[str, Any]:
    """Breaks and labels of an axis with values that stand side by side."""
    return {"breaks": list(range(len(values))), "labels": [f"{value:g}" for value in values]}


def _between(values: pl.Series, marks: pl.Series) -> pl.Series:
    """Where values lie among marks that are drawn at 0, 1, 2, ..."""
    steps = marks.to_list()
    found = []
    for value in values:
        above = next((i for i, mark in enumerate(steps) if mark >= value), len(steps) - 1)
        low = max(above - 1, 0)
        width = steps[above] - steps[low]
        found.append(low + ((value - steps[low]) / width if width else 0.0))
    return pl.Series(found)


__all__ = ["plot", "table"]
