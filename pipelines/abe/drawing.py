"""Panels of measures against one setting, a line per another."""

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_line,
    geom_linerange,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
)

from sandglass.papers import ensemble
from sandglass.results import style


def panels(
    table: pl.DataFrame,
    measures: Mapping[str, str],
    x: tuple[str, str],
    line: tuple[str, str],
    apart: Sequence[str] = (),
) -> ggplot:
    """A panel per measure, in their order, and per value of the columns `apart`.

    `measures` are columns and what they are called, `x` and `line` each a column and its name. Of
    replicas their mean with its 95 % interval.
    """
    column, name = x
    kind, kind_name = line
    named = table.with_columns(pl.col(kind).cast(pl.String))
    shown = ensemble.measure_means(named, measures, [column, kind, *apart])
    bars = shown.drop_nulls(["low", "high"])
    drawn: ggplot = (
        ggplot(shown, aes(column, "value", color=kind, shape=kind))
        + facet_wrap(["measure", *apart] if len(measures) > 1 else list(apart), scales="free_y")
        + geom_line(aes(group=kind))
        + geom_point(size=2)
        + scale_color_manual(style.PALETTE)
        + scale_shape_manual(style.SHAPES)
        + labs(
            x=name,
            y="" if len(measures) > 1 else next(iter(measures.values())),
            color=kind_name,
            shape=kind_name,
        )
    )
    if bars.is_empty():
        return drawn
    return drawn + geom_linerange(aes(ymin="low", ymax="high", group=kind), bars)
