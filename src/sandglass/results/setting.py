"""What a run's packets went through, in a few words: queues with their rates, and base round trips.

From its plan, which has what was set, and what a topology says of its own links.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandglass.agent.plan import base_rtt_ns
from sandglass.experiment import units
from sandglass.guide.picture import ranges

MOST_SHOWN = 3


def of(run: Path) -> str:
    """Of the run in a directory, in a line; empty where no plan says it."""
    return "; ".join(f"{name} {about}" for name, about in parts(run))


def parts(run: Path) -> list[tuple[str, str]]:
    """The same: of each recorded link, its name and what it has; and the base round trips."""
    try:
        plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
        return [*_links(plan), *_round_trips(plan)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _links(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    alike: dict[str, list[str]] = {}
    for name, link in plan["bottlenecks"].items():
        if link["recorded"]:
            alike.setdefault(_link(link["forward"]), []).append(name)
    for about, names in list(alike.items())[:MOST_SHOWN]:
        yield ranges(names), about
    if (more := len(alike) - MOST_SHOWN) > 0:
        yield "and", f"{more} links more"


def _link(way: Mapping[str, Any]) -> str:
    queue, rate = way["queue"], units.format_rate(way["rate_bps"])
    words = [queue["kind"]]
    if queue["limit"] is not None:
        words.append(f"limit {queue['limit']} {queue['limit_unit']}")
    words.append(f"a trace of {rate} in the mean" if "trace" in way else rate)
    return ", ".join(words)


def _round_trips(plan: Any) -> Iterator[tuple[str, str]]:
    """The shortest and the longest of the flows' base round trips."""
    found = {base_rtt_ns(plan, flow["src"], flow["dst"]) for flow in plan["flows"]}
    if found - {0}:
        yield "RTT", " to ".join(units.format_time(ns) for ns in sorted({min(found), max(found)}))
