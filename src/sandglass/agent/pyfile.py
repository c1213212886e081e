"""A Python file that is no part of a package, such as a topology or a workload of the user's."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def load(path: str, name: str) -> ModuleType:
    """The module in the file at `path`, which ends in .py; raises what its code raises."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
