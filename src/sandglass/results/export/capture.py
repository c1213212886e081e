"""What a capture at the bottlenecks' queues holds: a row for each frame, from a run's records.

The recorder takes down what decides a packet's fate, not its bytes. What can be told of the rest
without a guess is worked out here: flags of a handshake and of an end, and the numbers that
acknowledgements carry. docs/export.md says what is real and what is not.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from sandglass.errors import SandglassError
from sandglass.experiment.units import format_rate
from sandglass.results.export.point import Point
from sandglass.results.series import MARKED, Run

TCP, UDP, ICMP, FRAGMENT, ICMPV6 = 6, 17, 1, 44, 58
FIN, SYN, ACK = 0x01, 0x02, 0x10  # RFC 9293, section 3.1
ETHERNET_HEADER, LEAST_TCP_HEADER, MOST_TCP_HEADER, UDP_HEADER = 14, 20, 60, 8
IPV6_HEADER = 40
CONNECTION = ["src", "dst", "sport", "dport"]
"""Of one direction; `OTHER` names the same of the packets that come back."""
OTHER = ["dst", "src", "dport", "sport"]
SAME_NS = 2_000
"""Two packets of a connection that take the same way take the same time, but for roundings."""
KNOWN_SHARE = 0.9
CANDIDATES = 64
SAMPLE = 1000


def interfaces(run: Run, point: Point) -> pl.DataFrame:
    """One row per interface: bottleneck, direction, dropped, name, description, rate_bps.

    There is one per recorded bottleneck and direction, and at departure another for its drops.
    Raises SandglassError where the run has no packets.
    """
    plan = run.plan
    rows = []
    for name, link in plan["bottlenecks"].items():
        for direction in ("forward", "reverse"):
            if not link["recorded"]:
                continue
            rate, queue = link[direction]["rate_bps"], link[direction]["queue"]["kind"]
            of = f"{queue} at {format_rate(rate)}"
            if point is Point.ARRIVAL:
                rows.append((name, direction, False, f"what comes to {of}", rate))
            else:
                rows.append((name, direction, False, f"what leaves {of}", rate))
                rows.append((name, direction, True, f"what {of} drops", rate))
    columns = ("bottleneck", "direction", "dropped", "description", "rate_bps")
    frame = pl.DataFrame(rows, list(columns), orient="row")
    ending = pl.when("dropped").then(pl.lit(" dropped")).otherwise(pl.lit(""))
    return frame.with_columns(
        name=pl.format("{} {}{}", "bottleneck", "direction", ending)
    ).with_row_index("interface")


def frames(run: Run, point: Point) -> pl.DataFrame:
    """One row per frame, in order of time, from time zero on.

    Columns: interface, time_ns, family (4, 6; 0: not IP), src, dst (names of hosts), sport, dport,
    protocol, seq, ack (null: unknown), flags (of TCP), payload_bytes, size_bytes, ecn, comment,
    header (the headers as they came, from that of IP on; null: not recorded).
    """
    told = _told(run)
    if point is Point.ARRIVAL:
        seen = told.with_columns(time_ns="enqueue_ns", ecn="ecn_in", dropped=pl.lit(False))
    else:
        seen = told.filter(pl.col("dequeue_ns").is_not_null() | pl.col("drop_ns").is_not_null())
        seen = seen.with_columns(
            time_ns=pl.coalesce("dequeue_ns", "drop_ns"),
            ecn=pl.col("ecn_out"),
            dropped=pl.col("drop_ns").is_not_null(),
        )
    known = interfaces(run, point).select("interface", "bottleneck", "direction", "dropped")
    return (
        seen.with_columns(pl.col("bottleneck", "direction").cast(pl.String))
        .join(known, on=["bottleneck", "direction", "dropped"], maintain_order="left")
        .filter(pl.col("time_ns") >= 0)
        .sort("time_ns", "interface", maintain_order=True)
        .with_columns(comment=_comment())
        .select(
            *("interface", "time_ns", "family", *CONNECTION, "protocol", "seq", "ack", "flags"),
            *("payload_bytes", "size_bytes", "ecn", "comment", "header"),
        )
    )


def _told(run: Run) -> pl.DataFrame:
    """The packets in order of arrival, with family, flags and acknowledgement numbers."""
    # Of packets that came in the same nanosecond, those that came first met fewer others.
    order = ("enqueue_ns", "queue_packets")
    packets = run.packets.with_columns(_recorded(run)).sort(order, maintain_order=True)
    if packets.is_empty():
        raise SandglassError(f"{run.directory}/packets.parquet holds no packet")
    packets = packets.with_row_index("row").with_columns(_family(run))
    tcp = packets.filter(_is_tcp())
    numbered = _acknowledged(_with_flags(tcp), run)
    return packets.join(
        numbered.select("row", "ack", "flags"), on="row", how="left", maintain_order="left"
    ).with_columns(pl.col("flags").fill_null(0))


def _recorded(run: Run) -> pl.Series:
    """The headers of the packets, where the run has them.

    Raises SandglassError where these are not one for each packet.
    """
    count = run.packets.height
    if "headers" not in run.tables:
        return pl.Series("header", [None], pl.Binary).new_from_index(0, count)
    headers = run.table("headers")["header"]
    if len(headers) != count:
        text = f"{run.directory}: headers.parquet has {len(headers)} rows, packets.parquet {count}"
        raise SandglassError(text, "Each row is of one packet: do the run again.")
    return headers


def _is_tcp() -> pl.Expr:
    """Later fragments have no ports."""
    return (pl.col("protocol") == TCP) & (pl.col("sport") > 0)


def _family(run: Run) -> pl.Expr:
    """The version of IP, which no column has: 4, 6, or 0 of what is not IP."""
    if "headers" in run.tables:
        first_digit = pl.col("header").bin.encode("hex").str.slice(0, 1)
        version = first_digit.replace_strict({"4": 4, "6": 6}, default=0, return_dtype=pl.UInt8)
        return version.alias("family")
    of_flows = {flow["id"]: flow["family"] for flow in run.plan["flows"]}
    planned = pl.col("flow").replace_strict(of_flows, default=None, return_dtype=pl.UInt8)
    # Packets of no flow have that of their kind, or that which they have room for.
    has_ports = pl.col("sport") > 0
    six = (
        pl.when(pl.col("protocol").is_in([ICMPV6, FRAGMENT]))
        .then(statement=True)
        .otherwise(_may_be_six() & (planned == 6).fill_null(has_ports))
    )
    is_ip = pl.col("protocol") > 0
    return pl.when(~is_ip).then(0).when(six).then(6).otherwise(4).cast(pl.UInt8).alias("family")


def _may_be_six() -> pl.Expr:
    """Whether there is room for a header of IPv6, which is longer by 20 bytes."""
    headers = pl.col("size_bytes") - pl.col("payload_bytes") - ETHERNET_HEADER
    # The two hosts of a connection, whichever sends: its shortest header tells.
    one, two = pl.col("src").cast(pl.String), pl.col("dst").cast(pl.String)
    turned = one > two
    connection = [
        pl.when(turned).then(two).otherwise(one),
        pl.when(turned).then(one).otherwise(two),
        pl.when(turned).then("dport").otherwise("sport"),
        pl.when(turned).then("sport").otherwise("dport"),
        pl.col("protocol"),
    ]
    least = headers.min().over(connection)
    of_udp = (pl.col("protocol") == UDP) & (pl.col("sport") > 0)
    return (
        pl.when(_is_tcp())
        .then(least >= IPV6_HEADER + LEAST_TCP_HEADER)
        .when(of_udp)
        .then(headers >= IPV6_HEADER + UDP_HEADER)
        .otherwise(~pl.col("protocol").is_in([TCP, UDP, ICMP]))  # IPv6 calls these otherwise
    )


def _with_flags(tcp: pl.DataFrame) -> pl.DataFrame:
    """SYN and FIN take a number each of the sequence that no payload has: that shows them.

    Adds `syn`, `fin` and `first_seq`, the number of the connection's first packet.
    """
    place = ["bottleneck", "direction", *CONNECTION]
    end = pl.col("seq").cast(pl.Int64) + pl.col("payload_bytes")
    tcp = tcp.with_columns(
        end=end % 2**32,
        first_seq=pl.col("seq").first().over(place),
        bare=pl.col("payload_bytes") == 0,
    )
    after_syn = (pl.col("first_seq").cast(pl.Int64) + 1) % 2**32
    opened = (pl.col("seq") == after_syn).any() & pl.col("bare").first()
    syn = pl.col("bare") & (pl.col("seq") == pl.col("first_seq")) & opened.over(place)
    tcp = tcp.with_columns(syn=syn)
    # The last packet of a connection that was closed has the number after its FIN's.
    closed = pl.col("end").last()
    skipped = pl.col("bare").last() & ~((pl.col("end") == closed) & ~pl.col("bare")).any()
    ends = pl.col("end") == (closed.over(place) - 1) % 2**32
    last = pl.col("row") == pl.col("row").filter(ends).last().over(place)
    return tcp.with_columns(fin=skipped.over(place) & ~pl.col("syn") & last.fill_null(False))


def _acknowledged(tcp: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Adds `ack`, where it is known, and `flags`.

    It is where acks.parquet shows what became of the sender when this packet reached it; and where
    all that the other side had sent was acknowledged before.
    """
    place = ["bottleneck", *CONNECTION]
    back = (
        tcp.select(
            *("bottleneck", "enqueue_ns", "first_seq"),
            *(pl.col(mine).alias(theirs) for mine, theirs in zip(CONNECTION, OTHER, strict=True)),
            sent=(pl.col("end") + pl.col("syn") + pl.col("fin") - pl.col("first_seq")) % 2**32,
        )
        .with_columns(sent=pl.col("sent").cum_max().over(place))
        .rename({"first_seq": "other_first"})
    )
    tcp = (
        tcp.join(_matched(tcp, run), on="row", how="left", maintain_order="left")
        .join_asof(back, on="enqueue_ns", by=place, strategy="backward", check_sortedness=False)
        .with_columns(acked=pl.col("acked").forward_fill().over([*place, "direction"]).fill_null(1))
        .with_columns(
            relative=pl.when(pl.col("matched") | (pl.col("sent") == pl.col("acked"))).then("acked")
        )
        .with_columns(ack=(pl.col("relative") + pl.col("other_first")) % 2**32)
    )
    flags = (
        pl.col("syn").cast(pl.UInt8) * SYN
        + pl.col("fin").cast(pl.UInt8) * FIN
        + pl.col("ack").is_not_null().cast(pl.UInt8) * ACK
    )
    return tcp.with_columns(flags=flags, ack=pl.col("ack").cast(pl.UInt32))


def _matched(tcp: pl.DataFrame, run: Run) -> pl.DataFrame:
    """The packets that acks.parquet tells of: `row`, `acked` (bytes, SYN among them), `matched`."""
    rows: list[npt.NDArray[np.int64]] = []
    numbers: list[npt.NDArray[np.int64]] = []
    for packets, acks in _both(tcp, run):
        left = packets["dequeue_ns"].to_numpy() + packets["transmission_ns"].to_numpy()
        found = first_at(left, acks["time_ns"].to_numpy())
        # The state is that before the segment is taken in: what it did shows in the next row.
        acked = acks["bytes_acked"].cast(pl.Int64).to_numpy()
        told = found[:-1] >= 0
        rows.append(packets["row"].cast(pl.Int64).to_numpy()[found[:-1][told]])
        numbers.append((acked[1:] - acked[0] + 1)[told])
    schema = {"row": pl.UInt32, "acked": pl.Int64, "matched": pl.Boolean}
    if not rows:
        return pl.DataFrame(schema=schema)
    matched = {"row": np.concatenate(rows), "acked": np.concatenate(numbers)}
    return pl.DataFrame(matched).with_columns(matched=pl.lit(True)).cast(schema)  # type: ignore[arg-type]


def _both(tcp: pl.DataFrame, run: Run) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """What was sent to each sender by each queue, and what acks.parquet has of that sender."""
    if not (run.directory / "acks.parquet").is_file():
        return
    acks = run.records("acks").select("time_ns", *CONNECTION, "bytes_acked").collect()
    names = [*CONNECTION[:2]]
    acks = acks.with_columns(pl.col(names).cast(pl.String))
    of_senders = acks.partition_by(CONNECTION, as_dict=True, maintain_order=True)
    rates = interfaces(run, Point.ARRIVAL).select("bottleneck", "direction", "rate_bps")
    sent = (
        tcp.filter(pl.col("dequeue_ns").is_not_null() & ~pl.col("syn"))
        .with_columns(pl.col("bottleneck", "direction", *names).cast(pl.String))
        .join(rates, on=["bottleneck", "direction"], maintain_order="left")
        .with_columns(
            transmission_ns=(pl.col("size_bytes").cast(pl.Int64) * 8 * 10**9) // pl.col("rate_bps")
        )
        .sort("dequeue_ns", maintain_order=True)
    )
    places = ["bottleneck", "direction", *OTHER]
    for key, packets in sent.partition_by(places, as_dict=True, maintain_order=True).items():
        sender = of_senders.get(key[2:])
        if sender is not None:
            yield packets, sender


def first_at(left: npt.NDArray[np.int64], reached: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Which of the packets that `left` at these times `reached` the other end at those, in ns.

    All take the same time, which is not known. Shape: as `reached`, indices into `left`, -1 where
    none did; that of all where packets do not take the same time.
    """
    unknown = np.full(len(reached), -1)
    before = left[: np.searchsorted(left, reached[0])][-CANDIDATES:] if len(reached) else left[:0]
    if not len(before):
        return unknown
    sample = reached[:SAMPLE]
    counts = [int((_nearest(left, sample - way) >= 0).sum()) for way in reached[0] - before]
    best = int(np.argmax(counts))
    if counts[best] < KNOWN_SHARE * len(sample):
        return unknown
    return _nearest(left, reached - (reached[0] - before[best]))


def _nearest(left: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first of `left` that is as good as each of `wanted`; -1 where none is."""
    at = np.minimum(np.searchsorted(left, wanted - SAME_NS), len(left) - 1)
    return np.where(np.abs(left[at] - wanted) <= SAME_NS, at, -1)


def _comment() -> pl.Expr:
    """What became of the packet in the queue."""
    waited = pl.coalesce("dequeue_ns", "drop_ns") - pl.col("enqueue_ns")
    ms = pl.format("{}.{} ms", waited // 10**6, (waited % 10**6).cast(pl.String).str.zfill(6))
    return (
        pl.when(pl.col("drop").is_not_null())
        .then(pl.format("dropped ({}) after {}", pl.col("drop").cast(pl.String), ms))
        .when(pl.col("dequeue_ns").is_null())
        .then(pl.lit("still in the queue at the end"))
        .when(MARKED)
        .then(pl.format("CE mark, sojourn {}", ms))
        .otherwise(pl.format("sojourn {}", ms))
    )
