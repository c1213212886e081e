"""What a study of an experiment file measures and draws: what one would look at first."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandglass.experiment.values import DEFAULT_RECORDS

DRAWN = ("goodput", "delay_p95", "fct", "plt")
IN_ROUNDS, PAGE = "restart", "page"
"""Workloads whose flows have no completion time, the first though they have a size."""

Experiment = Mapping[str, Any]
"""As a file holds it; whatever is wrong with it is told elsewhere."""


def metrics(points: Sequence[Experiment]) -> dict[str, Any]:
    """The metrics that every point of a study has, as a study file writes them."""
    if any(point.get("repeat", 1) != 1 for point in points):
        return _of_repetitions(points)
    found = {"goodput": "sum(present(flows.*.goodput_mbit))"}
    if not all("bottleneck" in point for point in points):
        return found
    found["utilisation"] = "bottleneck.utilisation"
    recorded = all("packets" in _recorded(point) for point in points)
    if recorded:
        found["delay_p50"] = "bottleneck.queue_delay_ms.median"
        found["delay_p95"] = "bottleneck.queue_delay_ms.p95"
    found["drops"] = "bottleneck.drops"
    if recorded and any(flow.get("ecn") for flow in _flows(points)):
        found["marks"] = "bottleneck.marks"
    return found


def _of_repetitions(points: Sequence[Experiment]) -> dict[str, Any]:
    """Over the flows of all repetitions; run.json has those of the first one alone."""
    found = {"goodput": _of_flows("SUM(goodput_mbit) / COUNT(DISTINCT seed)", "Mb/s")}
    flows = list(_flows(points))
    if any("size" in flow and flow.get("workload") != IN_ROUNDS for flow in flows):
        found["fct"] = _of_flows("MEDIAN(fct_s)", "s")
    if any(flow.get("workload") == PAGE for flow in flows):
        found["plt"] = _of_flows("MEDIAN(plt_s)", "s")
    return found


def _of_flows(of: str, unit: str) -> dict[str, str]:
    return {"table": "flows", "of": of, "unit": unit}


def plots(metrics: Mapping[str, Any], axes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Over the first axis, the second told apart by colour, the others in panels if these are few.

    `axes` has how many labels each has.
    """
    names, others = list(axes), list(axes.values())[2:]
    if not names or (others and math.prod(others) > _most_panels()):
        return []
    places = dict(zip(("x", "colour"), names, strict=False))
    return [{"y": name, **places} for name in DRAWN if name in metrics]


def _most_panels() -> int:
    from sandglass.studies import layout  # noqa: PLC0415 plotnine takes its time

    return layout.MOST_PANELS


def _recorded(point: Experiment) -> Sequence[Any]:
    found = point.get("record", DEFAULT_RECORDS)
    return found if isinstance(found, list | tuple) else ()


def _flows(points: Sequence[Experiment]) -> Iterator[Mapping[str, Any]]:
    for point in points:
        flows = point.get("flows")
        yield from (flow for flow in flows or () if isinstance(flow, dict))
