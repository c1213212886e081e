"""A run as a data file of flent, which draws it beside measurements of real networks.

It stands for flent's test tcp_nup, uploads with a ping beside them. The format is version 4 of
flent's resultset.py.
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sandglass.errors import SandglassError
from sandglass.results.export.whole import whole_file
from sandglass.results.series import Run

VERSION = 4
TEST = "tcp_nup"
PLOTS = ("upload_with_ping", "totals", "ping_cdf", "tcp_cwnd", "tcp_rtt")
"""Of flent's for this test: those that show something of a run."""
STEP_S = 0.2  # flent's own
STEP_NS = 200_000_000
BEGAN = "1970-01-01T00:00:00.000000Z"
PING = "Ping (ms) ICMP"
PINGED = "Ping: the round trips of flow {}."
QUEUED = (
    "Ping: no ping of the run was answered, so it is the base round trip of {} and the mean time "
    "in the first bottleneck's queues."
)
SENDER = ["flow", "src", "dst", "sport", "dport"]
Points = list[dict[str, float]]


def write(run: Run, file: Path) -> tuple[str, ...]:
    """Write the run's TCP flows to a file, whole or not at all; returns flent's plots for it.

    Throughput is what was acknowledged in each fifth of a second, the last one cut by the run's
    end; window and smoothed round trip are those at its end, of several connections those of the
    one that an acknowledgement reached last. Raises SandglassError where the run has no
    acknowledgements of a flow.
    """
    end_ns = run.plan["duration_ns"]
    steps = [0.0, *(_end_s(step, end_ns) for step in range(-(-end_ns // STEP_NS)))]
    raw = _flows(run, end_ns)
    raw[PING], note = _pings(run, end_ns)
    results = {name: _at(points, steps) for name, points in raw.items()}
    flows = [results[name] for name in results if name != PING]
    sums = [sum(value or 0 for value in values) for values in zip(*flows, strict=True)]
    results["TCP upload sum"] = list(sums)
    results["TCP upload avg"] = [value / len(flows) for value in sums]
    content = {
        "version": VERSION,
        "metadata": _metadata(run, note, list(raw), end_ns),
        "x_values": steps,
        "results": results,
        "raw_values": raw,
    }
    with whole_file(file) as target, gzip.GzipFile("", "wb", fileobj=target, mtime=0) as packed:
        packed.write(json.dumps(content).encode())
    return PLOTS


def _flows(run: Run, end_ns: int) -> dict[str, Points]:
    """Of each TCP flow, by flent's name for it, what flent reads from netperf and ss."""
    last = (
        run.records("acks")
        .filter((pl.col("flow") > 0) & pl.col("time_ns").is_between(0, end_ns - 1))
        .with_columns(pl.col("src", "dst").cast(pl.String), pl.col("bytes_acked").cast(pl.Int64))
        .group_by(*SENDER, step=pl.col("time_ns") // STEP_NS, maintain_order=True)
        .agg(pl.col("time_ns", "bytes_acked", "cwnd_packets", "srtt_us").last())
        .collect()
    )
    if last.is_empty():
        raise SandglassError(f"{run.directory} has no acknowledgement of a flow to export")
    more = pl.col("bytes_acked").diff().fill_null(pl.col("bytes_acked")).over(SENDER)
    of_flows = (
        last.join(_senders(last), on=SENDER, how="semi", maintain_order="left")
        .with_columns(bytes=more)
        .sort("time_ns", maintain_order=True)
        .group_by("flow", "step", maintain_order=True)
        .agg(pl.col("bytes").sum(), pl.col("cwnd_packets", "srtt_us").last())
        .sort("flow", "step")
    )
    return {
        f"TCP upload::{flow}": _points(rows, end_ns)
        for (flow,), rows in of_flows.group_by("flow", maintain_order=True)
    }


def _senders(acks: pl.DataFrame) -> pl.DataFrame:
    """Of each connection's two ends, the one that more was acknowledged to."""
    ends = (
        pl.concat_str("src", "sport", separator=":"),
        pl.concat_str("dst", "dport", separator=":"),
    )
    return (
        acks.group_by(SENDER, maintain_order=True)
        .agg(pl.col("bytes_acked").max())
        .sort("bytes_acked", descending=True, maintain_order=True)
        .with_columns(one=pl.min_horizontal(ends), other=pl.max_horizontal(ends))
        .unique(["flow", "one", "other"], keep="first", maintain_order=True)
    )


def _points(rows: pl.DataFrame, end_ns: int) -> Points:
    """Of a flow's steps, from its first acknowledgement to its last; none in a step is a zero."""
    all_steps = pl.int_range(rows["step"][0], rows["step"][-1] + 1, eager=True).alias("step")
    filled = (
        all_steps.to_frame()
        .join(rows, on="step", how="left", maintain_order="left")
        .with_columns(
            pl.col("bytes").fill_null(0), pl.col("cwnd_packets", "srtt_us").forward_fill()
        )
    )
    points = []
    for row in filled.iter_rows(named=True):
        lasts_s = min(STEP_NS, end_ns - row["step"] * STEP_NS) / 1e9
        points.append(
            {
                "t": _end_s(row["step"], end_ns),
                "dur": lasts_s,
                "val": row["bytes"] * 8 / lasts_s / 1e6,
                "tcp_cwnd": row["cwnd_packets"],
                "tcp_rtt": row["srtt_us"] / 1e3,
            }
        )
    return points


def _end_s(step: int, end_ns: int) -> float:
    """When a step ends; the last one ends with the run."""
    return min((step + 1) * STEP_S, end_ns / 1e9)


def _pings(run: Run, end_ns: int) -> tuple[Points, str]:
    """Round trips in ms, and what they are."""
    if (run.directory / "rtt.parquet").is_file():
        echoes = run.records("rtt").filter(pl.col("rtt_ns").is_not_null()).collect()
        if not echoes.is_empty():
            number = echoes["flow"].min()
            told = echoes.filter(pl.col("flow") == number)
            times = zip(told["sent_ns"].to_list(), told["rtt_ns"].to_list(), strict=True)
            points = [{"t": sent / 1e9, "val": rtt / 1e6} for sent, rtt in times]
            return points, PINGED.format(number)
    if not (run.directory / "packets.parquet").is_file():
        return [], ""
    measured = next(iter(run.field("observed.rtt_ms").items()), None)
    if measured is None:
        raise SandglassError(f"{run.directory}/run.json has no round trip in observed.rtt_ms")
    pair, base = measured
    waits = (
        run.records("packets")
        .filter(
            (pl.col("bottleneck") == pl.col("bottleneck").first())
            & pl.col("dequeue_ns").is_between(0, end_ns - 1)
        )
        .group_by("direction", step=pl.col("dequeue_ns") // STEP_NS)
        .agg(ms=pl.col("sojourn_ns").mean() / 1e6)
        .group_by("step")
        .agg(pl.col("ms").sum())
        .sort("step")
        .collect()
    )
    points = [{"t": _end_s(step, end_ns), "val": base + ms} for step, ms in waits.iter_rows()]
    return points, QUEUED.format(pair)


def _at(points: Points, steps: list[float]) -> list[float | None]:
    """The last value in the fifth of a second before each step; None where there is none."""
    found = {round(point["t"] / STEP_S + 0.499): point["val"] for point in points}
    return [found.get(number) for number in range(len(steps))]


def _metadata(run: Run, note: str, series: list[str], end_ns: int) -> Mapping[str, Any]:
    flows = [name for name in series if name != PING]
    return {
        "NAME": TEST,
        "TITLE": run.field("title"),
        "TIME": BEGAN,
        "T0": BEGAN,
        "DATA_FILENAME": f"{run.directory.name}.flent.gz",
        "HOST": run.field("flows.0.to"),
        "HOSTS": [run.field("flows.0.to")],
        "LOCAL_HOST": run.field("flows.0.from"),
        "LENGTH": end_ns / 1e9,
        "TOTAL_LENGTH": end_ns / 1e9,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": run.plan["flows"][0]["family"],
        "KERNEL_NAME": "Linux",
        "KERNEL_RELEASE": run.field("kernel.release"),
        "NOTE": f"Sandglass {run.field('tools.sandglass')}, digest {run.field('digest')}. {note}",
        "TEST_PARAMETERS": {"upload_streams": str(len(flows))},
        "SERIES_META": {name: {"UNITS": "ms" if name == PING else "Mbits/s"} for name in series},
        "FAILED_RUNNERS": 0,
    }
