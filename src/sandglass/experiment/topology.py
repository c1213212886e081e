"""What an experiment may rely on about its topology, read from the Mininet Topo class."""

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sandglass.errors import UsageError, nearest
from sandglass.experiment import foreign, units
from sandglass.experiment.link import ALL_LINKS, Link, LinkSettings, of_mininet
from sandglass.experiment.problems import EMPTY
from sandglass.experiment.python_file import NOUNS
from sandglass.install.builds import ROOT

TOPOLOGIES = ROOT / "topologies"
NO_TOPOLOGY = ("__init__", "routed", "router")
"""Files in topologies/ that others import."""
LONGEST_NODE = 10
"""Characters; Linux takes 15 for an interface, such as NAME-eth1."""
LONGEST_NAME = 300
"""Characters of a path that a message shows."""
REQUIRED: Any = object()
TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
"""Those of python_file.NOUNS."""


@dataclass(frozen=True)
class TopologyFacts:
    """A topology with its parameters filled in."""

    name: str
    path: str
    """The file, relative to the checkout where it is part of it."""
    params: dict[str, Any]
    hosts: list[str]
    """Hosts that flows may join; routers and switches are not among them."""
    bottlenecks: list[str]
    """Names of the bottlenecks, the first one being the one that `bottleneck:` describes."""
    partner: dict[str, str]
    """dN for every sN and the other way round."""
    links: dict[str, Link]
    """All links but the bottlenecks, by their names."""
    bottleneck_ends: dict[str, tuple[str, str]]
    """The nodes at the ends of each bottleneck."""

    def link(self, name: str) -> tuple[Link, bool] | None:
        """The link called so from either end, and whether that is the end it is not named from."""
        if name in self.links:
            return self.links[name], False
        turned = (link for link in self.links.values() if link.turned_name == name)
        return next(((link, True) for link in turned), None)


def names() -> list[str]:
    """The topologies in topologies/."""
    found = (path.stem for path in TOPOLOGIES.glob("*.py"))
    return sorted(name for name in found if name not in NO_TOPOLOGY)


def find(topology: str) -> Path:
    """The file of a topology given by name or as a path to a .py file.

    Raises UsageError when there is none, naming the nearest.
    """
    if topology.endswith(".py"):
        with contextlib.suppress(OSError):  # such as a name that is too long for one
            if Path(topology).is_file():
                return Path(topology).resolve()
        raise UsageError(f"no topology file {topology[:LONGEST_NAME]}")
    if topology in names():
        return TOPOLOGIES / f"{topology}.py"
    raise UsageError(
        f"unknown topology {topology[:LONGEST_NAME]}{nearest(topology, names())}",
        f"There are {', '.join(names())}, or write the path of a .py file.",
    )


@dataclass(frozen=True)
class Parameter:
    """What an experiment may give a topology, as its `build` declares it."""

    kinds: tuple[str, ...]
    """Some of TYPES."""
    default: Any
    """REQUIRED where there is none."""
    meaning: str

    @property
    def noun(self) -> str:
        return " or ".join(NOUNS[kind] for kind in self.kinds)

    def takes(self, value: object) -> bool:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        wanted = {TYPES[kind] for kind in self.kinds}
        if float in wanted:
            wanted.add(int)
        return type(value) in wanted  # true is an int to isinstance()


@dataclass(frozen=True)
class Topology:
    """A topology's file, loaded."""

    name: str
    path: Path
    parameters: Mapping[str, Parameter]

    def wrong(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """What is wrong with parameters, by their names: missing, or of another type."""
        for name, parameter in self.parameters.items():
            if name not in given:
                if parameter.default is REQUIRED:
                    yield name, f"is missing: topology {self.name} needs {parameter.noun}"
            elif given[name] is None:
                yield name, EMPTY
            elif not parameter.takes(given[name]):
                yield name, f"{units.shown(given[name])} is not {parameter.noun}"

    def facts(self, given: Mapping[str, Any]) -> TopologyFacts:
        """What the topology is with these parameters, in which nothing is `wrong`.

        Raises UsageError when it cannot be built of them, in the topology's own words where it
        raises a ValueError.
        """
        filled = {name: given.get(name, each.default) for name, each in self.parameters.items()}
        told = foreign.ask("network", self.path, filled)
        hosts = told["hosts"]
        if not hosts:
            raise UsageError(f"topology {self.name} has no hosts that a flow could join")
        for node in told["nodes"]:
            if len(node) > LONGEST_NODE:
                raise UsageError(
                    f"topology {self.name}: {node} is too long a name for a node",
                    f"Use at most {LONGEST_NODE} characters: its interfaces are called after it.",
                )
        if told["loops"] and told["classes"]:
            raise UsageError(
                f"topology {self.name}: packets would go round for ever in its ring of "
                f"switches, as {told['classes'][0]} has a class of its own",
                "Leave out its cls, so that switches span a tree, or cut the ring.",
            )
        bottlenecks, links = self._links(told["links"])
        inside = self.path.is_relative_to(ROOT)
        return TopologyFacts(
            name=self.name,
            path=str(self.path.relative_to(ROOT) if inside else self.path),
            params=filled,
            hosts=sorted(hosts, key=_in_reading_order),
            bottlenecks=sorted(bottlenecks, key=_in_reading_order),
            partner={host: other for host in hosts if (other := _partner(host)) in hosts},
            links=links,
            bottleneck_ends=bottlenecks,
        )

    def _links(
        self, named: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> tuple[dict[str, tuple[str, str]], dict[str, Link]]:
        """The ends of the bottlenecks, and the other links, each by its name."""
        bottlenecks: dict[str, tuple[str, str]] = {}
        links: dict[str, Link] = {}
        for name, info in named:
            ends = info["node1"], info["node2"]
            if "bottleneck" in info:
                bottlenecks[info["bottleneck"]] = ends
                continue
            try:
                links[name] = of_mininet(name, ends, info)
            except ValueError as error:
                said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                raise UsageError(f"topology {self.name}: link {name}: {said}") from None
        return bottlenecks, links


def shaped(facts: TopologyFacts, given: Mapping[str, LinkSettings | None]) -> dict[str, Link]:
    """All links with what an experiment gives them, as far as there are links of the names."""
    links = dict(facts.links)
    if common := given.get(ALL_LINKS):
        links = {name: link.changed(common, turned=False) for name, link in links.items()}
    for name, settings in given.items():
        if settings is not None and (found := facts.link(name)):
            link, turned = found
            links[link.name] = links[link.name].changed(settings, turned=turned)
    return links


def load(topology: str) -> Topology:
    """A topology by name or as a path to a .py file.

    Raises UsageError when there is none or it says nothing that an experiment can use.
    """
    path = find(topology)
    told = foreign.ask("parameters", path)
    declared = {
        name: Parameter(tuple(each["kinds"]), each.get("default", REQUIRED), each["meaning"])
        for name, each in told["parameters"].items()
    }
    return Topology(told["name"], path, declared)


def facts(topology: str, params: Mapping[str, Any]) -> TopologyFacts:
    """What a topology is with these parameters.

    Raises UsageError for one that does not exist or cannot be built from `params`.
    """
    found = load(topology)
    for key in params:
        if key not in found.parameters:
            raise UsageError(
                f"topology {found.name} has no parameter {key}{nearest(key, found.parameters)}",
                f"It has: {', '.join(found.parameters) or 'none'}.",
            )
    for key, text in found.wrong(params):
        raise UsageError(f"{key}: {text}", f"Give it: --set {key}=VALUE")
    return found.facts(params)


def _in_reading_order(name: str) -> list[tuple[str, int]]:
    """hop2 before hop10."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name)]


def _partner(host: str) -> str:
    """dN for sN and the other way round; empty for others."""
    sides = {"s": "d", "d": "s"}
    return sides[host[0]] + host[1:] if host[:1] in sides and host[1:].isdigit() else ""
