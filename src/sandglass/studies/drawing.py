"""A study's pictures, each from an entry of `plots` and the study's tables."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import polars as pl
from plotnine import (
    aes,
    element_text,
    expand_limits,
    facet_wrap,
    geom_boxplot,
    geom_errorbar,
    geom_hline,
    geom_line,
    geom_path,
    geom_point,
    geom_ribbon,
    geom_step,
    geom_text,
    geom_tile,
    ggplot,
    guide_legend,
    guides,
    labs,
    scale_color_identity,
    scale_color_manual,
    scale_fill_cmap,
    scale_fill_manual,
    scale_shape_manual,
    scale_x_log10,
    scale_x_reverse,
    scale_y_log10,
    theme,
)

from sandglass.errors import SandglassError
from sandglass.results import document, series, style
from sandglass.studies import captions, quantity, recorded, scales, statistics
from sandglass.studies import plot as entries
from sandglass.studies.layout import (
    ALL,
    KEYS,
    Layout,
    Results,
    arranged,
    enum,
    labelled,
    names,
    placed,
    width,
)
from sandglass.studies.plot import FLOW, Against, Entry
from sandglass.studies.quantity import capital, said, titled, words

CAPTION_COLUMNS = 108
LEGEND_COLUMNS = 78
AXIS_COLUMNS = 90
CHARACTER_IN = 0.075
TURNED = 30
"""Degrees, of names that are too long to stand side by side."""
PANEL_IN = 2.1
AROUND_IN = 1.3  # title, legend, axis and caption
LEAST_OF_AN_ELLIPSE = 5
"""Replicas."""
SEVERAL = 3
"""Values of a quantity from which on an interval is a band, not bars."""


def draw(entry: Entry, results: Results) -> ggplot:
    """A picture, in the house style. Raises SandglassError where there is nothing to draw."""
    return _draw(entry, results)


@singledispatch
def _draw(entry: Entry, results: Results) -> ggplot:
    raise TypeError(entry)


@_draw.register
def _(entry: entries.Points, results: Results) -> ggplot:
    layout = _arranged(entry, results)
    means = results.summary.filter(pl.col("metric") == entry.y).rename({"mean": "y"})
    dots = results.runs.with_columns(y=pl.col(entry.y))
    made, missing = _against(entry, results, layout, means, dots)
    if entry.log not in ("y", "both"):
        made += expand_limits(y=0)
    return _finished(
        made + labs(y=_called(entry, entry.y, results)),
        entry,
        results,
        layout,
        f"{_plain(entry, entry.y, results)} against {_plain(entry, entry.x, results)}",
        f"{captions.mean_of(means['n'])} {missing}",
    )


@_draw.register
def _(entry: entries.Differences, results: Results) -> ggplot:
    ((axis, label),) = entry.against.items()
    metric = str(entry.difference or entry.ratio)
    table = statistics.differences(results.runs, list(results.axes), [metric], axis, label)
    if entry.ratio and table["ratio"].null_count():
        raise SandglassError(
            f"the ratio of {metric} cannot be drawn: it is not above 0 everywhere",
            "draw its difference",
        )
    names = ("ratio", "ratio_low", "ratio_high") if entry.ratio else ("mean", "low", "high")
    means = table.select(*results.axes, "n", **dict(zip(("y", "low", "high"), names, strict=True)))
    both = results.runs.join(
        results.runs.filter(statistics.matching(results.runs, {axis: label})).select(
            *(name for name in results.axes if name != axis), "replica", base=pl.col(metric)
        ),
        on=[*(name for name in results.axes if name != axis), "replica"],
    ).filter(~statistics.matching(results.runs, {axis: label}))
    value = pl.col(metric) / pl.col("base") if entry.ratio else pl.col(metric) - pl.col("base")
    left = Results(
        {**results.axes, axis: [each for each in results.axes[axis] if said(each) != said(label)]},
        both,
        results.summary,
        results.home,
        results.units,
        results.origin,
    )
    layout = _arranged(entry, left)
    unit = results.units.get(metric, "")
    new = f": {said(left.axes[axis][0])}" if len(left.axes[axis]) == 1 else ""
    how = "Ratio of" if entry.ratio else "Difference in"
    called = entry.labels.get(metric) or f"{how} {words(metric)} to {said(label)}"
    made, missing = _against(entry, left, layout, means, both.with_columns(y=value))
    if entry.ratio or entry.log not in ("y", "both"):
        made += geom_hline(yintercept=1 if entry.ratio else 0, color="#444444", size=0.5)
    mean = "Geometric mean" if entry.ratio else "Mean"
    return _finished(
        made + labs(y=called if entry.ratio or not unit else f"{called} ({unit})"),
        entry,
        results,
        layout,
        f"{_plain(entry, metric, results)}{new} compared with {said(label)}",
        f"{captions.mean_of(means['n'], mean, 'pairs of one seed')} {missing}",
    )


@_draw.register
def _(entry: entries.Box, results: Results) -> ggplot:
    layout = _arranged(entry, results)
    dots = placed(results.runs.with_columns(y=pl.col(entry.box)), entry.x, results, layout)
    made = (
        ggplot(dots, aes("middle", "y", color="colour", fill="colour", group="slot"))
        + geom_boxplot(alpha=0.2, outlier_alpha=0, width=width(results, layout) * 0.8)
        + geom_point(aes(shape="colour"), size=1.4, alpha=0.7)
        + names(entry.x, results)
        + labs(x=capital(_plain(entry, entry.x, results)), y=_called(entry, entry.box, results))
    )
    if entry.log in ("y", "both"):
        if dots["y"].min() <= 0:  # type: ignore[operator]
            raise SandglassError(
                f"boxes of {entry.box} have no logarithm: it is not above 0 everywhere",
                "leave out log",
            )
        made += scale_y_log10()
    counts = results.summary.filter(pl.col("metric") == entry.box)["n"]
    return _finished(
        made,
        entry,
        results,
        layout,
        f"{_plain(entry, entry.box, results)} against {_plain(entry, entry.x, results)}",
        f"Quartiles of {captions.counted(counts)}, each a dot; "
        "whiskers to 1.5 times the box at most.",
    )


@_draw.register
def _(entry: entries.Heat, results: Results) -> ggplot:
    layout = _arranged(entry, results)
    own = results.summary.filter(pl.col("metric") == entry.heat)
    middle = (own["mean"].min() + own["mean"].max()) / 2  # type: ignore[operator]
    half = (pl.col("high") - pl.col("low")) / 2
    shown = labelled(own, layout, results).with_columns(
        x=enum(entry.x, results),
        y=enum(entry.y, results),
        text=pl.struct("mean", half=half).map_elements(captions.mean_and_half, pl.String),
        ink=pl.when(pl.col("mean") > middle).then(pl.lit("#000000")).otherwise(pl.lit("#FFFFFF")),
    )
    x, y = (_plain(entry, axis, results) for axis in (entry.x, entry.y))
    made = (
        ggplot(shown, aes("x", "y", fill="mean"))
        + geom_tile(color="#FFFFFF", size=0.6)
        + geom_text(aes(label="text", color="ink"), size=7.5, lineheight=1.2)
        + scale_color_identity(guide=None)
        + scale_fill_cmap("cividis")
        + labs(
            x=capital(x),
            y=capital(y),
            fill=_called(entry, entry.heat, results),
        )
        + theme(legend_position="right")
    )
    return _finished(
        made,
        entry,
        results,
        layout,
        f"{_plain(entry, entry.heat, results)} over {x} and {y}",
        f"Mean, and half of its 95 % interval, of {captions.counted(own['n'])}.",
    )


@_draw.register
def _(entry: entries.Ellipse, results: Results) -> ggplot:
    layout = _arranged(entry, results)
    x, y = entry.ellipse
    dots = labelled(results.runs.with_columns(x=pl.col(x), y=pl.col(y)), layout, results)
    medians = dots.group_by(KEYS, maintain_order=True).agg(pl.col("x", "y").median())
    outlines = [
        _ellipse(own).join(own.select(KEYS).head(1), how="cross")
        for own in dots.partition_by(KEYS, maintain_order=True)
        if own.height >= LEAST_OF_AN_ELLIPSE
    ]
    made = ggplot(dots, aes("x", "y", color="colour")) + geom_point(size=0.9, alpha=0.6)
    if outlines:
        made += geom_path(data=pl.concat(outlines), size=0.8)
    made += geom_point(aes(shape="colour"), data=medians, size=2.8)
    made += labs(x=_called(entry, x, results), y=_called(entry, y, results))
    count = captions.counted(results.summary["n"])
    text = f"Each dot is a run, {count} a point, the large one their median."
    if outlines:
        text += " The ellipse is one sigma of their covariance about the mean, divided by n."
    else:
        text += f" An ellipse takes {LEAST_OF_AN_ELLIPSE} runs."
    if entry.reversed:
        made += scale_x_reverse()
        text += " The horizontal axis is reversed: better is up and to the right."
    title = f"{_plain(entry, y, results)} against {_plain(entry, x, results)}"
    return _finished(made, entry, results, layout, title, text)


@_draw.register
def _(entry: entries.Cdf, results: Results) -> ggplot:
    layout = _arranged(entry, results)
    own = labelled(results.runs, layout, results)
    all_runs, curves = [], []
    for group in own.partition_by(KEYS, maintain_order=True):
        found = [recorded.distributed(run, entry.cdf, entry.start) for run in _runs(group, results)]
        all_runs += found
        curve = recorded.distribution(found)
        curves.append(curve.join(group.select(KEYS).head(1), how="cross"))
    title = all_runs[0].title
    what = _lower(title).partition(" (")[0] if isinstance(entry.cdf, str) else title
    shown = pl.concat(curves)
    made = (
        ggplot(
            shown.filter(pl.col("x") > 0) if entry.log else shown,
            aes("x", "y", color="colour", fill="colour"),
        )
        + geom_ribbon(aes(ymin="low", ymax="high"), alpha=0.2, color="none")
        + geom_step(size=0.8)
        + expand_limits(y=(0, 1))
        + labs(x=title, y="Share up to there")
    )
    if entry.log:
        made += scale_x_log10()
    count = captions.counted(results.summary["n"])
    text = f"Line: mean of the distributions of {count}; {captions.band(results)}."
    text += f" From {entry.start / 1e9:g} s on." if entry.start else ""
    text += captions.uncounted(all_runs)
    return _finished(made, entry, results, layout, f"Distribution: {what}", text)


@_draw.register
def _(entry: entries.TimeSeries, results: Results) -> ggplot:
    by_flow = entry.by_flow(results.axes)
    layout = _arranged(entry, results)
    own = labelled(results.runs, layout, results)
    tables = [
        recorded.over_time(run, entry.series, by_flow).with_columns(
            pl.lit(row["colour"]).alias("colour"),
            pl.lit(row["panel"]).alias("panel"),
            pl.lit(row["replica"]).alias("replica"),
        )
        for run, row in zip(_runs(own, results), own.to_dicts(), strict=True)
    ]
    lines = pl.concat(tables)
    if by_flow:
        flows = sorted(lines["flow"].unique())
        names = {flow: _flow(flow, list(_runs(own, results))) for flow in flows}
        label = pl.col("flow").replace_strict(names, return_dtype=pl.String)
        lines = lines.with_columns(colour=label.cast(pl.Enum(list(names.values()))))
    else:
        lines = lines.with_columns(pl.col("colour").cast(own.schema["colour"]))
    lines = lines.with_columns(pl.col("panel").cast(own.schema["panel"])).sort("colour", "time_s")
    shown = recorded.banded(lines, ["colour", "panel", "time_s"])
    one = lines.filter(pl.col("replica") == lines["replica"].min())
    made = ggplot(shown, aes("time_s", "y", color="colour", fill="colour"))
    text = f"One run a point, step of {recorded.STEPS} in all."
    if lines["replica"].n_unique() > 1:
        made += geom_ribbon(aes(ymin="low", ymax="high"), alpha=0.2, color="none")
        made += geom_line(data=one, size=0.3, alpha=0.7)
        text = (
            f"Median of {captions.counted(results.summary['n'])}; {captions.band(results)}; "
            f"thin: the first of them."
        )
    made += geom_line(size=0.8)
    made += expand_limits(y=0)
    title = recorded.OVER_TIME[entry.series][0]
    made += labs(x="Time (s)", y=title)
    flows_drawn = list(lines.schema["colour"].categories) if by_flow else None  # type: ignore[attr-defined]
    over = f"{title.partition(' (')[0]} over time"
    return _finished(made, entry, results, layout, over, text, flows_drawn)


def _arranged(entry: Entry, results: Results) -> Layout:
    return arranged(entry, results, entry.places, entry.coloured(results.axes))


def _against(
    entry: Against, results: Results, layout: Layout, means: pl.DataFrame, dots: pl.DataFrame
) -> tuple[ggplot, str]:
    """Means and replicas over an axis: lines where it is a quantity, else slots by colour.

    And what is said of those that its scale does not show.
    """
    found = quantity.scale(results.axes[entry.x])
    quantities = found is not None and len(found.numbers) > 1
    logarithmic = entry.log in ("x", "both")
    if not quantities and logarithmic:
        raise SandglassError(f"{entry.x} has no logarithm: its labels are names")
    scale, missing = None, ""
    if entry.log in ("y", "both"):
        means, dots, scale, missing = scales.above_0(means, dots)
    group = aes("x", "y", color="colour", shape="colour", fill="colour")
    if found is None or not quantities:
        shown = placed(means, entry.x, results, layout).with_columns(x=pl.col("middle"))
        replicas = placed(dots, entry.x, results, layout).with_columns(x=pl.col("beside"))
        made = ggplot(shown, group) + geom_point(data=replicas, size=0.9, alpha=0.5)
        made += _bars(shown, width(results, layout) * 0.3)
        made = made + geom_point(size=2.4) + names(entry.x, results)
        made += labs(x=capital(_plain(entry, entry.x, results)))
    else:
        number = pl.col(entry.x).replace_strict(found.numbers, return_dtype=pl.Float64)
        shown = labelled(means, layout, results).with_columns(x=number).sort("colour", "x")
        replicas = labelled(dots, layout, results).with_columns(x=number)
        made = ggplot(shown, group) + geom_point(data=replicas, size=0.7, alpha=0.45)
        if len(found.numbers) < SEVERAL:
            made += _bars(shown, scales.span(found.numbers, logarithmic) * 0.03)
        elif shown["low"].drop_nulls().len():
            made += geom_ribbon(aes(ymin="low", ymax="high"), alpha=0.18, color="none")
        made = made + geom_line(size=0.7) + geom_point(size=2)
        made += scales.across(found.numbers, logarithmic, _columns(layout, results))
        title = entry.labels.get(entry.x) or titled(entry.x, found.unit, _names(results))
        made += labs(x=title)
    return made + scale, missing


def _bars(shown: pl.DataFrame, across: float) -> list[Any]:
    """The intervals of the points that have one."""
    sure = shown.drop_nulls("low")
    ends = aes(ymin="low", ymax="high")
    return [geom_errorbar(ends, data=sure, width=across)] if sure.height else []


def _ellipse(dots: pl.DataFrame) -> pl.DataFrame:
    """One sigma about the mean: m + diag(sqrt(eigenvalues)) turned by the eigenvectors."""
    x, y = dots["x"].to_numpy(), dots["y"].to_numpy()
    values, vectors = np.linalg.eigh(np.cov(x, y, bias=True))
    turn = np.linspace(0, 2 * math.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    path = vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)
    return pl.DataFrame({"x": x.mean() + path[0], "y": y.mean() + path[1]})


def _runs(table: pl.DataFrame, results: Results) -> list[series.Run]:
    return [series.load(results.home / each, {}) for each in table["directory"]]


def _flow(flow: int, runs: Sequence[series.Run]) -> str:
    """What a flow is called, as far as all runs agree."""
    names = {
        document.named(each) for run in runs for each in run.document["flows"] if each["id"] == flow
    }
    return names.pop() if len(names) == 1 else str(flow)


def _finished(
    made: ggplot,
    entry: Entry,
    results: Results,
    layout: Layout,
    title: str,
    text: str,
    flows: Sequence[str] | None = None,
) -> ggplot:
    """With panels, colours, legend, title and caption. `flows` have colours instead of an axis."""
    named = FLOW if flows else layout.colour
    called = (entry.labels.get(named) or words(named, _names(results))) if named else ""
    made += labs(color=capital(called), shape=capital(called))
    if not isinstance(entry, entries.Heat):
        own = quantity.ordered(results.axes[layout.colour]) if layout.colour else [ALL]
        made += _colours(flows or [said(each) for each in own])
    if alike := statistics.alike(results.runs, list(results.axes)):
        text = f"{text.strip()} {capital(alike)}."
    caption = "\n".join(
        textwrap.fill(line, CAPTION_COLUMNS) for line in (text, results.origin) if line
    )
    height, columns = style.HEIGHT_IN, _columns(layout, results)
    if layout.panels:
        rows = math.ceil(results.runs.select(layout.panels).unique().height / columns)
        strips = _strips(entry, layout, results)
        made += facet_wrap("panel", ncol=columns, labeller=strips)  # type: ignore[arg-type]
        height = AROUND_IN + PANEL_IN * rows * (1.35 if rows == 1 else 1)
    turned = _turned(entry, results, columns)
    size = theme(figure_size=(style.WIDTH_IN, height + turned))
    upper = entry.title or capital(title)
    kept = theme(legend_position="right") if isinstance(entry, entries.Heat) else theme()
    slanted = theme(axis_text_x=element_text(rotation=TURNED, ha="right")) if turned else theme()
    return style.finish(made, upper, caption) + size + kept + slanted


def _columns(layout: Layout, results: Results) -> int:
    """Of panels."""
    count = results.runs.select(layout.panels).unique().height if layout.panels else 1
    return min(count, 3 if count != 4 else 2)


def _turned(entry: Entry, results: Results, columns: int) -> float:
    """How high names under the horizontal axis are, in inches, that are turned; 0 where all fit."""
    if not isinstance(entry, entries.Heat | Against):
        return 0
    labels = results.axes[entry.x]
    found = quantity.scale(labels)
    if found and len(labels) > 1 and isinstance(entry, entries.Points | entries.Differences):
        return 0
    lengths = [len(said(label)) for label in quantity.ordered(labels)]
    room = AXIS_COLUMNS / columns / len(labels)
    if all(a + b + 1 <= 2 * room for a, b in itertools.pairwise(lengths)):
        return 0
    return max(lengths) * CHARACTER_IN * math.sin(math.radians(TURNED))


def _strips(entry: Entry, layout: Layout, results: Results) -> dict[str, str]:
    """What panels are called above them."""
    names = {axis: _plain(entry, axis, results) for axis in layout.panels}
    shown = labelled(results.runs, layout, results).select("panel", *names).unique("panel")
    return {
        row["panel"]: ", ".join(f"{called} {said(row[axis])}" for axis, called in names.items())
        for row in shown.to_dicts()
    }


def _names(results: Results) -> list[str]:
    """All that may have a name in a picture."""
    return [*results.axes, *results.units]


def _colours(labels: Sequence[str]) -> list[Any]:
    """Of each label the same in all pictures; more than eight differ in colour and shape together.

    The legend has as many rows as its words need, and is left out where there is one colour.
    """
    of = len(style.PALETTE)
    colours = {label: style.PALETTE[i % of] for i, label in enumerate(labels)}
    shapes = {label: style.SHAPES[(i + i // of) % of] for i, label in enumerate(labels)}
    rows = math.ceil(sum(len(label) + 5 for label in labels) / LEGEND_COLUMNS)
    legend: dict[str, Any] = {
        key: guide_legend(nrow=rows) if len(labels) > 1 else False for key in ("color", "shape")
    }
    return [
        scale_color_manual(colours),
        scale_fill_manual(colours, guide=None),
        scale_shape_manual(shapes),
        guides(**legend),
    ]


def _plain(entry: Entry, name: str, results: Results) -> str:
    """In a sentence: without its unit, and without a capital but of initials."""
    said = entry.labels.get(name, "").partition(" (")[0] or words(name, _names(results))
    return said if said[1:2].isupper() else _lower(said)


def _called(entry: Entry, metric: str, results: Results) -> str:
    return entry.labels.get(metric) or titled(metric, results.units.get(metric, ""))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
