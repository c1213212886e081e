"""What the recorder writes agrees with itself, with the kernel's counters, and changes nothing."""

import itertools
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from sandglass.experiment import reading
from sandglass.records.layouts import LAYOUTS, record_bytes
from sandglass.run import plan
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, written

pytestmark = pytest.mark.lab
CE = 3
NEVER = np.iinfo(np.int64).max
INTERVAL_NS, END_NS = 10_000_000, 20_000_000_000
RED = {"min": "20kB", "max": "80kB", "avpkt": 1000}
# Kind and options, and the only reason for a drop that there can be (None: no drop).
QUEUES: list[tuple[Mapped, str | None]] = [
    ({"kind": "pfifo", "limit": 30}, "overlimit"),
    ({"kind": "bfifo", "limit": "40kB"}, "overlimit"),
    ({"kind": "pfifo_head_drop", "limit": 30}, "overlimit"),
    ({"kind": "codel"}, "aqm_dequeue"),
    ({"kind": "codel", "ecn": True}, "aqm_dequeue"),
    ({"kind": "fq_codel"}, "aqm_dequeue"),
    ({"kind": "pie", "target": "15ms"}, "aqm_enqueue"),
    ({"kind": "fq_pie"}, "aqm_enqueue"),
    ({"kind": "red", "limit": "200kB", "probability": 0.1} | RED, "aqm_enqueue"),
    ({"kind": "red", "limit": "200kB", "probability": 0.1, "ecn": True} | RED, "aqm_enqueue"),
]


def two_flows(queue: Mapping[str, Any], cc: str = "reno", **keys: Any) -> Mapped:
    """Reno or another, and CUBIC with ECN, for 20 s."""
    return dumbbell(
        bulk(cc=cc),
        bulk("s2", "d2", cc="cubic", ecn=True, start="1s"),
        queue=queue,
        pairs=2,
        rtt="60ms",
        duration="20s",
        **keys,
    )


@pytest.fixture(params=QUEUES, ids=lambda case: "-".join(map(str, case[0].values())))
def case(request: pytest.FixtureRequest, lab: Lab) -> tuple[Run, str | None]:
    """A run of two flows through each queue, and the reason for its drops."""
    queue, reason = request.param
    return lab(two_flows(queue)), reason


def left_ns(packets: pl.DataFrame) -> npt.NDArray[np.int64]:
    """When each packet left the queue, whichever way."""
    return (
        packets.select(pl.coalesce("dequeue_ns", "drop_ns").fill_null(NEVER)).to_series().to_numpy()
    )


def backlog(
    packets: pl.DataFrame, at_ns: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Fewest and most packets that can be in the queue at these times, where times may tie."""
    arrived, left = np.sort(packets["enqueue_ns"].to_numpy()), np.sort(left_ns(packets))
    fewest = np.searchsorted(arrived, at_ns, "left") - np.searchsorted(left, at_ns, "right")
    most = np.searchsorted(arrived, at_ns, "right") - np.searchsorted(left, at_ns, "left")
    return fewest, most


def test_each_packet_is_sent_dropped_or_queued_as_the_kernel_counts(
    case: tuple[Run, str | None],
) -> None:
    run, reason = case
    for direction, node in (("forward", "r1"), ("reverse", "r2")):
        packets, kernel = run.packets(direction), run.qdisc(node)
        sent = packets.filter(pl.col("dequeue_ns").is_not_null())
        dropped = packets.filter(pl.col("drop_ns").is_not_null())
        queued = packets.filter(pl.col("dequeue_ns").is_null() & pl.col("drop_ns").is_null())
        assert len(sent) + len(dropped) + len(queued) == len(packets)
        assert dropped["drop"].null_count() == 0
        assert len(sent) == kernel["packets"]
        assert sent["size_bytes"].sum() == kernel["bytes"]
        assert len(dropped) == kernel["drops"]
        assert len(queued) == kernel["qlen"]
        assert queued["size_bytes"].sum() == kernel["backlog"]
        marked = sent.filter((pl.col("ecn_out") == CE) & (pl.col("ecn_in") != CE))
        counted = kernel.get("ecn_mark", kernel.get("marked", 0))
        assert len(marked) == counted
        if direction == "forward":
            assert len(dropped) + len(marked) > 10, "the queue was congested"
            assert dropped["drop"].unique().to_list() == ([reason] if len(dropped) else [])
            assert run.content["bottleneck"]["drops"] == len(dropped)
            assert run.content["bottleneck"]["marks"] == len(marked)
            assert run.content["bottleneck"]["packets"] == len(packets)


def test_times_and_backlogs_agree(case: tuple[Run, str | None]) -> None:
    run, _ = case
    for direction in ("forward", "reverse"):
        packets = run.packets(direction)
        assert (packets["sojourn_ns"].drop_nulls() >= 0).all()
        assert packets.select(
            ((pl.col("dequeue_ns") - pl.col("enqueue_ns")) == pl.col("sojourn_ns")).all()
        ).item()
        fewest, most = backlog(packets, packets["enqueue_ns"].to_numpy())
        met = packets["queue_packets"].to_numpy().astype(np.int64)
        assert ((fewest <= met) & (met <= most)).all()
        samples = run.table("queues").filter(direction=direction)
        late = samples["time_ns"] % INTERVAL_NS  # by clock reads of what else wakes just then
        assert len(samples) == END_NS // INTERVAL_NS
        assert (late < 1_000).all()
        fewest, most = backlog(packets, samples["time_ns"].to_numpy())
        seen = samples["backlog_packets"].to_numpy().astype(np.int64)
        assert ((fewest <= seen) & (seen <= most)).all()


def test_the_last_sample_is_what_tc_reports(case: tuple[Run, str | None]) -> None:
    """Of common counters and of the qdisc's own, where tc knows them by the same names."""
    run, _ = case
    for direction, node in (("forward", "r1"), ("reverse", "r2")):
        sample = run.table("queues").filter(direction=direction).row(-1, named=True)
        kernel = run.qdisc(node)
        assert sample["backlog_packets"] == kernel["qlen"]
        assert sample["backlog_bytes"] == kernel["backlog"]
        assert sample["sent_packets"] == kernel["packets"]
        own = set(sample) & set(kernel) - {"drops", "overlimits"}
        for name in ("drops", "overlimits", *own):
            assert sample[name] == pytest.approx(kernel[name], rel=1e-3), name


def test_a_packet_dropped_for_want_of_room_met_a_full_queue(lab: Lab) -> None:
    packets = lab(two_flows({"kind": "pfifo", "limit": 30})).packets()
    assert (packets.filter(pl.col("drop") == "overlimit")["queue_packets"] == 30).all()
    assert packets["queue_packets"].max() == 30


def test_room_and_aqm_are_told_apart(lab: Lab) -> None:
    run = lab(two_flows({"kind": "fq_codel", "limit": 20, "ecn": False}))
    by_reason = dict(run.packets()["drop"].drop_nulls().value_counts().iter_rows())
    assert by_reason["overlimit"] == run.qdisc()["drop_overlimit"] > 0
    assert by_reason["aqm_dequeue"] == run.qdisc()["drops"] - by_reason["overlimit"] > 0


def test_acks_tell_the_sender_s_state(lab: Lab) -> None:
    run = lab(two_flows({"kind": "pfifo", "limit": 30}))
    acks = run.table("acks")
    for number, cc in ((1, "reno"), (2, "cubic")):
        mine = acks.filter(flow=number)
        assert mine["cc"].unique().to_list() == [cc]
        assert run.content["flows"][number - 1]["cc"] == cc
        assert len(mine) > 1000
        for column in ("time_ns", "bytes_acked", "delivered_packets", "retransmits"):
            assert mine[column].is_sorted(), column
        # A record is taken before its segment: the last segment's bytes are not in it.
        assert mine["bytes_acked"][-1] == pytest.approx(
            run.content["flows"][number - 1]["bytes"], rel=0.01
        )
        assert (mine["min_rtt_us"].drop_nulls() >= 60_000).all()


def test_reno_halves_its_window_at_a_loss(lab: Lab) -> None:
    acks = lab(two_flows({"kind": "pfifo", "limit": 30})).table("acks").filter(flow=1)
    state = acks["ca_state"].cast(pl.String)
    began = ((state == "Recovery") & (state.shift(1) != "Recovery")).fill_null(False).arg_true()
    assert len(began) >= 4
    before, ssthresh = (
        acks["cwnd_packets"].gather(began - 1),
        acks["ssthresh_packets"].gather(began),
    )
    assert (ssthresh == before // 2).all()
    ended = ((state == "Open") & (state.shift(1) == "Recovery")).fill_null(False).arg_true()
    assert len(ended) >= 4
    after = acks[ended]
    assert (after["cwnd_packets"] <= after["ssthresh_packets"] + 1).all()


def packets_of(qdisc: Mapped) -> Mapped:
    """A qdisc as tc reports it, but for what tells of no packet."""
    # fq counts this from the moment when tc asks, some clock reads sooner or later.
    rest = {key: value for key, value in qdisc.items() if key != "next_packet_delay"}
    # netem, as newer tc shows, draws a seed while the network is built, before the random numbers
    # start again from the run's. It would use it for losses and jitter, of which a path has none.
    options = {key: value for key, value in qdisc["options"].items() if key != "seed"}
    return rest | {"options": options}


def behaviour(run: Run) -> Mapped:
    """What a run shows whether it was recorded or not."""
    qdiscs = {
        node: [packets_of(qdisc) for qdisc in found]
        for node, found in run.content["observed"]["qdiscs"].items()
    }
    rtts = run.content["observed"]["rtt_ms"]
    return {"qdiscs": qdiscs, "rtt_ms": rtts, "flows": run.content["flows"]}


@pytest.mark.parametrize(
    ("kind", "pacing", "cc"),
    [("codel", False, "reno"), ("pie", False, "cubic"), ("pie", True, "bbr")],
)
def test_recording_changes_nothing(lab: Lab, kind: str, pacing: bool, cc: str) -> None:
    """With losses, random numbers and timers: what a disturbance would show in."""
    keys = {"hosts": {"s1": {"pacing": True}}} if pacing else {}
    records: list[list[str]] = [
        *([], ["packets"], ["acks"], ["packets", "acks", "queues"]),
        ["packets", "headers"],
    ]
    taken = [
        lab(two_flows({"kind": kind, "ecn": True}, cc, record=record, **keys)) for record in records
    ]
    for run in taken[1:]:
        assert behaviour(run) == behaviour(taken[0])
    for name, (one, other) in itertools.product(
        ("packets", "acks"), itertools.combinations(range(len(records)), 2)
    ):
        if name in records[one] and name in records[other]:
            assert taken[one].table(name).equals(taken[other].table(name))


def test_headers_are_those_of_the_packets(lab: Lab) -> None:
    flows = (bulk(), bulk(family=6), flow("udp", rate="100kbit"), flow("ping"))
    queue = {"kind": "pfifo", "limit": 30}
    run = lab(dumbbell(*flows, queue=queue, duration="3s", record=["packets", "headers"]))
    packets, headers = run.table("packets"), run.table("headers")["header"].to_list()
    assert packets.height == len(headers)
    assert set(packets["protocol"]) == {1, 6, 17}
    assert packets["drop"].drop_nulls().len() > 0
    versions = set()
    for packet, header in zip(packets.iter_rows(named=True), headers, strict=True):
        version = header[0] >> 4
        versions.add(version)
        length = 20 if version == 4 else 40
        assert header[9 if version == 4 else 6] == packet["protocol"]
        assert (header[1] >> (0 if version == 4 else 4)) & 3 == packet["ecn_in"]
        l4 = header[length:]
        if packet["protocol"] == 1:
            assert (len(l4), l4[0]) == (8, 8 if packet["direction"] == "forward" else 0)
            continue
        ports = (packet["sport"], packet["dport"])
        assert struct.unpack_from(">HH", l4) == ports
        assert packet["size_bytes"] == 14 + len(header) + packet["payload_bytes"]
        if packet["protocol"] == 6:
            assert struct.unpack_from(">I", l4, 4) == (packet["seq"],)
            assert len(l4) == l4[12] >> 4 << 2
    assert versions == {4, 6}


def full_link(record: list[str]) -> Mapped:
    """A link that is full almost from the start, with an ACK for every packet."""
    return dumbbell(
        bulk(),
        queue={"kind": "pfifo", "limit": "1bdp"},
        hosts={"d1": {"delayed_ack": False}},
        rate="400mbit",
        rtt="10ms",
        duration="5s",
        record=record,
        pairs=30,  # or the least memory that a lab has would hide what its records need
    )


@pytest.mark.parametrize("record", [["packets"], ["acks"], ["packets", "headers"]])
def test_records_take_the_memory_that_is_planned_for_them(
    lab: Lab, record: list[str], tmp_path: Path
) -> None:
    def planned(record: list[str]) -> int:
        experiment = reading.load(written(full_link(record), tmp_path / "full_link.yaml"))
        return plan.resolve(experiment, experiment.facts)["memory_mb"] * 2**20

    run = lab(full_link(list(LAYOUTS)))
    taken = sum(run.table(stream).height * record_bytes(stream) for stream in record)
    assert 0.95 < taken / (planned(record) - planned([])) < 1


def test_what_is_not_recorded_is_not_there(lab: Lab) -> None:
    run = lab(two_flows({"kind": "codel", "ecn": True}, record=[]))
    assert {path.name for path in run.path.glob("*.parquet")} == {"flows.parquet"}
    recorded = lab(two_flows({"kind": "codel", "ecn": True})).content["bottleneck"]
    assert run.content["bottleneck"]["drops"] == recorded["drops"]
    assert run.content["bottleneck"]["marks"] == recorded["marks"]
    assert run.content["bottleneck"]["utilisation"] == pytest.approx(
        recorded["utilisation"], abs=1e-4
    )
