"""The code of figures: each has its numbers and picture in PAPER/FIGURE.py.

Metrics that the figure's file does not say (metrics.py) are functions there, listed in METRICS.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Protocol, cast

import polars as pl
from plotnine import ggplot

from sandglass.errors import UsageError
from sandglass.papers import shelf, verdicts
from sandglass.papers.metrics import Metric
from sandglass.results.series import Run


class FigureModule(Protocol):
    """What a paper's FIGURE.py holds."""

    @staticmethod
    def table(runs: Sequence[Run]) -> pl.DataFrame:
        """The numbers behind the figure, of one replica."""

    @staticmethod
    def plot(table: pl.DataFrame) -> ggplot:
        """The figure, without title, caption and theme; of all replicas (ensemble.REPLICA)."""


def module(paper: str, figure: str) -> FigureModule:
    """The figure's own code. Raises UsageError when there is none, or a part of it is not."""
    home = shelf.folder(paper)
    name = shelf.at(home).figures[figure].code or figure
    path = home / f"{name}.py"
    if not path.is_file():
        raise UsageError(f"{path} does not exist: {figure} has no table and plot")
    # A paper's modules import each other from pipelines.PAPER, wherever its folder lies.
    folder = f"pipelines.{home.name}"
    for package, place in (("pipelines", shelf.PIPELINES), (folder, home)):
        if package not in sys.modules:
            spec = ModuleSpec(package, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            sys.modules[package] = module_from_spec(spec)
    found = importlib.import_module(f"{folder}.{name}")
    lacks = [name for name in ("table", "plot") if not hasattr(found, name)]
    if lacks:
        raise UsageError(f"{path} has no {', '.join(lacks)}")
    return cast(FigureModule, found)


def metrics(paper: str, figure: str) -> list[verdicts.Metric]:
    """What claims about a figure can measure: of its code, and of its file."""
    said = shelf.paper(paper).figures[figure].metrics
    own: Sequence[verdicts.Metric] = getattr(module(paper, figure), "METRICS", ())
    return [*own, *(_named(name, each) for name, each in said.items())]


def _named(name: str, said: Metric) -> verdicts.Metric:
    def metric(table: pl.DataFrame, **arguments: object) -> verdicts.Found:
        return said.value(table, arguments)

    metric.__name__ = name
    return metric
