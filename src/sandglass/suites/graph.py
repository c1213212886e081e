"""The delay/goodput graph of the summary (RFC 7928, 2.7), a panel for each scenario."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from plotnine import facet_wrap, ggplot, labs, theme

from sandglass.results import style
from sandglass.studies import drawing, statistics
from sandglass.studies.layout import MOST_PANELS, Results
from sandglass.studies.plot import Ellipse
from sandglass.studies.points import text
from sandglass.suites.suite import Scenario

NAME = "summary"
COLUMNS = 3
ROW_IN, AROUND_IN = 2.2, 1.4
TITLE = 30
"""Characters of a panel's title in a line."""


def draw(
    parts: Sequence[tuple[Scenario, pl.DataFrame]], axis: str, labels: Sequence[str], home: Path
) -> ggplot | None:
    """Runs of the scenarios, each at the point that its graph names; None where none has one."""
    tables: list[pl.DataFrame] = []
    panels: list[str] = []
    for scenario, runs in parts:
        if (graph := scenario.graph) is None or len(panels) == MOST_PANELS:
            continue
        panel = f"{scenario.section} {scenario.title}"
        own = runs.filter(statistics.matching(runs, graph.at))
        tables.append(
            own.select(
                pl.col(axis).cast(pl.String),
                "replica",
                scenario=pl.lit(panel),
                delay=pl.col(graph.delay),
                goodput=pl.col(graph.goodput),
            )
        )
        panels.append(panel)
    if not tables:
        return None
    rows = pl.concat(tables)
    summary = statistics.summary(rows, ["scenario", axis], ["delay", "goodput"])
    results = Results(
        {"scenario": panels, axis: [text(each) for each in labels]},
        rows,
        summary,
        home,
        {"delay": "ms", "goodput": "Mb/s"},
    )
    entry = Ellipse.model_validate(
        {
            "ellipse": ["delay", "goodput"],
            "colour": axis,
            "facet": "scenario",
            "reversed": True,
            "title": "Goodput against delay",
            "labels": {"delay": "Queueing delay, mean (ms)", "goodput": "Goodput (Mb/s)"},
        }
    )
    made = drawing.draw(entry, results)
    height = AROUND_IN + ROW_IN * -(-len(panels) // COLUMNS)
    names = {f"scenario {panel}": textwrap.fill(panel, TITLE) for panel in panels}
    return (
        made
        + facet_wrap("panel", ncol=COLUMNS, scales="free", labeller=names)  # type: ignore[arg-type]
        + labs(caption=f"{made.labels.caption}\nEach panel has scales of its own.")
        + theme(figure_size=(style.WIDTH_IN, height))
    )
