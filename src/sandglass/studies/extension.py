"""A study's own Python: metrics and pictures that a study file has no words for."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import polars as pl

from sandglass.errors import SandglassError, UsageError
from sandglass.results.series import Run

if TYPE_CHECKING:
    from plotnine import ggplot


def load(path: Path) -> ModuleType:
    """The module in a file. Raises UsageError when it cannot be imported or offers nothing."""
    spec = importlib.util.spec_from_file_location(f"study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))  # so that it may import what lies beside it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} cannot be imported: {error!r}") from error
    finally:
        sys.path.pop(0)
    if not any(callable(getattr(module, name, None)) for name in ("metrics", "plots")):
        raise UsageError(f"{path} has neither a function metrics(run) nor plots(runs, summary)")
    return module


def metrics(module: ModuleType, run: Run) -> Mapping[str, float]:
    """What the module measures in a run. Raises SandglassError, which names the run."""
    measure = getattr(module, "metrics", None)
    if measure is None:
        return {}
    try:
        found = {str(name): float(value) for name, value in measure(run).items()}
    except Exception as error:
        raise SandglassError(f"{run.directory}: {module.__file__}: {error!r}") from error
    return found


def plots(module: ModuleType, runs: pl.DataFrame, summary: pl.DataFrame) -> "Mapping[str, ggplot]":
    """What the module draws of the study's tables, by the files' names. Raises SandglassError."""
    draw = getattr(module, "plots", None)
    if draw is None:
        return {}
    try:
        found: Mapping[str, ggplot] = draw(runs, summary)
    except Exception as error:
        raise SandglassError(f"{module.__file__}: {error!r}") from error
    return found
