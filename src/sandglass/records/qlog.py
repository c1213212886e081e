"""What flows' programs say of their QUIC connections in qlog files, as a table: qlog.parquet.

The format is that of draft-ietf-quic-qlog-main-schema, as JSON or as a sequence of it (JSON-SEQ,
RFC 7464, and lines of JSON, as older programs write); the events are those of
draft-ietf-quic-qlog-quic-events, by their names in the drafts 0 to 10 of both. Whoever wrote a file
is a stranger: what cannot be read is told, and no row.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.agent.declare import SERVER
from sandglass.agent.plan import Plan, PlannedFlow
from sandglass.records import flow_folders

SUFFIXES = (".qlog", ".sqlog")
RECORD = b"\x1e"
"""Begins each record of a sequence."""
DELTAS = ("delta", "relative_to_previous_event")
"""Formats of time in which each event counts from the one before; all others are offsets."""
EARLIEST_MS = 1e11
"""A time before it, in 1973, is none of the wall clock's, but of a clock that began by itself."""
UDP = 17
INFINITE = 1 << 62
"""No number of QUIC's is as large (RFC 9000, section 16): a threshold that is, is not set yet."""
NS_PER_MS = 1_000_000
SCHEMA: dict[str, type[pl.DataType]] = {
    "flow": pl.UInt16,
    "time_ns": pl.Int64,
    "file": pl.String,
    "trace": pl.UInt32,
    "end": pl.String,
    "cwnd_bytes": pl.UInt64,
    "ssthresh_bytes": pl.UInt64,
    "inflight_bytes": pl.UInt64,
    "srtt_us": pl.UInt32,
    "latest_rtt_us": pl.UInt32,
    "min_rtt_us": pl.UInt32,
    "lost_packets": pl.UInt32,
    "largest_bytes": pl.UInt32,
    "state": pl.String,
}
AMOUNTS = {
    "congestion_window": "cwnd_bytes",
    "cwnd": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "bytes_in_flight": "inflight_bytes",
}
ROUND_TRIPS = {
    "smoothed_rtt": "srtt_us",
    "latest_rtt": "latest_rtt_us",
    "min_rtt": "min_rtt_us",
}
US_PER_MS = 1000


WRONG = (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)
"""What reading something else than qlog raises."""


class QlogError(ValueError):
    """Why a file is none of qlog's."""


@dataclass
class Trace:
    """One connection as one of its ends saw it."""

    end: str | None
    """client, server or network, where the file says so."""
    reference_ms: float | None
    """On the wall clock; None: it does not say when it began."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The state after each event that tells of it; `time_ms` counts from the reference."""
    first_sent_ms: float | None = None
    """When its first packet was sent, likewise."""
    state: dict[str, Any] = field(default_factory=lambda: {"lost_packets": 0})
    """The last one."""

    def take(self, time_ms: float, name: str, data: Mapping[str, Any]) -> None:
        """Read an event."""
        if name == "packet_sent":
            if self.first_sent_ms is None:
                self.first_sent_ms = time_ms
            if size := (data.get("raw") or {}).get("length"):
                self.state["largest_bytes"] = max(size, self.state.get("largest_bytes", 0))
        elif told := _told(name.removeprefix("recovery_"), data, self.state):
            self.state |= told
            self.rows.append({"time_ms": time_ms, **self.state})


def traces(content: bytes) -> Iterator[Trace]:
    """The connections in a file. Raises QlogError where it is none of qlog's."""
    try:
        if content.startswith(RECORD):
            yield from _of_sequence(content.split(RECORD)[1:])
            return
        lines = content.strip().splitlines()
        if len(lines) > 1 and "traces" not in (head := _head(lines[0])) and head:
            yield from _of_sequence(lines)
            return
        whole = json.loads(content)
        for told in whole["traces"]:
            yield from _connections(told, told["events"])
    except WRONG as error:
        raise QlogError(f"{type(error).__name__}: {error}") from None


def _head(line: bytes) -> Mapping[str, Any]:
    """The object that a line is; empty where it is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _of_sequence(records: Sequence[bytes]) -> Iterator[Trace]:
    """The connections of a sequence: its head, then an event in each record."""
    yield from _connections(json.loads(records[0])["trace"], map(json.loads, _whole(records[1:])))


def _whole(records: Sequence[bytes]) -> Iterator[bytes]:
    """Records without the last, if its program was ended while it wrote it (RFC 7464)."""
    for number, record in enumerate(records, 1):
        if not record.strip():
            continue
        if number == len(records):
            try:
                json.loads(record)
            except ValueError:
                return
        yield record


def _connections(told: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> Sequence[Trace]:
    """Those of a trace: each group of events is one, in the order of their first."""
    common = told.get("common_fields") or {}
    end, reference_ms = (told.get("vantage_point") or {}).get("type"), _reference_ms(common)
    adds = common.get("time_format") in DELTAS
    groups: dict[Any, Trace] = {}
    now_ms = 0.0
    for event in events:
        now_ms = event["time"] + (now_ms if adds else 0.0)
        if not math.isfinite(now_ms):
            raise QlogError("a time is no number")
        found = groups.setdefault(str(event.get("group_id")), Trace(end, reference_ms))
        found.take(now_ms, event["name"].rpartition(":")[2], event.get("data") or {})
    return [*groups.values()]


def _reference_ms(common: Mapping[str, Any]) -> float | None:
    """When a trace's times begin, on the wall clock; 0 where they are on it themselves."""
    told = common.get("reference_time", 0)
    if isinstance(told, dict):
        said = told.get("wall_clock_time")
        if told.get("clock_type") != "monotonic":
            said = said or told.get("epoch")
        if not said or said == "unknown":
            return None
        return datetime.fromisoformat(said).timestamp() * 1000
    return float(told)


def _told(name: str, data: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """What an event changes of a connection's state."""
    if name == "packet_lost" and not data.get("is_mtu_probe_packet"):
        return {"lost_packets": state["lost_packets"] + 1}
    if name == "congestion_state_updated":
        return {"state": str(data["new"])}
    if name != "metrics_updated":
        return {}
    found = {
        column: round(data[key] * US_PER_MS) for key, column in ROUND_TRIPS.items() if key in data
    }
    for key, column in AMOUNTS.items():
        if key in data:
            found[column] = None if data[key] >= INFINITE else round(data[key])
    return found


def table(
    plan: Plan, directory: Path, wall_zero_ns: int, warn: Callable[[str], None]
) -> pl.DataFrame | None:
    """The states that the qlog files of all flows tell, in order of time; None: there are none.

    `wall_zero_ns` is the experiment's start on the wall clock that programs see. `warn` is told of
    files that cannot be read.
    """
    parts: list[pl.DataFrame] = []
    for folder in flow_folders.folders(directory):
        number = int(folder.name.rpartition("-")[2])
        for path in flow_folders.files(folder):
            if path.suffix not in SUFFIXES:
                continue
            name = str(path.relative_to(directory))
            try:
                found = [
                    _rows(trace, plan, number, wall_zero_ns, directory).with_columns(
                        file=pl.lit(name), trace=pl.lit(index, pl.UInt32)
                    )
                    for index, trace in enumerate(traces(path.read_bytes()), 1)
                ]
            except (QlogError, pl.exceptions.PolarsError) as error:
                warn(f"{name} is no qlog that can be read: {error}")
            else:
                parts += found
    if not parts:
        return None
    return pl.concat(part.select(*SCHEMA) for part in parts).sort("time_ns", maintain_order=True)


def _rows(
    trace: Trace, plan: Plan, number: int, wall_zero_ns: int, directory: Path
) -> pl.DataFrame:
    """A trace of the flow of this number, by the experiment's clock."""
    owner = _owner(plan, number)
    first_ns, largest = _sent(directory, owner, plan["flows"][number - 1]["src"])
    told = [name for name in SCHEMA if name not in ("flow", "time_ns", "file", "trace", "end")]
    schema = {"time_ms": pl.Float64} | {name: SCHEMA[name] for name in told}
    begin_ns = _begin_ns(trace, plan["flows"][owner - 1], wall_zero_ns, first_ns)
    return pl.DataFrame(trace.rows, schema).with_columns(
        time_ns=begin_ns + (pl.col("time_ms") * NS_PER_MS).round().cast(pl.Int64),
        flow=pl.lit(owner, pl.UInt16),
        end=pl.lit(trace.end, pl.String),
        # Where a program does not say what it sends, a queue does.
        largest_bytes=pl.coalesce(
            "largest_bytes", pl.lit(None if "largest_bytes" in trace.state else largest, pl.UInt32)
        ),
    )


def _owner(plan: Plan, number: int) -> int:
    """The flow whose packets a program's are: a server's are those of its client's, if it is one.

    Where a server may have several, what it says stays with it.
    """
    flow = plan["flows"][number - 1]
    if flow["options"].get("role") != SERVER:
        return number
    ends = (flow["dst"], flow["src"])
    clients = [
        other["id"]
        for other in plan["flows"]
        if (other["src"], other["dst"]) == ends
        and other["workload"] == flow["workload"]
        and other["options"].get("role") != SERVER
    ]
    return clients[0] if len(clients) == 1 else number


def _sent(directory: Path, flow: int, host: str) -> tuple[int | None, int | None]:
    """When a flow's first packet from a host came to a queue, and the largest of its UDP payloads.

    Both None where none did, or packets were not recorded.
    """
    packets = directory / "packets.parquet"
    if not packets.is_file():
        return None, None
    its = (pl.col("flow") == flow) & (pl.col("src") == host) & (pl.col("protocol") == UDP)
    found = pl.scan_parquet(packets).filter(its)
    first_ns, largest = (
        found.select(pl.col("enqueue_ns").min(), pl.col("payload_bytes").max()).collect().row(0)
    )
    return first_ns, largest


def _begin_ns(trace: Trace, flow: PlannedFlow, wall_zero_ns: int, first_ns: int | None) -> int:
    """What makes a trace's times, in ns, those of the experiment.

    Times that are on no wall clock are laid so that the trace's first packet is the first that the
    flow sent from there, as it came to a queue; without that, the trace begins with the flow.
    """
    first_ms = trace.rows[0]["time_ms"] if trace.rows else 0.0
    if trace.reference_ms is not None and trace.reference_ms + first_ms >= EARLIEST_MS:
        return round(trace.reference_ms * NS_PER_MS) - wall_zero_ns
    if first_ns is not None and trace.first_sent_ms is not None:
        return first_ns - round(trace.first_sent_ms * NS_PER_MS)
    return flow["start_ns"]
