"""A finished run's run.json: read, and found to be what a run leaves."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandglass.errors import UsageError, nearest

FILE = "run.json"
PARTS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "seed": int,
    "backend": str,
    "kernel": dict,
    "experiment": dict,
    "flows": list,
    "bottlenecks": dict,
    "virtual_s": (int, float),
    "wall_s": (int, float),
    "digest": (str, type(None)),
}
"""What each has, and of what kind it is."""
OF_FLOW: dict[str, type | tuple[type, ...]] = {"id": int, "workload": str, "from": str, "to": str}
OTHER = "it is damaged, or of another program"


def read(run: Path) -> dict[str, Any]:
    """What is in a directory's run.json. Raises UsageError where there is no finished run."""
    path = run / FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if not run.exists():
            raise UsageError(f"{run} does not exist{_near(run)}") from None
        raise UsageError(f"{run} is no finished run: it has no {FILE}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}", OTHER) from error
    if wrong := _wrong(content):
        raise UsageError(f"{path} is not what a run leaves: {wrong}", OTHER)
    found: dict[str, Any] = content
    return found


@contextmanager
def readable(place: Path) -> Iterator[None]:
    """Within it tables are read: what Polars cannot do with them is that of a file, or a run.

    Raises UsageError, which names it.
    """
    from polars.exceptions import PolarsError  # noqa: PLC0415 as show of most runs needs none

    try:
        yield
    except PolarsError as error:
        raise UsageError(f"{place} cannot be read: {error}".splitlines()[0], OTHER) from error


def _near(run: Path) -> str:
    """How a sentence about a run that is not there ends: with one beside it that resembles it."""
    beside = [path.parent for path in run.parent.glob(f"*/{FILE}")]
    return nearest(str(run), map(str, beside))


def _wrong(content: Any) -> str | None:
    """What is missing in a document, or of another kind than it should be."""
    if wrong := _first(content, PARTS, ""):
        return wrong
    for number, flow in enumerate(content["flows"]):
        if wrong := _first(flow, OF_FLOW, f"flows.{number}."):
            return wrong
    for name, link in content["bottlenecks"].items():
        if not isinstance(link, dict):
            return f"bottlenecks.{name} is no mapping"
    return _first(content["kernel"], {"release": str}, "kernel.") or _first(
        content["experiment"], {"repeat": int}, "experiment."
    )


def _first(content: Any, parts: Mapping[str, type | tuple[type, ...]], where: str) -> str | None:
    if not isinstance(content, dict):
        return f"{where.rstrip('.') or 'it'} is no mapping"
    for name, kind in parts.items():
        if name not in content:
            return f"it has no {where}{name}"
        if not isinstance(content[name], kind):
            return f"{where}{name} is {content[name]!r:.40}"
    return None


def named(flow: Mapping[str, Any]) -> str:
    """How a flow is called where there is room for a few words."""
    how = flow.get("cc") or flow["workload"]
    return f"{flow['id']}: {flow['from']} to {flow['to']}, {how}"
