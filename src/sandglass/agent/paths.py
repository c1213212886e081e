"""Paths through a topology."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Graph = dict[str, list[str]]
Edge = tuple[str, str]


def neighbours(links: Iterable[Edge]) -> Graph:
    """The nodes that each node is linked to, in the order of the links."""
    graph: Graph = {}
    for one, two in links:
        graph.setdefault(one, []).append(two)
        graph.setdefault(two, []).append(one)
    return graph


def shortest(graph: Graph, source: str, destination: str) -> list[Edge]:
    """The links of a path with the fewest hops, the first found; empty where there is none."""
    came_from: dict[str, str] = {source: source}
    waiting = deque([source])
    while waiting and destination not in came_from:
        node = waiting.popleft()
        for other in graph.get(node, ()):
            if other not in came_from:
                came_from[other] = node
                waiting.append(other)
    path = []
    node = destination
    while node in came_from and node != source:
        path.append((came_from[node], node))
        node = came_from[node]
    return path[::-1]
