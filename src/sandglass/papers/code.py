"""The code of figures: each has its numbers, picture and metrics in PAPER/FIGURE.py."""

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
from sandglass.results.series import Run


class FigureModule(Protocol):
    """What a paper's FIGURE.py holds."""

    METRICS: Sequence[verdicts.Metric]

    @staticmethod
    def table(runs: Sequence[Run]) -> pl.DataFrame:
        """The numbers behind the figure, of one replica."""

    @staticmethod
    def plot(table: pl.DataFrame) -> ggplot:
        """The figure, without title, caption and theme; of all replicas (ensemble.REPLICA)."""


def module(paper: str, figure: str) -> FigureModule:
    """The figure's own code. Raises UsageError when there is none, or a part of it is not."""
    home = shelf.folder(paper)
    path = home / f"{figure}.py"
    if not path.is_file():
        raise UsageError(f"{path} does not exist: {figure} has no table, plot and metrics")
    # A paper's modules import each other from pipelines.PAPER, wherever its folder lies.
    for package, place in (("pipelines", shelf.PIPELINES), (f"pipelines.{paper}", home)):
        if package not in sys.modules:
            spec = ModuleSpec(package, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            sys.modules[package] = module_from_spec(spec)
    found = importlib.import_module(f"pipelines.{paper}.{figure}")
    lacks = [name for name in ("table", "plot", "METRICS") if not hasattr(found, name)]
    if lacks:
        raise UsageError(f"{path} has no {', '.join(lacks)}", "METRICS = () where none is judged")
    return cast(FigureModule, found)
