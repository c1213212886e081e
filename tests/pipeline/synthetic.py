"""Made-up runs, to test what comes after a run: shaped like real ones, with numbers of our own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from sandglass.experiment import units
from sandglass.experiment.document import Value
from sandglass.papers import grid, shelf
from sandglass.papers.verdicts import Extreme
from sandglass.results.series import Run
from sandglass.studies.jobs import Task

PACKETS = {
    "enqueue_ns": pl.Int64,
    "dequeue_ns": pl.Int64,
    "drop_ns": pl.Int64,
    "size_bytes": pl.UInt32,
}


def value(found: Extreme | None) -> float | None:
    """Of one run, what a metric that is an extreme of points says."""
    return found.value if found else None


def measured(figure: ModuleType | str, name: str, table: pl.DataFrame, **arguments: object) -> Any:
    """What one of the metrics in the file of a figure, named or by its code, says of a table.

    Of one that is an extreme of points, their least or largest.
    """
    named = figure if isinstance(figure, str) else figure.__name__.removeprefix("pipelines.")
    paper, own = named.split(".")
    found = shelf.paper(paper).figures[own].metrics[name].value(table, arguments)
    return found.value if isinstance(found, Extreme) else found


def packets(rows: Sequence[tuple[int, int | None, int | None]]) -> pl.DataFrame:
    """Packets of 1514 bytes from (enqueued, dequeued, dropped) in ns, forward."""
    frame = pl.DataFrame([(*row, 1514) for row in rows], schema=PACKETS, orient="row")
    return frame.with_columns(
        sojourn_ns=pl.col("dequeue_ns") - pl.col("enqueue_ns"),
        bottleneck=pl.lit("bottleneck"),
        direction=pl.lit("forward"),
        flow=pl.lit(1, pl.UInt16),
    )


def document(**changes: Any) -> dict[str, Any]:
    """A run.json of one flow; `changes` replace its top-level keys."""
    return {
        "format": 1,
        "title": "made up",
        "experiment": {
            "rtt": "200ms",
            "duration": "30s",
            "bottleneck": {"rate": "10mbit", "queue": {"kind": "pfifo"}},
        },
        "seed": 1,
        "kernel": {
            "release": "6.12.0-made-up",
            "build": "0123456789ab",
            "modules": {"recorder": "cd"},
        },
        "lab_build": "fedcba987654",
        "commit": "123456789abc",
        "flows": [{"id": 1, "goodput_mbit": 9.0}],
        "bottleneck": {
            "utilisation": 0.95,
            "queue_delay_ms": {"median": 5.0, "p95": 9.0},
            "drops": 3,
            "marks": 0,
        },
        "virtual_s": 90.0,
        "wall_s": 2.0,
        "digest": "ab" * 32,
    } | changes


def write(directory: Path, content: Mapping[str, Any], frame: pl.DataFrame) -> None:
    directory.mkdir(parents=True)
    (directory / "run.json").write_text(json.dumps(content))
    frame.write_parquet(directory / "packets.parquet")


def run(directory: Path, axes: Mapping[str, Value], **changes: Any) -> Run:
    return Run(directory, axes, document(**changes))


def sawtooth(limit: int, base_rate_pps: int = 825) -> pl.DataFrame:
    """30 s of a queue that climbs to `limit` packets, drops one, and falls to limit // 2.

    A fluid made of packets: each stays as long as the queue is then, at 10 Mb/s.
    """
    gap_ns = 10**9 // base_rate_pps
    rows: list[tuple[int, int | None, int | None]] = []
    for index in range(30 * base_rate_pps):
        now = index * gap_ns
        phase = (now % (5 * 10**9)) / (5 * 10**9)
        length = int(limit // 2 + phase * (limit - limit // 2))
        rows.append((now, now + (length + 1) * gap_ns, None))
        if now and now % (5 * 10**9) < gap_ns:
            rows.append((now, None, now))
    return packets(rows)


FIGURES = ("fig03", "fig05")


def write_profile(root: Path, profile: str) -> None:
    """Runs for every grid point of FIGURES below `root`, as if the lab had made them."""
    seen: set[Path] = set()
    for figure in FIGURES:
        for point in grid.points("abe", figure, profile):
            directory = root / point.directory
            if directory not in seen:
                seen.add(directory)
                write(directory, _document_at(point), sawtooth(80))


def _document_at(point: Task) -> dict[str, Any]:
    made, experiment = document(), point.labels["experiment"]
    if experiment == "fig05":
        return made
    rtt_ms = units.parse_time(point.labels["rtt"]) / 1e6
    decline = 0.0 if experiment == "fig03-droptail" else max(0.0, rtt_ms - 60) * 0.01
    made["experiment"] |= {"rtt": point.labels["rtt"], "bottleneck": {"rate": "20mbit"}}
    made["flows"] = [{"id": 1, "goodput_mbit": 19.0 - decline}]
    if experiment == "fig03-droptail":
        made["bottleneck"] |= {"queue_delay_ms": {"median": rtt_ms / 2, "p95": rtt_ms}}
    made["digest"] = grid.name(point)
    return made
