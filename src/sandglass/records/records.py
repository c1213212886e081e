"""The recorder's binary records as tables. Columns and units: docs/data-format.md.

Their layouts are in layouts.py; those of the statistics of a qdisc and of what a congestion control
hands out are in the module.toml of each module, and of Linux's own in install/linux.toml.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.agent.links import ETHERNET_HEADER
from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.install.modules import TYPES, Member
from sandglass.records import layouts

INFINITE_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH of <net/tcp.h>
UNKNOWN_MIN_RTT = 0xFFFFFFFF
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")  # enum tcp_ca_state
OUTCOMES = ("sent", "overlimit", "aqm_enqueue", "aqm_dequeue", "queued")  # enum outcome
SENT, QUEUED = 0, 4

PACKET = np.dtype(layouts.PACKET)
HEADERS = np.dtype(layouts.HEADERS)
ACK = np.dtype(layouts.ACK)
QUEUE = np.dtype(layouts.QUEUE)
Records = npt.NDArray[np.void]
GOODPUT_STEP_NS = 10_000_000


@dataclass(frozen=True)
class Portless:
    """A flow that does not tell its ports, such as that of a program."""

    number: int
    ends: tuple[str, str]
    """Its hosts: the one that opens its connections, and the other."""
    dport: int | None
    """The other's port, where that is known."""
    from_ns: int
    to_ns: int
    """When it may open one."""
    echoes: bool
    """Whether it has echoes of ICMP alone."""


@dataclass(frozen=True)
class Names:
    """What the numbers in the records stand for."""

    hosts: Mapping[int, str]
    """Host by IPv4 address as a number."""
    watches: Sequence[Mapping[str, str]]
    """Of each watched queue: bottleneck, direction, kind."""
    cc: Mapping[int, str]
    flows: Sequence[tuple[int, str, str, int, int]]
    """Of each connection of a flow: its number, source, destination, and ports."""
    mtu: int
    """The largest of the hosts, in bytes."""
    portless: Sequence[Portless] = ()
    seen: bool = False
    """Whether `flows` has the connections of `portless` too, as packets told them."""


def names_of(plan: Mapping[str, Any], observed: Mapping[str, Any]) -> Names:
    """The names in a run, from its plan and from what its agent observed."""
    results = list(zip(plan["flows"], observed["flows"][0], strict=True))
    return Names(
        hosts={int(IPv4Address(host["address"])): name for name, host in observed["hosts"].items()},
        watches=observed["watches"],
        cc={int(number): name for number, name in observed["cc"].items()},
        flows=[
            (flow["id"], flow["src"], flow["dst"], result["sport"], dport)
            for flow, result in results
            if _has_ports(result)
            for dport in result.get("dports", [result.get("dport")])
        ],
        mtu=max(host["mtu"] for host in plan["hosts"].values()),
        portless=[
            Portless(
                flow["id"],
                (flow["src"], flow["dst"]),
                result.get("dport"),
                result["start_ns"],
                result["end_ns"],
                echoes=flow["workload"] == "ping",
            )
            for flow, result in results
            if not _has_ports(result) and result.get("opens", True)
        ],
    )


def _has_ports(result: Mapping[str, Any]) -> bool:
    """Whether a flow tells those of its connections; one that never was connected has 0."""
    return bool(result.get("sport")) and bool(result.get("dport") or "dports" in result)


def with_connections(names: Names, records: Records) -> Names:
    """The names with the connections that packets show of flows which do not tell their ports.

    Who sends the first packet opens the connection. It is the flow's that goes from that host to
    the other one and was under way; where several do, it cannot be told whose it is.
    """
    if not names.portless:
        return names
    one = pl.col("src").cast(pl.Int64) * 2**16 + pl.col("sport")
    other = pl.col("dst").cast(pl.Int64) * 2**16 + pl.col("dport")
    first = (
        pl.DataFrame(_plain(records, ["enqueue_ns", "src", "dst", "sport", "dport"]))
        .filter(pl.col("sport") > 0)
        .sort("enqueue_ns", maintain_order=True)
        .unique([pl.min_horizontal(one, other), pl.max_horizontal(one, other)], keep="first")
    )
    told = {(src, dst, sport, dport) for _, src, dst, sport, dport in names.flows}
    found = []
    for at_ns, src, dst, sport, dport in first.iter_rows():
        ends = names.hosts.get(src, ""), names.hosts.get(dst, "")
        owners = [
            flow.number
            for flow in names.portless
            if flow.ends == ends
            and flow.dport in (None, dport)
            and not flow.echoes
            and flow.from_ns <= at_ns <= flow.to_ns
        ]
        known = {(*ends, sport, dport), (*ends[::-1], dport, sport)} & told
        if len(owners) == 1 and not known:
            found.append((owners[0], *ends, sport, dport))
    return replace(names, flows=[*names.flows, *found], seen=True)


def _owners(names: Names, *, ports: bool) -> dict[tuple[str, str], int]:
    """The one flow without ports that joins two hosts, of packets with ports or without."""
    joining: dict[frozenset[str], list[Portless]] = {}
    for flow in names.portless:
        joining.setdefault(frozenset(flow.ends), []).append(flow)
    owners: dict[tuple[str, str], int] = {}
    for flows in joining.values():
        # Echoes are those of the flows that have them, if there are some.
        some = [flow for flow in flows if flow.echoes != ports] or ([] if ports else flows)
        if len(some) == 1:
            [flow] = some
            owners |= {flow.ends: flow.number, flow.ends[::-1]: flow.number}
    return owners


def read(path: Path, dtype: np.dtype[np.void]) -> Records:
    """All records in a file. Raises SandglassError when the last one is not whole."""
    if left := path.stat().st_size % dtype.itemsize:
        raise SandglassError(
            f"{path.name} ends with {left} of the {dtype.itemsize} bytes of a record",
            "The recorder's file is damaged: do the run again.",
        )
    return np.fromfile(path, dtype)


def _plain(records: Records, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Columns in this machine's byte order."""
    plain = {}
    for column in columns:
        values = records[column]
        plain[column] = pl.Series(
            column, np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        )
    return plain


def _label(numbers: pl.Series, names: Sequence[str]) -> pl.Series:
    """Names instead of numbers, as an enumeration of the distinct names."""
    kinds = list(dict.fromkeys(names))
    return numbers.replace_strict(
        list(range(len(names))), list(names), default=None, return_dtype=pl.Enum(kinds)
    )


def _with_flows(frame: pl.DataFrame, names: Names) -> pl.DataFrame:
    """Host names for addresses, and the number of the flow that a row belongs to (0: none)."""
    hosts = pl.Enum(list(names.hosts.values()))
    for column in ("src", "dst"):
        frame = frame.with_columns(
            pl.col(column).replace_strict(
                list(names.hosts), list(names.hosts.values()), default=None, return_dtype=hosts
            )
        )
    exact = []
    for number, src, dst, sport, dport in names.flows:
        exact += [(src, dst, sport, dport, number), (dst, src, dport, sport, number)]
    by_hosts = [
        (*ends, ports, number)
        for ports in ((False,) if names.seen else (False, True))
        for ends, number in _owners(names, ports=ports).items()
    ]
    types = {"src": hosts, "dst": hosts}
    ports = {"sport": pl.UInt16, "dport": pl.UInt16}
    frame = (
        frame.with_columns(ports=(pl.col("sport") > 0) | (pl.col("dport") > 0))
        .join(
            pl.DataFrame(exact, {**types, **ports, "flow": pl.UInt16}, orient="row"),
            on=["src", "dst", "sport", "dport"],
            how="left",
            maintain_order="left",
        )
        .join(
            pl.DataFrame(
                by_hosts, {**types, "ports": pl.Boolean, "flow_by_hosts": pl.UInt16}, orient="row"
            ),
            on=["src", "dst", "ports"],
            how="left",
            maintain_order="left",
        )
    )
    return frame.with_columns(
        pl.coalesce("flow", "flow_by_hosts", pl.lit(0, pl.UInt16)).alias("flow")
    ).drop("flow_by_hosts", "ports")


def packets(records: Records, names: Names) -> pl.DataFrame:
    """One row per packet that met a bottleneck's queue, in the order in which they left it.

    Raises SandglassError when one is larger than any link carries.
    """
    _check_sizes(records, names)
    outcome = records["outcome"]
    leave = pl.Series("leave_ns", np.ascontiguousarray(records["leave_ns"]))
    plain = _plain(
        records,
        [
            "enqueue_ns",
            "size_bytes",
            "src",
            "dst",
            "sport",
            "dport",
            "protocol",
            "seq",
            "payload_bytes",
            "ecn_in",
            "ecn_out",
            "queue_packets",
            "queue_bytes",
            "watch",
        ],
    )
    watch = plain.pop("watch")
    frame = pl.DataFrame(plain).with_columns(
        _label(watch, [w["bottleneck"] for w in names.watches]).alias("bottleneck"),
        _label(watch, [w["direction"] for w in names.watches]).alias("direction"),
        leave,
        pl.Series("outcome", outcome),
    )
    sent = pl.col("outcome") == SENT
    dropped = ~pl.col("outcome").is_in([SENT, QUEUED])
    frame = frame.with_columns(
        pl.when(sent).then("leave_ns").alias("dequeue_ns"),
        pl.when(dropped).then("leave_ns").alias("drop_ns"),
        pl.when(sent).then(pl.col("leave_ns") - pl.col("enqueue_ns")).alias("sojourn_ns"),
        pl.when(dropped)
        .then(
            pl.col("outcome").replace_strict(
                list(range(len(OUTCOMES))), OUTCOMES, return_dtype=pl.Enum(OUTCOMES)
            )
        )
        .cast(pl.Enum(OUTCOMES[1:4]))
        .alias("drop"),
    )
    return _with_flows(frame, names).select(
        [
            "bottleneck",
            "direction",
            "enqueue_ns",
            "dequeue_ns",
            "drop_ns",
            "sojourn_ns",
            "size_bytes",
            "flow",
            "src",
            "dst",
            "sport",
            "dport",
            "protocol",
            "seq",
            "payload_bytes",
            "ecn_in",
            "ecn_out",
            "queue_packets",
            "queue_bytes",
            "drop",
        ]
    )


def _check_sizes(records: Records, names: Names) -> None:
    """Several packets that a host hands down as one are found by what no packet can be."""
    larger = records[records["size_bytes"] > names.mtu + ETHERNET_HEADER]
    if len(larger):
        first = larger[0]
        source = names.hosts.get(int(first["src"]), "a host")
        watched = names.watches[first["watch"]]["bottleneck"]
        raise SandglassError(
            f"a packet of {first['size_bytes']} B from {source} was queued at {watched}, where the "
            f"MTU is {names.mtu} B",
            f"Several were handed down as one. If {watched} is {source}'s own link, put a router "
            "between, or have the program send its datagrams one by one (no UDP_SEGMENT).",
        )


def headers(records: Records, _: Names) -> pl.DataFrame:
    """The headers of each packet, in the order of `packets`.

    Raises SandglassError when a length is none that the recorder writes.
    """
    lengths = records["length"]
    octets = _octets(records["headers"])
    if lengths.max(initial=0) > octets.shape[1]:
        text = f"a packet has {lengths.max()} bytes of headers on record, {octets.shape[1]} at most"
        raise SandglassError(text, "The recorder's file is damaged: do the run again.")
    taken = octets[np.arange(octets.shape[1]) < lengths[:, None]].tobytes()
    ends = np.cumsum(lengths, dtype=np.int64)
    rows = [taken[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return pl.DataFrame({"header": rows}, {"header": pl.Binary})


def acks(records: Records, names: Names) -> pl.DataFrame:
    """One row per segment that reached a sender with data in flight, in order of time."""
    other = ("ca_state", "cc", "cc_info_size", "cc_info")
    columns = [name for name in ACK.names or () if name not in other]
    frame = pl.DataFrame(_plain(records, columns)).with_columns(
        _label(pl.Series(records["ca_state"]), CA_STATES).alias("ca_state"),
        pl.Series(records["cc"])
        .replace_strict(
            list(names.cc), list(names.cc.values()), default=None, return_dtype=pl.String
        )
        .cast(pl.Categorical)
        .alias("cc"),
    )
    frame = frame.with_columns(
        pl.when(pl.col("ssthresh_packets") < INFINITE_SSTHRESH)
        .then("ssthresh_packets")
        .alias("ssthresh_packets"),
        pl.when(pl.col("min_rtt_us") < UNKNOWN_MIN_RTT).then("min_rtt_us").alias("min_rtt_us"),
    )
    frame = frame.with_columns(**_cc_info(records, names))
    # On a machine's own kernel there are sockets that belong to no host of the experiment.
    frame = _with_flows(frame, names).filter(pl.col("src").is_not_null())
    first = ["time_ns", "flow", "src", "dst", "sport", "dport"]
    return frame.select(first + [c for c in frame.columns if c not in first])


def layout_of(members: Sequence[Member]) -> np.dtype[np.void]:
    """How NumPy reads a structure of these members."""
    return np.dtype([(member.name, _numpy_type(member.type)) for member in members])


def _numpy_type(name: str) -> str:
    """Of a member's type: <u4 of u32."""
    return f"<{'u' if name[0] == 'u' else 'i'}{TYPES[name]}"


def _cc_info(records: Records, names: Names) -> dict[str, pl.Series]:
    """What congestion controls hand out of their state; null for senders that have another."""
    columns: dict[str, pl.Series] = {}
    raw = _octets(records["cc_info"])
    for module in builds.described():
        ours = [number for number, cc in names.cc.items() if cc in module.congestion_controls]
        if not ours or not module.info:
            continue
        layout = layout_of(module.info)
        told = np.isin(records["cc"], ours) & (records["cc_info_size"] == layout.itemsize)
        own = np.ascontiguousarray(raw[:, : layout.itemsize]).view(layout)[:, 0]
        for member in module.info:
            value = own[member.name] / 2.0**member.fraction_bits
            column = pl.Series(np.where(told, value, np.nan)).fill_nan(None)
            before = columns.get(member.name)
            columns[member.name] = column if before is None else before.fill_null(column)
    return columns


def told_last(acks: pl.DataFrame) -> dict[int, dict[str, float]]:
    """What the congestion control of each flow handed out last, by the flow's number.

    Of several connections, that of the sender to which most was acknowledged; no entry where the
    congestion control hands out nothing.
    """
    own = {
        cc: module.info
        for module in builds.described()
        for cc in module.congestion_controls
        if module.info
    }
    sender = ("flow", "src", "dst", "sport", "dport")
    last = (
        acks.filter(pl.col("flow") > 0)
        .group_by(sender, maintain_order=True)
        .last()
        .sort("bytes_acked", maintain_order=True)
        .group_by("flow", maintain_order=True)
        .last()
    )
    return {
        row["flow"]: {
            member.name: row[member.name] if member.fraction_bits else int(row[member.name])
            for member in own[row["cc"]]
            if row[member.name] is not None
        }
        for row in last.iter_rows(named=True)
        if row["cc"] in own
    }


def _octets(members: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    """A member of each record as a row of its bytes; there may be no record."""
    return np.ascontiguousarray(members).view(np.uint8).reshape(-1, members.dtype.itemsize)


def goodput(records: Records, names: Names) -> pl.DataFrame:
    """The bytes acknowledged to each flow by the end of each interval in which there were some.

    They are the sum over its connections. Of a connection's two ends the sender is the one that
    more was acknowledged to.
    """
    end = ["src", "dst", "sport", "dport"]
    frame = pl.DataFrame(_plain(records, ["time_ns", "bytes_acked", *end])).with_columns(
        pl.col("bytes_acked").cast(pl.Int64),
        time_ns=(pl.col("time_ns") // GOODPUT_STEP_NS + 1) * GOODPUT_STEP_NS,
    )
    last = frame.group_by("time_ns", *end, maintain_order=True).last()
    one = pl.col("src").cast(pl.Int64) * 2**16 + pl.col("sport")
    other = pl.col("dst").cast(pl.Int64) * 2**16 + pl.col("dport")
    senders = (
        last.group_by(end, maintain_order=True)
        .agg(pl.col("bytes_acked").max())
        .sort("bytes_acked", descending=True, maintain_order=True)
        .with_columns(low=pl.min_horizontal(one, other), high=pl.max_horizontal(one, other))
        .unique(["low", "high"], keep="first", maintain_order=True)
    )
    more = pl.col("bytes_acked").diff().fill_null(pl.col("bytes_acked")).over(end)
    sent = last.join(senders, on=end, how="semi", maintain_order="left").with_columns(more=more)
    return (
        _with_flows(sent, names)
        .group_by("time_ns", "flow", maintain_order=True)
        .agg(pl.col("more").sum())
        .select("time_ns", "flow", bytes=pl.col("more").cum_sum().over("flow").cast(pl.UInt64))
    )


def queues(records: Records, names: Names) -> pl.DataFrame:
    """One row per sample and queue, with the qdisc's own counters by their names in tc."""
    parts = []
    for number, watch in enumerate(names.watches):
        mine = records[records["watch"] == number]
        frame = pl.DataFrame(
            _plain(
                mine,
                [
                    "time_ns",
                    "backlog_packets",
                    "backlog_bytes",
                    "sent_packets",
                    "sent_bytes",
                    "drops",
                    "overlimits",
                ],
            )
        ).with_columns(
            pl.lit(watch["bottleneck"]).alias("bottleneck"),
            pl.lit(watch["direction"]).alias("direction"),
        )
        members = xstats_of(watch["kind"])
        layout = layout_of(members)
        if members and len(mine) and mine["xstats_size"].min() >= layout.itemsize:
            raw = _octets(mine["xstats"])
            own = np.ascontiguousarray(raw[:, : layout.itemsize]).view(layout)[:, 0]
            frame = frame.with_columns(**_plain(own, layout.names or ()))
            scaled = [
                pl.col(member.name).cast(pl.Float64) / 2.0**member.fraction_bits
                for member in members
                if member.fraction_bits
            ]
            frame = frame.with_columns(scaled)
        parts.append(frame)
    frame = pl.concat(parts, how="diagonal").sort("time_ns", maintain_order=True)
    first = ["time_ns", "bottleneck", "direction"]
    return frame.select(first + [c for c in frame.columns if c not in first])


def xstats_of(kind: str) -> Sequence[Member]:
    """The members of a qdisc's own statistics; none where that is not known."""
    own = (module.xstats for module in builds.described() if kind in module.qdiscs)
    return next(own, ())


def own_counters(kind: str, xstats: bytes) -> dict[str, float]:
    """What a queue of this kind counts besides what all do; empty where that is not known."""
    members = xstats_of(kind)
    layout = layout_of(members)
    if not layout.itemsize or len(xstats) < layout.itemsize:
        return {}
    [found] = np.frombuffer(xstats, layout, 1)
    return {
        member.name: value / 2.0**member.fraction_bits if member.fraction_bits else value
        for member, value in zip(members, found.item(), strict=True)
    }


TABLES = {
    "packets": ("packets", PACKET, packets),
    "headers": ("headers", HEADERS, headers),
    "acks": ("acks", ACK, acks),
    "queues": ("queues", QUEUE, queues),
    "goodput": ("acks", ACK, goodput),
}
"""What can be recorded: the recorder's stream that it is made from, its layout, and how."""
