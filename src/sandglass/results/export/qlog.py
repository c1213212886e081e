"""A run's senders as qlog, for qvis and other programs of QUIC's: TCP's as well.

The format is that of draft-ietf-quic-qlog-main-schema, with the two fields of its draft 2 that
qvis asks for; the events are those of draft-ietf-quic-qlog-quic-events that both kinds of senders
have: metrics_updated, congestion_state_updated, packet_lost.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.errors import SandglassError
from sandglass.records.flow_folders import QLOG
from sandglass.results import document
from sandglass.results.export.whole import whole_file
from sandglass.results.series import Run

HEAD = {
    "file_schema": "urn:ietf:params:qlog:file:contained",
    "serialization_format": "application/qlog+json",
    "qlog_format": "JSON",
    "qlog_version": "0.3",
}
MEASURES = {
    "congestion_window": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "bytes_in_flight": "inflight_bytes",
    "smoothed_rtt": "srtt_us",
    "latest_rtt": "latest_rtt_us",
    "min_rtt": "min_rtt_us",
}
"""Columns by what metrics_updated calls them; round-trip times are in ms there."""
CONNECTION = ("src", "sport", "dst", "dport")
US_PER_MS, NS_PER_MS = 1000, 1_000_000


def write(run: Run, path: Path) -> int:
    """Write the file; returns how many senders are in it.

    Raises SandglassError where the run recorded none.
    """
    names = {flow["id"]: document.named(flow) for flow in run.document["flows"]}
    traces = [
        {
            "title": names.get(flow, "of no flow"),
            "vantage_point": {"type": end},
            "common_fields": {
                "time_format": "relative",
                "reference_time": 0,
                "group_id": group,
            },
            "events": [*events(rows)],
        }
        for flow, end, group, rows in [*_of_tcp(run), *_of_quic(run)]
    ]
    if not traces:
        raise SandglassError(
            f"{run.directory} recorded no sender",
            "The experiment has to record acks and packets, or its programs have to write qlog.",
        )
    told = HEAD | {"title": run.document["title"], "traces": traces}
    with whole_file(path) as file:
        file.write(json.dumps(told, separators=(",", ":")).encode())
    return len(traces)


def events(rows: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    """A sender's events: of each row what differs from the one before, and each packet lost."""
    before: dict[str, Any] = {"lost_packets": 0}
    for row in rows.iter_rows(named=True):
        time = row["time_ns"] / NS_PER_MS
        changed = {
            key: row[column] / US_PER_MS if column.endswith("_us") else row[column]
            for key, column in MEASURES.items()
            if row.get(column) is not None and row[column] != before.get(column)
        }
        if changed:
            yield {"time": time, "name": "recovery:metrics_updated", "data": changed}
        if row["state"] is not None and row["state"] != before.get("state"):
            data = {"new": row["state"]}
            yield {"time": time, "name": "recovery:congestion_state_updated", "data": data}
        for _ in range(before["lost_packets"], row["lost_packets"]):
            yield {"time": time, "name": "recovery:packet_lost", "data": {}}
        before |= row


Sender = tuple[int, str, str, pl.DataFrame]
"""Its flow, its end of the connection, what the connection is called, and its states."""


def _of_tcp(run: Run) -> Iterator[Sender]:
    """Those of acks.parquet; windows are as many bytes as that many of the flow's largest."""
    if not {"acks", "packets"} <= {*run.tables}:
        return
    payload = (
        run.records("packets").group_by("flow").agg(size=pl.col("payload_bytes").max()).collect()
    )
    sizes: dict[int, int] = dict(payload.iter_rows())
    parts = run.acks.partition_by("flow", *CONNECTION, as_dict=True, maintain_order=True)
    for (flow, *ends), rows in parts.items():
        size = sizes.get(flow, 0)
        if flow == 0 or not size:
            continue
        yield (
            flow,
            "unknown",
            "{}:{} {}:{}".format(*ends),
            rows.select(
                "time_ns",
                "srtt_us",
                "min_rtt_us",
                "lost_packets",
                cwnd_bytes=pl.col("cwnd_packets").cast(pl.UInt64) * size,
                ssthresh_bytes=pl.col("ssthresh_packets").cast(pl.UInt64) * size,
                inflight_bytes=pl.col("inflight_packets").cast(pl.UInt64) * size,
                state=pl.col("ca_state").cast(pl.String).str.to_lowercase(),
            ),
        )


def _of_quic(run: Run) -> Iterator[Sender]:
    """Those of qlog.parquet."""
    if QLOG not in run.tables:
        return
    parts = run.table(QLOG).partition_by("flow", "end", "file", "trace", as_dict=True)
    for (flow, end, file, trace), rows in parts.items():
        yield flow, end or "unknown", f"{file} {trace}", rows
