"""What an experiment may rely on about its topology, read from the Mininet Topo class."""

import contextlib
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import ValidationError

from sandglass.agent import pyfile
from sandglass.agent.names import has_loops, named_links
from sandglass.errors import UsageError, nearest
from sandglass.experiment import units
from sandglass.experiment.link import ALL_LINKS, Link, LinkSettings, of_mininet
from sandglass.experiment.problems import EMPTY
from sandglass.install.builds import ROOT, ROOT_FILES, chosen_root

TOPOLOGIES = ROOT / "topologies"
PYTHON_PACKAGES = "usr/lib/python3/dist-packages"
"""Where the lab's root has Mininet, which is plain Python."""
NO_TOPOLOGY = ("__init__", "routed", "router")
"""Files in topologies/ that others import."""
LONGEST_NODE = 10
"""Characters; Linux takes 15 for an interface, such as NAME-eth1."""
LONGEST_NAME = 300
"""Characters of a path that a message shows."""
REQUIRED: Any = inspect.Parameter.empty
NOUNS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
}
"""What a parameter may be, and what it is called."""


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


def _load(path: Path) -> ModuleType:
    try:
        with _mininet():
            return pyfile.load(str(path), "experiment_topology")
    except ModuleNotFoundError as error:
        hint = "Run `./sandglass setup`." if error.name == "mininet" else None
        raise UsageError(f"{path.name} needs the module {error.name}", hint) from None
    except Exception as error:
        raise UsageError(f"{path.name} cannot be loaded: {error}") from None


@contextlib.contextmanager
def _mininet() -> Iterator[None]:
    """Lets a topology import the lab's Mininet, of which nothing is written into the lab's root.

    Its nodes import distutils for a comparison that only a switch makes which runs. Python has none
    any more, and that of setuptools takes longer to import than all of Mininet.
    """
    root = chosen_root()
    for place in [ROOT, *([root / ROOT_FILES / PYTHON_PACKAGES] if root else [])]:
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


@dataclass(frozen=True)
class Parameter:
    """What an experiment may give a topology, as its `build` declares it."""

    kinds: tuple[type, ...]
    """Some of NOUNS."""
    default: Any
    """REQUIRED where there is none."""
    meaning: str

    @property
    def noun(self) -> str:
        return " or ".join(NOUNS[kind] for kind in self.kinds)

    def takes(self, value: object) -> bool:
        if isinstance(value, float) and not math.isfinite(value):
            return False
        wanted = {*self.kinds, int} if float in self.kinds else {*self.kinds}
        return type(value) in wanted  # true is an int to isinstance()


@dataclass(frozen=True)
class Topology:
    """A topology's file, loaded."""

    name: str
    path: Path
    build: Callable[..., Any]
    """Makes a Mininet Topo of the parameters."""
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
        try:
            topo = self.build(**filled)
        except ValueError as error:
            raise UsageError(str(error) or f"topology {self.name} refuses {filled}") from None
        except Exception as error:
            raise UsageError(
                f"topology {self.name} cannot be built from {filled}: "
                f"{type(error).__name__}: {error}"
            ) from None
        hosts = [host for host in topo.hosts() if "routes" not in topo.nodeInfo(host)]
        if not hosts:
            raise UsageError(f"topology {self.name} has no hosts that a flow could join")
        for node in topo.nodes():
            if len(node) > LONGEST_NODE:
                raise UsageError(
                    f"topology {self.name}: {node} is too long a name for a node",
                    f"Use at most {LONGEST_NODE} characters: its interfaces are called after it.",
                )
        if has_loops(topo):
            for switch in topo.switches():
                info = topo.nodeInfo(switch)
                if info.get("cls") and not info.get("stp"):
                    raise UsageError(
                        f"topology {self.name}: packets would go round for ever in its ring of "
                        f"switches, as {switch} has a class of its own",
                        "Leave out its cls, so that switches span a tree, or cut the ring.",
                    )
        bottlenecks, links = self._links(topo)
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

    def _links(self, topo: Any) -> tuple[dict[str, tuple[str, str]], dict[str, Link]]:
        """The ends of the bottlenecks, and the other links, each by its name."""
        bottlenecks: dict[str, tuple[str, str]] = {}
        links: dict[str, Link] = {}
        for name, info in named_links(topo):
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
    table = getattr(_load(path), "topos", None)
    if not table:
        raise UsageError(
            f"{path.name} defines no topology", "End it with: topos = {'name': TheTopoClass}"
        )
    name, build = next(iter(table.items()))
    try:
        hints = typing.get_type_hints(build.build, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{path.name}: build() is annotated with what is not there: {error}"
        ) from None
    declared = {
        each.name: _declared(each, hints.get(each.name))
        for each in inspect.signature(build.build).parameters.values()
        if each.name != "self" and each.kind is each.POSITIONAL_OR_KEYWORD
    }
    return Topology(name, path, build, declared)


def _declared(parameter: inspect.Parameter, hint: Any) -> Parameter:
    """A parameter with the type of its annotation, else of its default, else of any."""
    meaning = ""
    if typing.get_origin(hint) is Annotated:
        hint, *notes = typing.get_args(hint)
        meaning = next((note for note in notes if isinstance(note, str)), "")
    if hint is None:
        hint = type(parameter.default)
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    wanted = typing.get_args(hint) if union else (hint,)
    kinds = tuple(kind for kind in NOUNS if kind in wanted) or tuple(NOUNS)
    return Parameter(kinds, parameter.default, meaning)


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
