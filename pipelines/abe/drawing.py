"""Panels of measures against one setting, a line per another."""

from collections.abc import Mapping, Sequence

import plotnine as p9
import polars as pl

from sandglass.papers import ensemble
from sandglass.results import style


def panels(
    table: pl.DataFrame,
    measures: Mapping[str, str],
    x: tuple[str, str],
    line: tuple[str, str],
    apart: Sequence[str] = (),
) -> p9.ggplot:
    """A panel per measure, in their order, and per value of the columns `apart`.

    `measures` are columns and what they are called, `x` and `line` each a column and its name. Of
    replicas their mean with its 95 % interval.
    """
    column, name = x
    kind, kind_name = line
    named = table.with_columns(pl.col(kind).cast(pl.String))
    shown = ensemble.measure_means(named, measures, [column, kind, *apart])
    bars = shown.drop_nulls(["low", "high"])
    drawn: p9.ggplot = (
        p9.ggplot(shown, p9.aes(column, "value", color=kind, shape=kind))
        + p9.facet_wrap(["measure", *apart] if len(measures) > 1 else list(apart), scales="free_y")
        + p9.geom_line(p9.aes(group=kind))
        + p9.geom_point(size=2)
        + p9.scale_color_manual(style.PALETTE)
        + p9.scale_shape_manual(style.SHAPES)
        + p9.labs(
            x=name,
            y="" if len(measures) > 1 else next(iter(measures.values())),
            color=kind_name,
            shape=kind_name,
        )
    )
    if bars.is_empty():
        return drawn
    return drawn + p9.geom_linerange(p9.aes(ymin="low", ymax="high", group=kind), bars)
