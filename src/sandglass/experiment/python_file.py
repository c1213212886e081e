"""What a topology's or a workload's file says, as plain values: asked where its code may run.

Each question takes the file's path first, and answers with what JSON can hold, so that it can be
asked of a process in a cage (foreign.py).
"""

import contextlib
import functools
import importlib
import inspect
import io
import os
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from sandglass.agent import declare, pyfile
from sandglass.agent.names import has_loops, named_links
from sandglass.errors import SandglassError, UsageError
from sandglass.install.builds import ROOT, ROOT_FILES

PYTHON_PACKAGES = "usr/lib/python3/dist-packages"
"""Where the lab's root has Mininet, which is plain Python."""
NOUNS: dict[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
}
"""What a parameter may be, and what it is called."""
FLAGS = ("TCP", "IPV6", "OPENER", "OTHER_END_CHOOSES", "ENDS_BY_ITSELF", "LEAVES", "LEAVES_WITH")
"""Plain values that a workload may define."""
TABLES = ("PARTS", "TABLES")
FUNCTIONS = ("problems", "packets", "evaluate", "outlasts")


sys.path.append(str(ROOT))  # whose packages `workloads` and `topologies` are


@functools.lru_cache(maxsize=64)
def _module(path: Path, _changed_ns: int) -> ModuleType:
    if path.parent == ROOT / "workloads":  # others import it too, by this name
        return importlib.import_module(f"workloads.{path.stem}")
    return pyfile.load(str(path), path.stem)


def _loaded(path: Path) -> ModuleType:
    return _module(path, path.stat().st_mtime_ns)


# Of topologies


def parameters(path: Path) -> dict[str, Any]:
    """A topology's name and parameters: {"name", "parameters": {NAME: {"kinds", "meaning"}}}.

    One that has a default has it as "default". Raises UsageError when the file is no topology.
    """
    name, build = _topology(path)
    try:
        hints = inspect.get_annotations(build.build, eval_str=True)
    except NameError as error:
        raise UsageError(
            f"{path.name}: build() is annotated with what is not there: {error}"
        ) from None
    declared = {
        each.name: _parameter(each, hints.get(each.name))
        for each in inspect.signature(build.build).parameters.values()
        if each.name != "self" and each.kind is each.POSITIONAL_OR_KEYWORD
    }
    return {"name": name, "parameters": declared}


def network(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The network that a topology builds of its parameters.

    {"hosts": NAMES that flows may join, "nodes": NAMES, "loops": whether switches form rings,
    "classes": switches that have a class of their own and span no tree, "links": [[NAME, INFO]]}.
    Raises UsageError when it cannot be built of them, in the topology's own words where it raises
    a ValueError.
    """
    name, build = _topology(path)
    try:
        topo = build(**given)
    except ValueError as error:
        raise UsageError(str(error) or f"topology {name} refuses {given}") from None
    except Exception as error:
        raise UsageError(
            f"topology {name} cannot be built from {given}: {type(error).__name__}: {error}"
        ) from None
    told = ((switch, topo.nodeInfo(switch)) for switch in topo.switches())
    return {
        "hosts": [host for host in topo.hosts() if "routes" not in topo.nodeInfo(host)],
        "nodes": list(topo.nodes()),
        "loops": has_loops(topo),
        "classes": [switch for switch, info in told if info.get("cls") and not info.get("stp")],
        "links": [[link, _plain(info)] for link, info in named_links(topo)],
    }


def _topology(path: Path) -> tuple[str, Any]:
    """Its name, and the class of Mininet's Topo that it defines."""
    try:
        with _mininet():
            table = getattr(_loaded(path), "topos", None)
    except SandglassError:  # such as $SANDGLASS_LAB, which is no lab
        raise
    except ModuleNotFoundError as error:
        raise UsageError(f"{path.name} needs the module {error.name}") from None
    except Exception as error:
        raise UsageError(f"{path.name} cannot be loaded: {error}") from None
    if not table:
        raise UsageError(
            f"{path.name} defines no topology", "End it with: topos = {'name': TheTopoClass}"
        )
    found: tuple[str, Any] = next(iter(table.items()))
    return found


@contextlib.contextmanager
def _mininet() -> Iterator[None]:
    """Lets a topology import the lab's Mininet, of which nothing is written into the lab's root.

    Its nodes import distutils for a comparison that only a switch makes which runs. Python has none
    any more, and that of setuptools takes longer to import than all of Mininet.
    """
    for place in python_path():
        if str(place) not in sys.path:
            # Last, so that this environment's own packages win.
            sys.path.append(str(place))
    version = ModuleType("distutils.version")
    version.__dict__["StrictVersion"] = None
    for module in (ModuleType("distutils"), version):
        sys.modules.setdefault(module.__name__, module)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes


def python_path() -> list[Path]:
    """Where a topology finds what it imports, besides this environment."""
    if told := os.environ.get("SANDGLASS_PYTHON_PATH"):  # in a cage, which sees no lab
        return [Path(place) for place in told.split(os.pathsep)]
    from sandglass.install import setup_lab  # noqa: PLC0415 a stranger's process starts without

    return [ROOT, setup_lab.programs() / ROOT_FILES / PYTHON_PACKAGES]


def _parameter(parameter: inspect.Parameter, hint: Any) -> dict[str, Any]:
    """A parameter with the type of its annotation, else of its default, else of any."""
    meaning = ""
    if typing.get_origin(hint) is Annotated:
        hint, *notes = typing.get_args(hint)
        meaning = next((note for note in notes if isinstance(note, str)), "")
    if hint is None:
        hint = type(parameter.default)
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    wanted = typing.get_args(hint) if union else (hint,)
    names = {each.__name__ for each in wanted if isinstance(each, type)}
    found: dict[str, Any] = {
        "kinds": [kind for kind in NOUNS if kind in names] or list(NOUNS),
        "meaning": meaning,
    }
    if parameter.default is not parameter.empty:
        found["default"] = _plain(parameter.default)
    return found


# Of workloads


def workload(path: Path) -> dict[str, Any]:
    """What a workload declares: "doc", what it defines of FLAGS, and its declarations.

    Raises ValueError when it is none.
    """
    module = _workload(path)
    if not callable(getattr(module, "run", None)):
        raise ValueError(f"{path} is no workload: it defines no run(flow, testbed)")
    said: dict[str, Any] = {"doc": module.__doc__ or ""}
    said |= {name: _plain(getattr(module, name)) for name in FLAGS if hasattr(module, name)}
    said["functions"] = [name for name in FUNCTIONS if callable(getattr(module, name, None))]
    if argument := getattr(module, "ARGUMENT", None):
        said["ARGUMENT"] = [str(part) for part in argument]
    said["OPTIONS"] = {
        str(name): {
            key: _plain(value)
            for key, value in option._asdict().items()
            if value is not declare.REQUIRED
        }
        for name, option in getattr(module, "OPTIONS", {}).items()
    }
    try:
        said["COLUMNS"] = _columns(getattr(module, "COLUMNS", {}))
        for table in TABLES:
            parts = getattr(module, table, {})
            said[table] = {str(name): _columns(columns) for name, columns in parts.items()}
    except (AttributeError, TypeError) as error:
        text = f"{path}: columns are {{name: Column(type, unit, meaning)}}: {error}"
        raise ValueError(text) from None
    return said


def _workload(path: Path) -> ModuleType:
    try:
        return _loaded(path)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


def _columns(declared: Mapping[str, declare.Column]) -> dict[str, list[str]]:
    return {
        str(name): [str(part) for part in declare.Column(*column)]
        for name, column in declared.items()
    }


def problems(path: Path, options: Mapping[str, Any], lasts_ns: int) -> list[list[str]]:
    """What a workload says is wrong with a flow: pairs of a key and a text."""
    return [[str(key), str(text)] for key, text in _workload(path).problems(options, lasts_ns)]


def packets(path: Path, options: Mapping[str, Any], time_ns: int) -> int:
    """How many packets a workload says that a flow sends in so long a time."""
    return int(_workload(path).packets(options, time_ns))


def evaluate(path: Path, flow: Mapping[str, Any], table: str) -> list[Any]:
    """The rows, by columns, and the numbers that a workload makes of the CSV that a flow left."""
    import polars as pl  # noqa: PLC0415  it takes a tenth of a second

    rows = pl.read_csv(io.StringIO(table), infer_schema_length=None)
    rows, numbers = _workload(path).evaluate(flow, rows)
    return [rows.to_dict(as_series=False), numbers]


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; what it cannot is told in words."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return repr(value)


QUESTIONS: dict[str, Callable[..., Any]] = {
    question.__name__: question
    for question in (parameters, network, workload, problems, packets, evaluate)
}
