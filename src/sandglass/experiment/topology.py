"""What an experiment may rely on about its topology, read from the Mininet Topo class."""

import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sandglass.errors import UsageError, nearest
from sandglass.install.builds import ROOT

TOPOLOGIES = ROOT / "topologies"
# Mininet is a Debian package, not one of this environment's; it is plain Python.
DEBIAN_PYTHON = "/usr/lib/python3/dist-packages"
MOST = 100
"""The largest value of a topology's parameter."""


@dataclass(frozen=True)
class TopologyFacts:
    """A topology with its parameters filled in."""

    name: str
    path: str
    """The file, relative to the checkout where it is part of it."""
    params: dict[str, int]
    hosts: list[str]
    """Hosts that flows may join; routers and switches are not among them."""
    bottlenecks: list[str]
    """Names of the bottlenecks, the first one being the one that `bottleneck:` describes."""
    partner: dict[str, str]
    """dN for every sN and the other way round."""


def names() -> list[str]:
    """The topologies in topologies/."""
    found = (path.stem for path in TOPOLOGIES.glob("*.py"))
    return sorted(name for name in found if name not in ("__init__", "router"))


def find(topology: str) -> Path:
    """The file of a topology given by name or as a path to a .py file.

    Raises UsageError when there is none, naming the nearest.
    """
    path = Path(topology) if topology.endswith(".py") else TOPOLOGIES / f"{topology}.py"
    if topology in names() or (topology.endswith(".py") and path.is_file()):
        return path.resolve()
    if topology.endswith(".py"):
        raise UsageError(f"no topology file {topology}")
    raise UsageError(
        f"unknown topology {topology}{nearest(topology, names())}",
        f"There are {', '.join(names())}, or write the path of a .py file.",
    )


def _load(path: Path) -> ModuleType:
    for place in (str(ROOT), DEBIAN_PYTHON):
        if place not in sys.path:
            # Last, so that this environment's own packages win.
            sys.path.append(place)
    spec = importlib.util.spec_from_file_location("experiment_topology", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        hint = "Run `./sandglass setup`." if error.name == "mininet" else None
        raise UsageError(f"{path.name} needs the module {error.name}", hint) from None
    except Exception as error:
        raise UsageError(f"{path.name} cannot be loaded: {error}") from None
    return module


def facts(topology: str, params: dict[str, Any]) -> TopologyFacts:
    """What the topology is with these parameters.

    Raises UsageError for a topology that does not exist or cannot be built from `params`.
    """
    path = find(topology)
    table = getattr(_load(path), "topos", None)
    if not table:
        raise UsageError(
            f"{path.name} defines no topology", "End it with: topos = {'name': TheTopoClass}"
        )
    name, topo_class = next(iter(table.items()))
    known = {
        parameter.name: parameter.default
        for parameter in inspect.signature(topo_class.build).parameters.values()
        if parameter.name != "self" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    for key, value in params.items():
        if key not in known:
            raise UsageError(
                f"topology {name} has no parameter {key}{nearest(key, known)}",
                f"It has: {', '.join(known) or 'none'}.",
            )
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise UsageError(f"{key}: write a whole number from 1 to {MOST}, not {value}")
    filled = {key: params.get(key, default) for key, default in known.items()}
    try:
        topo = topo_class(**filled)
    except Exception as error:
        raise UsageError(f"topology {name} cannot be built from {filled}: {error}") from None
    hosts = [host for host in topo.hosts() if "routes" not in topo.nodeInfo(host)]
    bottlenecks = [
        info["bottleneck"]
        for _, _, info in topo.links(sort=True, withInfo=True)
        if "bottleneck" in info
    ]
    bottlenecks.sort(key=_in_reading_order)
    if not bottlenecks:
        raise UsageError(
            f"topology {name} has no bottleneck",
            "Give the link to study a name: self.addLink(a, b, bottleneck='bottleneck')",
        )
    partner = {
        host: other for host in hosts if (other := _partner(host)) is not None and other in hosts
    }
    inside = path.is_relative_to(ROOT)
    return TopologyFacts(
        name=name,
        path=str(path.relative_to(ROOT) if inside else path),
        params=filled,
        hosts=sorted(hosts, key=_in_reading_order),
        bottlenecks=bottlenecks,
        partner=partner,
    )


def _in_reading_order(name: str) -> list[tuple[str, int]]:
    """hop2 before hop10."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name)]


def _partner(host: str) -> str | None:
    sides = {"s": "d", "d": "s"}
    return sides[host[0]] + host[1:] if host[:1] in sides and host[1:].isdigit() else None
