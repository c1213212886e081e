"""How the recorder's records lie in its files; as structures, in kmods/recorder/recorder.c.

The types of members are NumPy's. All are little-endian, addresses and ports big-endian.
"""

Layout = list[tuple[str, str]]
"""Name and type of each member of a record, in their order; nothing is between them."""

PACKET: Layout = [
    ("enqueue_ns", "<i8"),
    ("leave_ns", "<i8"),
    ("src", ">u4"),
    ("dst", ">u4"),
    ("sport", ">u2"),
    ("dport", ">u2"),
    ("seq", "<u4"),
    ("size_bytes", "<u4"),
    ("payload_bytes", "<u4"),
    ("queue_packets", "<u4"),
    ("queue_bytes", "<u4"),
    ("watch", "<u2"),
    ("drop_reason", "<u2"),
    ("protocol", "u1"),
    ("ecn_in", "u1"),
    ("ecn_out", "u1"),
    ("outcome", "u1"),
]
HEADERS: Layout = [("length", "<u2"), ("headers", "V102")]
ACK: Layout = [
    ("time_ns", "<i8"),
    ("bytes_acked", "<u8"),
    ("src", ">u4"),
    ("dst", ">u4"),
    ("sport", ">u2"),
    ("dport", ">u2"),
    ("cwnd_packets", "<u4"),
    ("ssthresh_packets", "<u4"),
    ("srtt_us", "<u4"),
    ("min_rtt_us", "<u4"),
    ("inflight_packets", "<u4"),
    ("delivered_packets", "<u4"),
    ("delivered_ce_packets", "<u4"),
    ("lost_packets", "<u4"),
    ("retransmits", "<u4"),
    ("pacing_rate_bytes_s", "<u4"),
    ("ca_state", "u1"),
    ("cc", "u1"),
    ("cc_info_size", "<u2"),
    ("cc_info", "V20"),
]
QUEUE: Layout = [
    ("time_ns", "<i8"),
    ("sent_bytes", "<u8"),
    ("sent_packets", "<u8"),
    ("backlog_packets", "<u4"),
    ("backlog_bytes", "<u4"),
    ("drops", "<u4"),
    ("overlimits", "<u4"),
    ("watch", "<u2"),
    ("xstats_size", "<u2"),
    ("reserved", "<u4"),
    ("xstats", "V64"),
]

LAYOUTS = {"packets": PACKET, "headers": HEADERS, "acks": ACK, "queues": QUEUE}
"""By the recorder's streams."""


def record_bytes(stream: str) -> int:
    """Bytes of a record of one of the recorder's streams."""
    return sum(int(kind.lstrip("<>uiV")) for _, kind in LAYOUTS[stream])
