"""Numbers of a run, computed from its records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.agent.declare import Column
from sandglass.agent.plan import Plan, Result
from sandglass.records import flow_files
from sandglass.records.capacity import Room
from sandglass.records.records import OUTCOMES, QUEUED, SENT, Records, own_counters

if TYPE_CHECKING:
    from sandglass.experiment.workload import Workload

CE = 3  # ECN field "congestion experienced", RFC 3168
UNMARKING = ("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast")
"""Kinds of queues that know nothing of ECN."""
QUANTILES = {"median": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}


def quantiles_ms(times_ns: npt.NDArray[np.int64]) -> dict[str, float | None]:
    """Mean and quantiles of times, in ms; all None where there are none."""
    if not len(times_ns):
        return dict.fromkeys(["mean", *QUANTILES])
    values = np.percentile(times_ns, list(QUANTILES.values())) / 1e6
    return {
        "mean": float(times_ns.mean() / 1e6),
        **dict(zip(QUANTILES, map(float, values), strict=True)),
    }


def bottleneck(records: Records, watch: int, room: Room, duration_ns: int) -> dict[str, Any]:
    """One direction of a bottleneck.

    Utilisation counts the bytes whose transmission started within the run, as the link counts
    them. Packets are those that arrived; marks are those that left with CE and came without.
    """
    mine = records["watch"] == watch
    enqueue_ns, leave_ns = records["enqueue_ns"], records["leave_ns"]
    outcome = records["outcome"]
    within = mine & (enqueue_ns >= 0) & (enqueue_ns <= duration_ns)
    sent = mine & (outcome == SENT) & (leave_ns >= 0) & (leave_ns <= duration_ns)
    dropped = outcome[within]
    reasons = {
        name: int((dropped == number).sum())
        for number, name in enumerate(OUTCOMES)
        if number not in (SENT, QUEUED)
    }
    return {
        "utilisation": room.used(
            int(records["size_bytes"][sent].sum(dtype=np.int64)), int(sent.sum())
        ),
        "queue_delay_ms": quantiles_ms(leave_ns[sent] - enqueue_ns[sent]),
        "packets": int(within.sum()),
        "drops": sum(reasons.values()),
        "drops_by_reason": reasons,
        "marks": int((sent & (records["ecn_out"] == CE) & (records["ecn_in"] != CE)).sum()),
    }


def from_counters(
    counted: Mapping[str, Any],
    kind: str,
    room: Room,
    *,
    alone: bool,
) -> dict[str, Any]:
    """The same of a bottleneck whose packets were not recorded, from its queue's counters.

    `alone`: the network has no other, so that no packet comes with a mark. The counters begin
    a second before time zero, when nothing is sent yet. What they do not tell is None.
    """
    return {
        "utilisation": room.used(counted["bytes"], counted["packets"]),
        "queue_delay_ms": None,
        "packets": counted["packets"] + counted["drops"] + counted["queued"],
        "drops": counted["drops"],
        "drops_by_reason": None,
        "marks": marks(counted, kind, alone=alone),
    }


def marks(counted: Mapping[str, Any], kind: str, *, alone: bool) -> int | None:
    """How many packets a queue has sent with a mark of its own; None where it does not tell.

    RED and PIE count a mark when the packet arrives, which may not have been sent yet; RED may
    even drop it then for want of room. All count what another bottleneck has marked before.
    """
    if kind in UNMARKING:
        return 0
    if not alone:
        return None
    own = own_counters(kind, bytes.fromhex(counted["xstats"]))
    match kind:
        case "codel" | "fq_codel":
            return int(own["ecn_mark"] + own["ce_mark"])
        case "pie" | "fq_pie" if not counted["queued"]:
            return int(own["ecn_mark"])
        case "red" if not counted["queued"] and not own["pdrop"]:
            return int(own["ecn_mark"])
    return None


BASE: dict[str, type[pl.DataType]] = {
    "flow": pl.UInt16,
    "seed": pl.UInt64,
    "workload": pl.String,
    "src": pl.String,
    "dst": pl.String,
    "cc": pl.String,
    "ecn": pl.Boolean,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "bytes": pl.Int64,
    "fct_s": pl.Float64,
    "goodput_mbit": pl.Float64,
    "retransmits": pl.Int64,
    "rtos": pl.Int64,
    "delivered_ce": pl.Int64,
    "unfinished": pl.String,
}
"""Columns of flows.parquet that every run has."""
RENAMED = {"flow": "id", "src": "from", "dst": "to"}
"""What run.json calls them."""


def columns(kinds: Iterable["Workload"]) -> dict[str, Column]:
    """What the workloads of a run add to what is told of each flow."""
    return {name: column for kind in kinds for name, column in kind.columns.items()}


def _told(result: Result, name: str) -> Any:
    """A number of a flow's result; a time there is in ns."""
    if name in result or not name.endswith("_s"):
        return result.get(name)
    ns = result.get(name.removesuffix("_s") + "_ns")
    return None if ns is None else ns / 1e9


def flows(
    plan: Plan, found: Sequence[Result], seed: int, own: Mapping[str, Column]
) -> list[dict[str, Any]]:
    """What became of each flow in the run with `seed`; `own` is what its workloads add.

    Goodput counts the bytes the receiver got, over the flow's time.
    """
    table = []
    for flow, result in zip(plan["flows"], found, strict=True):
        seconds = (result["end_ns"] - result["start_ns"]) / 1e9
        received = result["bytes"]
        table.append(
            {
                "id": flow["id"],
                "seed": seed,
                "workload": flow["workload"],
                "from": flow["src"],
                "to": flow["dst"],
                "cc": result.get("cc"),
                "ecn": result.get("ecn"),
                "start_s": result["start_ns"] / 1e9,
                "end_s": result["end_ns"] / 1e9,
                "bytes": received,
                "goodput_mbit": None if received is None else received * 8 / seconds / 1e6,
                "fct_s": _told(result, "fct_s"),
                "retransmits": result.get("retransmits"),
                "rtos": result.get("rtos"),
                "delivered_ce": result.get("delivered_ce"),
                "unfinished": result.get("unfinished"),
            }
            | {name: _told(result, name) for name in own}
        )
    return table


def doubts(observed: Sequence[Sequence[Result]], plan: Plan) -> Iterator[str]:
    """What flows did not do that they were to do, of all repetitions, and what they tell of it."""
    for number, results in enumerate(observed):
        where = f" with seed {plan['seed'] + number}" if plan["repeat"] > 1 else ""
        for flow, result in zip(plan["flows"], results, strict=True):
            called = f"flow {flow['id']} ({flow['workload']}){where}"
            if why := result.get("unfinished"):
                yield f"{called} is unfinished: {why}"
            for doubt in result.get("doubts", ()):
                yield f"{called} {doubt}"


def flow_table(rows: Sequence[Mapping[str, Any]], own: Mapping[str, Column]) -> pl.DataFrame:
    """flows.parquet: one row per flow and repetition."""
    schema = BASE | flow_files.schema(own)
    return pl.DataFrame(
        [{name: row[RENAMED.get(name, name)] for name in schema} for row in rows], schema=schema
    )


def part_tables(
    plan: Plan, observed: Sequence[Sequence[Result]], kinds: Iterable["Workload"]
) -> dict[str, pl.DataFrame]:
    """Tables of the parts of flows that have any, by the key of their results: a row per part."""
    tables = {}
    for name, own in {name: own for kind in kinds for name, own in kind.parts.items()}.items():
        rows = [
            {"flow": flow["id"], "seed": plan["seed"] + number, **part}
            for number, found in enumerate(observed)
            for flow, result in zip(plan["flows"], found, strict=True)
            for part in result.get(name, ())
        ]
        schema = {name: BASE[name] for name in ("flow", "seed")} | flow_files.schema(own)
        tables[name] = pl.DataFrame(rows, schema)
    return tables
