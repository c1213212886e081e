"""A topology drawn as text: a row of routers, a tree, or, where there are rings, who is linked to
whom.

Hosts stand where they are linked; alike ones are drawn as s1 … s10.
"""

import itertools
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from sandglass.experiment.topology import TopologyFacts

Graph = Mapping[str, Mapping[str, list[str]]]
"""By nodes and their neighbours: the names of the links between the two."""
Label = Callable[[str], str]
"""What is written at a link, by its name; nothing for a wire."""

LONGEST_RANGE = 3
"""So many alike are written out."""
MOST_LINES = 40


def picture(facts: TopologyFacts, label: Label) -> list[str]:
    """The topology as lines of text, with `label` of each link that is more than a wire."""
    links = {name: link.ends for name, link in facts.links.items()} | facts.bottleneck_ends
    graph = _graph(links)
    core = [node for node in graph if node not in facts.hosts]
    if not core:
        core = sorted(graph, key=_reading_order)
    inner = {node: [each for each in graph[node] if each in core] for node in core}
    leaves = [host for host in facts.hosts if host in graph and host not in core]
    edges = sum(map(len, inner.values())) // 2
    if edges >= len(core) or any(len(graph[host]) > 1 for host in leaves):
        lines = list(_listed(graph, leaves, label))
    elif all(len(others) <= 2 for others in inner.values()) and len(core) > 1:
        lines = list(_row(graph, inner, leaves, label))
    else:
        lines = list(_tree(graph, inner, leaves, label))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"… and {len(lines) - MOST_LINES} lines more"]
    return lines


def ranges(names: Collection[str]) -> str:
    """Names with those in a row put together: s1 … s10, d1."""
    runs: list[list[str]] = []
    for name in sorted(names, key=_reading_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    shown = (
        run if len(run) <= LONGEST_RANGE else [f"{run[0]} … {run[-1]} ({len(run)})"] for run in runs
    )
    return ", ".join(itertools.chain(*shown))


def _graph(links: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, list[str]]]:
    graph: dict[str, dict[str, list[str]]] = {}
    for name, (one, other) in links.items():
        graph.setdefault(one, {}).setdefault(other, []).append(name)
        graph.setdefault(other, {}).setdefault(one, []).append(name)
    return graph


def _row(
    graph: Graph, inner: Mapping[str, list[str]], hosts: Collection[str], label: Label
) -> Iterator[str]:
    """One below the other, from end to end."""
    ends = sorted((node for node in inner if len(inner[node]) == 1), key=_reading_order)
    node, before = ends[0], None
    width = max(map(len, inner))
    while True:
        yield f"{node:{width}}{_hosts_at(node, graph, hosts, label)}".rstrip()
        onward = [each for each in inner[node] if each != before]
        if not onward:
            return
        said = _labels(graph[node][onward[0]], label)
        yield f"║ {said}" if said else "│"
        node, before = onward[0], node


def _tree(
    graph: Graph, inner: Mapping[str, list[str]], hosts: Collection[str], label: Label
) -> Iterator[str]:
    """From the middle outwards."""
    parts = _parts(inner)
    for root in parts:
        yield f"{root}{_hosts_at(root, graph, hosts, label)}"
        yield from _branches(root, None, graph, inner, hosts, label)


def _branches(
    node: str,
    above: str | None,
    graph: Graph,
    inner: Mapping[str, list[str]],
    hosts: Collection[str],
    label: Label,
) -> Iterator[str]:
    below = sorted((each for each in inner[node] if each != above), key=_reading_order)
    for each in below:
        last = each == below[-1]
        said = _labels(graph[node][each], label)
        told = f" {said} ─" if said else ""
        yield f"{'└' if last else '├'}─{told} {each}{_hosts_at(each, graph, hosts, label)}"
        for line in _branches(each, node, graph, inner, hosts, label):
            yield f"{' ' if last else '│'}  {line}"


def _listed(graph: Graph, hosts: Collection[str], label: Label) -> Iterator[str]:
    """Each router with what it is linked to further out, from the middle on."""
    away = _away(graph, hosts)
    width = max(len(node) for node in graph if node not in hosts)
    inside = [node for node in graph if node not in hosts]
    for node in sorted(inside, key=lambda node: (-away[node], _reading_order(node))):
        linked = [
            each
            for each in graph[node]
            if each not in hosts
            and (away[each] < away[node] or (away[each] == away[node] and _before(node, each)))
        ]
        plain = [each for each in linked if not _labels(graph[node][each], label)]
        told = [ranges(plain)] if plain else []
        told += [
            f"{each} ({_labels(graph[node][each], label)})"
            for each in sorted(set(linked) - set(plain), key=_reading_order)
        ]
        around = f" ─ {', '.join(told)}" if told else ""
        yield f"{node:{width}}{around}{_hosts_at(node, graph, hosts, label)}"


def _before(node: str, other: str) -> bool:
    return _reading_order(node) < _reading_order(other)


def _hosts_at(node: str, graph: Graph, hosts: Collection[str], label: Label) -> str:
    """The hosts of a node, those with links alike together."""
    found: dict[str, list[str]] = {}
    for each in graph[node]:
        if each in hosts:
            found.setdefault(_labels(graph[node][each], label), []).append(each)
    groups = (
        f"{ranges(names)} ({said})" if said else ranges(names) for said, names in found.items()
    )
    return f" ── {', '.join(groups)}" if found else ""


def _labels(names: Iterable[str], label: Label) -> str:
    return "; ".join(filter(None, map(label, names)))


def _away(graph: Graph, hosts: Collection[str]) -> dict[str, int]:
    """How many links each node is from the nearest host."""
    away = dict.fromkeys(hosts, 0)
    waiting = deque(hosts)
    while waiting:
        node = waiting.popleft()
        for each in graph.get(node, ()):
            if each not in away:
                away[each] = away[node] + 1
                waiting.append(each)
    return away | {node: 0 for node in graph if node not in away}


def _parts(inner: Mapping[str, list[str]]) -> Iterator[str]:
    """The middle of each connected part: the node that is least far from all of it."""
    left = set(inner)
    while left:
        first = min(left, key=_reading_order)
        part = _distances(inner, first)
        yield min(
            part, key=lambda node: (max(_distances(inner, node).values()), _reading_order(node))
        )
        left -= part.keys()


def _distances(inner: Mapping[str, list[str]], start: str) -> dict[str, int]:
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for each in inner[node]:
            if each not in found:
                found[each] = found[node] + 1
                waiting.append(each)
    return found


def _follows(one: str, other: str) -> bool:
    """Whether the other name is the next: s2 after s1."""
    first, second = (re.fullmatch(r"(.*?)(\d+)", name) for name in (one, other))
    if not first or not second:
        return False
    return first[1] == second[1] and int(second[2]) == int(first[2]) + 1


def _reading_order(name: str) -> list[tuple[str, int]]:
    """hop2 before hop10."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name)]
