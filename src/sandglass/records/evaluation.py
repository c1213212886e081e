"""A run's tables and numbers, from what its agent has left.

Nothing here knows an experiment: the plan says all that was done. So what decides a run's files is
the plan, the agent, the workloads, the lab, and the code of this folder and of sandglass.lab.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sandglass.agent.plan import Plan
from sandglass.records import capacity, flow_files, flow_folders, qlog, records, summary
from sandglass.records.records import Records, own_counters

if TYPE_CHECKING:
    from sandglass.experiment.workload import Workload


@dataclass(frozen=True)
class Evaluation:
    """What a run's records say, besides the tables in its directory."""

    observed: dict[str, Any]
    """What the agent has told of the network and of itself (agent/__main__.py)."""
    flows: list[dict[str, Any]]
    """Of the first repetition, as in run.json."""
    bottlenecks: dict[str, Any]
    """By name, as in run.json."""
    virtual_s: float
    digest: str
    """SHA-256 over all that the lab left, before it was read."""


def evaluate(
    plan: Plan,
    directory: Path,
    *,
    tables: Set[str],
    kinds: Mapping[str, "Workload"],
    ask: flow_files.Ask,
    warn: Callable[[str], None],
) -> Evaluation:
    """Turn what the agent left in `directory` into tables there.

    Args:
        tables: which of the recorder's are wanted.
        kinds: the workloads, as flows call them.
        ask: asks a workload's file what a flow's file says.
        warn: is told of what is doubtful.
    """
    observed = json.loads((directory / "observed.json").read_text())
    digest = _digest(observed, directory)
    names = records.names_of(plan, observed)
    met = None
    told: dict[int, dict[str, dict[str, float]]] = {}
    for name, (stream, dtype, table) in records.TABLES.items():
        if name in tables and stream in plan["record"]:
            raw = records.read(directory / f"{stream}.records", dtype)
            if name == "packets":
                met = raw
                names = records.with_connections(names, raw)
            rows = table(raw, names)
            if name == "acks":
                last = records.told_last(rows)
                told = {number: {"counters": found} for number, found in last.items()}
            # who reads a table reads all of it: statistics of its parts take a third of the time
            rows.write_parquet(directory / f"{name}.parquet", compression="lz4", statistics=False)
    for path in directory.glob("*.records"):
        path.unlink()
    columns = summary.columns(kinds.values())
    flows = [
        summary.flows(plan, repetition, plan["seed"] + number, columns)
        for number, repetition in enumerate(observed["flows"])
    ]
    rows_of_flows = [flow for each in flows for flow in each]
    summary.flow_table(rows_of_flows, columns).write_parquet(directory / "flows.parquet")
    for doubt in summary.doubts(observed["flows"], plan):
        warn(doubt)
    for name, rows in _tables(plan, observed, flows[0], kinds, ask, directory, warn).items():
        rows.write_parquet(directory / f"{name}.parquet")
    bottlenecks = _bottlenecks(plan, observed, met)
    (directory / "observed.json").unlink()
    return Evaluation(
        observed=observed,
        flows=[flow | told.get(flow["id"], {}) for flow in flows[0]],
        bottlenecks=bottlenecks,
        virtual_s=_virtual_s(plan, observed),
        digest=digest,
    )


def _digest(observed: Mapping[str, Any], directory: Path) -> str:
    digest = hashlib.sha256()
    digest.update(json.dumps([observed["flows"], observed["rtt_ns"]], sort_keys=True).encode())
    for path in sorted(_left(directory)):
        name = path.relative_to(directory)
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    for path in sorted(directory.glob("*.flent.gz")):
        measured = json.loads(gzip.decompress(path.read_bytes()))
        kept = {key: measured[key] for key in ("x_values", "results")}
        digest.update(json.dumps(kept, sort_keys=True).encode())
    return digest.hexdigest()


def _left(directory: Path) -> Iterator[Path]:
    """The files that the digest counts as they are."""
    for pattern in ("*.records", "*.csv", "command-*.txt"):
        yield from directory.glob(pattern)
    for folder in flow_folders.folders(directory):
        yield from flow_folders.files(folder)


def _tables(
    plan: Plan,
    observed: Mapping[str, Any],
    flows: list[dict[str, Any]],
    kinds: Mapping[str, "Workload"],
    ask: flow_files.Ask,
    directory: Path,
    warn: Callable[[str], None],
) -> dict[str, pl.DataFrame]:
    """The tables of flows' parts and files; what files say besides goes into `flows`."""
    found = summary.part_tables(plan, observed["flows"], kinds.values())
    if plan["repeat"] == 1:
        found |= flow_files.tables(plan, flows, kinds, ask, directory)
        told = qlog.table(plan, directory, observed["wall_zero_ns"], warn)
        found |= {} if told is None else {flow_folders.QLOG: told}
    return found


def _bottlenecks(plan: Plan, observed: dict[str, Any], met: Records | None) -> dict[str, Any]:
    """What each bottleneck did, from the packets that its queues met, or else their counters."""
    found: dict[str, dict[str, Any]] = {}
    for number, (watch, counted) in enumerate(
        # With repeat none are counted.
        zip(observed["watches"], observed["counters"], strict=bool(observed["counters"]))
    ):
        link, way, end = watch["bottleneck"], watch["direction"], plan["duration_ns"]
        room = capacity.room(plan["bottlenecks"][link], way, link, plan["seed"], end)
        if met is None:
            alone = len(plan["bottlenecks"]) == 1
            numbers = summary.from_counters(counted, watch["kind"], room, alone=alone)
        else:
            numbers = summary.bottleneck(met, number, room, end)
        if own := own_counters(watch["kind"], bytes.fromhex(counted["xstats"])):
            numbers["counters"] = own
        if way == "forward":
            found.setdefault(link, {}).update(numbers)
        else:
            found.setdefault(link, {})["reverse"] = numbers
    return found


def _virtual_s(plan: Plan, observed: dict[str, Any]) -> float:
    """How long the experiment lasted; of repetitions, each to the end of its last flow."""
    if plan["repeat"] == 1:
        return float(plan["duration_ns"] / 1e9)
    return float(sum(max(flow["end_ns"] for flow in each) for each in observed["flows"]) / 1e9)
