"""What a page shows of a run's records: tables of whole numbers in order of time, a flow in each.

Times are virtual nanoseconds from the experiment's start.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from sandglass.agent.plan import DIRECTIONS
from sandglass.records import capacity
from sandglass.records.flow_folders import QLOG
from sandglass.results.series import MARKED, WAITED, Run, backlog, sending
from sandglass.results.view import gauges

NONE = -1
"""Stands for what is infinite or not known, as no number of a record is negative."""
END = ("src", "sport", "dst", "dport")
"""A sender of a connection, as `acks` has it."""


@dataclass(frozen=True)
class Stream:
    """A table of Int64 columns without nulls, with at least a row.

    Its first column is `time`, which it is sorted by; `completions` have `took` alone.
    """

    kind: str
    table: pl.DataFrame
    link: str | None = None
    direction: str | None = None
    flow: int | None = None
    name: str | None = None
    gauge: Mapping[str, Any] | None = None
    """Title, unit, note and factor of the panel that shows a gauge: see gauges.py."""
    whole: Mapping[str, Any] | None = None
    """Numbers of its columns over all records, where `table` has not all of them."""


def of(run: Run) -> Iterator[Stream]:
    """All that a run recorded and the page can show."""
    recorded = {path.stem for path in run.directory.glob("*.parquet")}
    if "packets" in recorded:
        of_links = [*packets(run.records("packets"), round(run.field("virtual_s") * 1e9))]
    elif "queues" in recorded:
        of_links = [*queues(run.records("queues"))]
    else:
        of_links = []
    yield from of_links
    yield from capacities(run, of_links)
    if "queues" in recorded:
        yield from told_by_queues(run, of_links)
    if "acks" in recorded:
        yield from acks(run.records("acks"))
    elif "goodput" in recorded:
        goodput = run.records("goodput").select("flow", time="time_ns", acked="bytes")
        yield from by_flow("goodput", goodput)
    if QLOG in recorded:
        yield from quic(run.table(QLOG))
    for name, due in (("media", "sent_ns"), ("datagrams", "due_ns")):
        if name in recorded:
            yield from by_flow("deliveries", deliveries(run.records(name), due))
    if "rtt" in recorded:
        echoes = run.records("rtt").select("flow", time="sent_ns", took="rtt_ns")
        yield from by_flow("echoes", echoes.drop_nulls())
    if "series" in recorded:
        yield from told_by_programs(run.table("series"))
    yield from completions(run, recorded)


def by_flow(
    kind: str, rows: pl.LazyFrame | pl.DataFrame, link: str | None = None, way: str | None = None
) -> Iterator[Stream]:
    """A stream for each flow of the table, which has the columns `flow` and `time`."""
    whole = rows.lazy().cast(pl.Int64).collect()
    parts = whole.partition_by("flow", as_dict=True, include_key=False)
    for (flow,), table in sorted(parts.items(), key=lambda part: part[0]):
        yield Stream(kind, table, link, way, flow)


def packets(rows: pl.LazyFrame, end: int) -> Iterator[Stream]:
    """Of each direction of each link: packets sent, the backlog until `end`, drops and marks.

    `packets` has the time at which each left the queue, its sojourn time, and the bytes that its
    flow had sent so far, it included.
    """
    needed = (
        *("bottleneck", "direction", "flow", "enqueue_ns", "dequeue_ns", "drop_ns"),
        *("sojourn_ns", "size_bytes", "ecn_in", "ecn_out"),
    )
    parts = rows.select(needed).collect().partition_by("bottleneck", "direction", as_dict=True)
    for (link, way), met in sorted(parts.items()):
        sent = met.filter(pl.col("dequeue_ns").is_not_null()).sort(
            "dequeue_ns", maintain_order=True
        )
        left = sent.select(
            "flow",
            time="dequeue_ns",
            sojourn="sojourn_ns",
            sent=pl.col("size_bytes").cast(pl.Int64).cum_sum().over("flow"),
        )
        yield from by_flow("packets", left, link, way)
        if (waited := met.filter(WAITED)).height:
            changes = backlog(waited.lazy()).select(time="time_ns", backlog="packets")
            yield Stream("backlog", throughout(changes, end), link, way)
        drops = met.filter(pl.col("drop_ns").is_not_null()).select("flow", time="drop_ns")
        yield from by_flow("drops", drops.sort("time"), link, way)
        yield from by_flow(
            "marks", sent.filter(MARKED).select("flow", time="dequeue_ns"), link, way
        )


def throughout(changes: pl.DataFrame, end: int) -> pl.DataFrame:
    """Changes of a queue that was empty at first, with how long it was from 0 to `end`."""
    last = changes["backlog"][-1]
    begins = pl.DataFrame({"time": [0], "backlog": [0]}).filter(pl.col("time") < changes["time"][0])
    ends = pl.DataFrame({"time": [end], "backlog": [last]}).filter(
        pl.col("time") > changes["time"][-1]
    )
    return pl.concat([begins, changes, ends])


def queues(rows: pl.LazyFrame) -> Iterator[Stream]:
    """What samples of the queues tell where packets were not recorded: of all flows together."""
    samples = rows.select(
        *("bottleneck", "direction"),
        *(pl.col(name).cast(pl.Int64) for name in ("time_ns", "backlog_packets")),
        *(pl.col(name).cast(pl.Int64) for name in ("sent_bytes", "drops")),
    ).rename({"time_ns": "time", "backlog_packets": "backlog", "sent_bytes": "sent"})
    parts = samples.collect().partition_by(
        "bottleneck", "direction", as_dict=True, include_key=False
    )
    for (link, way), table in sorted(parts.items()):
        yield Stream("backlog", table.select("time", "backlog"), link, way)
        yield Stream("samples", table.select("time", "sent"), link, way)
        lost = table.with_columns(pl.col("drops").diff().fill_null(pl.col("drops")))
        if (drops := lost.filter(pl.col("drops") > 0)).height:
            yield Stream("drops", drops.select("time", count="drops"), link, way)


def capacities(run: Run, of_links: Iterable[Stream]) -> Iterator[Stream]:
    """What each direction of a link that sent anything could have sent."""
    kinds = ("packets", "samples")
    sending = {(stream.link, stream.direction) for stream in of_links if stream.kind in kinds}
    end = run.plan["duration_ns"]
    for link, planned in run.plan["bottlenecks"].items():
        for way in (way for way in DIRECTIONS if (link, way) in sending):
            if trace := planned[way].get("trace"):
                room = capacity.opportunities(trace, link, run.plan["seed"], end)
                if room.height:
                    yield Stream("opportunities", room, link, way)
                continue
            rate, steps = planned[way]["rate_bps"], planned["schedule"]
            rates = capacity.rates(rate, steps, f"{way}_rate_bps", end)
            yield Stream("capacity", rates, link, way)


def told_by_queues(run: Run, of_links: Iterable[Stream]) -> Iterator[Stream]:
    """Gauges of the queues that anything came to."""
    met = {(stream.link, stream.direction) for stream in of_links}
    parts = run.table("queues").partition_by("bottleneck", "direction", as_dict=True)
    for (link, way), samples in sorted(parts.items()):
        if (link, way) in met:
            kind = run.plan["bottlenecks"][link][way]["queue"]["kind"]
            for told, table in gauges.of(samples, kind):
                yield Stream("gauge", table, link, way, gauge=told)


def acks(rows: pl.LazyFrame) -> Iterator[Stream]:
    """Of each connection, its sender's state; and of each flow, when it has sent how much again.

    Of a connection's ends the sender is the one that more was acknowledged to.
    """
    ends = pl.concat_str(pl.col("src"), pl.col("sport").cast(pl.String), separator=":")
    others = pl.concat_str(pl.col("dst"), pl.col("dport").cast(pl.String), separator=":")
    known = rows.with_columns(pl.col("src", "dst").cast(pl.String))
    senders = (
        known.group_by("flow", *END)
        .agg(pl.col("bytes_acked").max(), first=pl.col("time_ns").min())
        .with_columns(between=pl.concat_list(ends, others).list.sort().list.join(" "))
        .sort("bytes_acked", "first", descending=[True, False])
        .unique(["flow", "between"], keep="first", maintain_order=True)
        .sort("flow", "first", *END)
        .with_columns(connection=pl.int_range(pl.len()))
    )
    told = (
        known.join(senders.select("flow", *END, "connection"), on=["flow", *END])
        .sort("connection", "time_ns", maintain_order=True)
        .select(
            *("flow", "connection"),
            time="time_ns",
            cwnd="cwnd_packets",
            ssthresh=pl.col("ssthresh_packets").cast(pl.Int64).fill_null(NONE),
            srtt="srtt_us",
            acked="bytes_acked",
            resent="retransmits",
        )
        .cast(pl.Int64)
        .collect()
    )
    again = told.with_columns(
        count=pl.col("resent").diff().fill_null(pl.col("resent")).over("connection")
    )
    for table in told.partition_by("connection", maintain_order=True):
        flow = int(table["flow"][0])
        yield Stream("acks", table.drop("flow", "connection", "resent"), flow=flow)
    resent = again.filter(pl.col("count") > 0).sort("time", maintain_order=True)
    yield from by_flow("resent", resent.select("flow", "time", "count"))


def quic(rows: pl.DataFrame) -> Iterator[Stream]:
    """Of each connection of QUIC, its sender's state; and of each flow, when packets were lost.

    Windows are in packets as large as the largest that the sender has sent.
    """
    lost = []
    for table in sending(rows).partition_by("flow", "file", "trace", maintain_order=True):
        flow = int(table["flow"][0])
        told = table.select(
            time="time_ns",
            cwnd=pl.col("cwnd_packets").round(),
            ssthresh=pl.col("ssthresh_packets").round().fill_null(NONE),
            srtt="srtt_us",
        ).drop_nulls()
        if told.height:
            yield Stream("qlog", told.cast(pl.Int64), flow=flow)
        so_far = pl.col("lost_packets").cast(pl.Int64)
        lost.append(table.select("flow", time="time_ns", count=so_far.diff().fill_null(so_far)))
    if lost:
        events = pl.concat(lost).filter(pl.col("count") > 0).sort("time", maintain_order=True)
        yield from by_flow("resent", events)


def told_by_programs(rows: pl.DataFrame) -> Iterator[Stream]:
    """The series that flows' programs told, as gauges; of a line before time zero nothing."""
    known = rows.filter(pl.col("time_ns") >= 0).sort("time_ns", maintain_order=True)
    parts = known.partition_by("series", "name", "flow", as_dict=True, maintain_order=True)
    for (series, name, flow), told in sorted(parts.items()):
        if found := gauges.of_values(f"{series}: {name}", told):
            gauge, table = found
            yield Stream("gauge", table, flow=int(flow), gauge=gauge)


def deliveries(rows: pl.LazyFrame, due: str) -> pl.LazyFrame:
    """One-way delays of the packets of a flow of `media` or `udp`, by when they were due."""
    return rows.filter(pl.col("received_ns").is_not_null()).select(
        "flow", time=due, took=pl.col("received_ns") - pl.col(due)
    )


def completions(run: Run, recorded: set[str]) -> Iterator[Stream]:
    """How long what has an end took: flows with a size, pages, their objects, rounds."""
    flows = run.records("flows").collect()
    for name, column in (("flows", "fct_s"), ("loads", "plt_s")):
        if column in flows.columns:
            parts = flows.partition_by("workload", as_dict=True)
            for (workload,), rows in sorted(parts.items()):
                took = (rows[column].drop_nulls() * 1e9).round().cast(pl.Int64)
                yield from taken(f"{workload} {name}", took)
    if "objects" in recorded:
        objects = run.records("objects").select(pl.col("end_ns") - pl.col("start_ns"))
        yield from taken("objects of pages", objects.collect().to_series())
    if "rounds" in recorded:
        yield from taken("rounds", run.records("rounds").select("fct_ns").collect().to_series())


def taken(name: str, took: pl.Series) -> Iterator[Stream]:
    """A stream of completion times in ns, sorted, unless there is none."""
    if took.count():
        table = took.drop_nulls().cast(pl.Int64).sort().alias("took").to_frame()
        yield Stream("completions", table, name=name)
