"""Experiments as the tests write them, and what they want to know of a finished run."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.experiment import reading
from sandglass.run import runs

Mapped = dict[str, Any]
# Plain or with a seed; what was run before in this session is not run again.
Lab = Callable[..., "Run"]


def flow(workload: str, source: str = "s1", to: str = "d1", **keys: Any) -> Mapped:
    """A flow from one host to another."""
    return {"workload": workload, "from": source, "to": to, **keys}


def bulk(source: str = "s1", to: str = "d1", **keys: Any) -> Mapped:
    """A bulk TCP flow from one host to another."""
    return flow("bulk", source, to, **keys)


def dumbbell(*flows: Mapped, queue: Mapping[str, Any], **keys: Any) -> Mapped:
    """An experiment on the dumbbell: 10 Mb/s, 40 ms, 10 s where `keys` say nothing else.

    Those of `keys` that belong to the bottleneck go there.
    """
    bottleneck = {"rate": "10mbit", "queue": dict(queue)}
    for key in ("rate", "reverse", "schedule"):
        if key in keys:
            bottleneck[key] = keys.pop(key)
    return {
        "title": "test",
        "topology": "dumbbell",
        "rtt": "40ms",
        "bottleneck": bottleneck,
        "flows": list(flows),
        "duration": "10s",
    } | keys


def written(experiment: Mapping[str, Any], path: Path) -> Path:
    """The experiment as a file; JSON is YAML."""
    path.write_text(json.dumps(experiment, indent=1))
    return path


@dataclass(frozen=True)
class Run:
    """A finished run."""

    path: Path
    content: Mapped

    def table(self, name: str) -> pl.DataFrame:
        """packets, acks, queues or flows."""
        return pl.read_parquet(self.path / f"{name}.parquet")

    def packets(
        self, direction: str = "forward", bottleneck: str | None = None, flow: int | None = None
    ) -> pl.DataFrame:
        """packets.parquet in one direction of one bottleneck, the first one by default."""
        wanted = (pl.col("direction") == direction) & (
            pl.col("bottleneck") == (bottleneck or next(iter(self.content["bottlenecks"])))
        )
        if flow is not None:
            wanted &= pl.col("flow") == flow
        return self.table("packets").filter(wanted)

    def qdisc(self, node: str = "r1") -> Mapped:
        """What tc reported of the bottleneck's queue on a router that has only one."""
        queues = [q for q in self.content["observed"]["qdiscs"][node] if q["handle"] == "10:"]
        assert len(queues) == 1
        return dict(queues[0])

    def qdiscs(self, node: str) -> list[Mapped]:
        """What tc reported of all qdiscs of a node."""
        return list(self.content["observed"]["qdiscs"][node])

    def datagrams(self, number: int = 1) -> pl.DataFrame:
        """What the udp workload left of one flow."""
        return self.table("datagrams").filter(pl.col("flow") == number).drop("flow")


def run(
    experiment: Mapping[str, Any], directory: Path, seed: int | None = None, name: str = "run"
) -> Run:
    """Run an experiment in the lab, with its files in `directory`."""
    source = written(experiment, directory / f"{name}.yaml")
    result = runs.run(reading.load(source, seed=seed), source, directory / name)
    return Run(result.path, result.content)
