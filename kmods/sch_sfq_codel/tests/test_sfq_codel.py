"""SFQ-CoDel: the turns of its queues against closed formulas, and the qdisc in a lab."""

import ctypes
from collections import deque

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow

MS, SECOND = 10**6, 10**9
PACKET = 1514
QUEUE = {"kind": "sfq_codel", "limit": 1000}


class Place(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("prev", ctypes.c_void_p)]


class Drr(ctypes.Structure):
    _fields_ = [("round", Place), ("length", ctypes.c_uint32), ("quantum", ctypes.c_uint32)]


class Queue(ctypes.Structure):
    _fields_ = [("place", Place), ("deficit", ctypes.c_int32)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("drr", "sch_sfq_codel", tmp_path_factory.mktemp("drr"))
    loaded.drr_turn.restype = ctypes.c_void_p
    return loaded


class Round:
    """The scheduler in C over queues of packets, of which only the sizes matter."""

    def __init__(self, library: ctypes.CDLL, quantum: int, queues: int) -> None:
        self.library = library
        self.drr = Drr(quantum=quantum)
        library.drr_empty(ctypes.byref(self.drr))
        self.queues = (Queue * queues)()
        for queue in self.queues:
            library.drr_outside(ctypes.byref(queue))
        self.packets: list[deque[int]] = [deque() for _ in range(queues)]

    def arrive(self, number: int, size: int) -> None:
        self.packets[number].append(size)
        self.library.drr_join(ctypes.byref(self.drr), ctypes.byref(self.queues[number]))

    def send(self) -> int | None:
        """The queue that sends its first packet; None when all are empty."""
        while address := self.library.drr_turn(ctypes.byref(self.drr)):
            number: int = (address - ctypes.addressof(self.queues)) // ctypes.sizeof(Queue)
            queue = ctypes.byref(self.queues[number])
            if self.packets[number]:
                self.library.drr_sent(queue, self.packets[number].popleft())
                return number
            self.library.drr_leave(ctypes.byref(self.drr), queue)
        return None

    def send_all(self) -> list[int]:
        return list(iter(self.send, None))


quanta = st.integers(256, 20000)
sizes = st.integers(1, 65536)


@given(quanta, st.lists(st.lists(sizes, min_size=1, max_size=20), min_size=1, max_size=8))
def test_a_packet_leaves_in_the_round_that_the_bytes_before_it_give(
    library: ctypes.CDLL, quantum: int, queues: list[list[int]]
) -> None:
    """A queue has leave for `quantum` bytes a round, and its last packet may exceed it.

    So a packet with b bytes of its queue before it is sent in round b // quantum, and within
    a round the queues come in their order.
    """
    drr = Round(library, quantum, len(queues))
    for number, packets in enumerate(queues):
        for size in packets:
            drr.arrive(number, size)
    assert drr.drr.length == len(queues)
    expected = [
        (sum(packets[:before]) // quantum, number)
        for number, packets in enumerate(queues)
        for before in range(len(packets))
    ]
    assert drr.send_all() == [number for _, number in sorted(expected)]
    assert drr.drr.length == 0


@given(quanta, st.integers(1, 8), st.integers(0, 30), sizes)
def test_a_new_queue_waits_for_a_turn_of_every_other(
    library: ctypes.CDLL, quantum: int, others: int, sent_before: int, size: int
) -> None:
    """Packets of one quantum: a turn each. Whose turn has just ended comes after the new queue."""
    drr = Round(library, quantum, others + 1)
    for number in range(others):
        for _ in range(sent_before + 2):
            drr.arrive(number, quantum)
    ended = {drr.send() for _ in range(sent_before)} and {(sent_before - 1) % others}
    drr.arrive(others, size)
    expected = set(range(others)) - ended
    assert {drr.send() for _ in expected} == expected
    assert drr.send() == others


@given(st.integers(256, 20000), st.integers(0, 65536))
def test_an_empty_queue_keeps_its_debt(library: ctypes.CDLL, quantum: int, more: int) -> None:
    """Or large packets one at a time would get more than their share."""
    size = quantum + more
    turns = size // quantum
    drr = Round(library, quantum, 2)
    drr.arrive(0, size)
    assert drr.send() == 0
    for _ in range(turns + 1):
        drr.arrive(1, quantum)
    drr.arrive(0, size)
    assert drr.send_all() == [1] * turns + [0, 1]


def forward(run: Run, after_s: int = 0) -> pl.DataFrame:
    return run.packets().filter(pl.col("enqueue_ns") > after_s * SECOND)


@pytest.mark.lab
def test_one_queue_is_mainlines_codel(lab: Lab) -> None:
    """To the nanosecond: then all that is left is CoDel on a FIFO."""

    def met(**queue: object) -> pl.DataFrame:
        flows = [bulk(cc="cubic"), bulk(cc="reno", start="2s")]
        experiment = dumbbell(*flows, queue={"limit": 1000} | queue, record=["packets"])
        columns = ["enqueue_ns", "dequeue_ns", "drop_ns", "flow", "size_bytes", "drop"]
        return forward(lab(experiment)).select(columns)

    ours = met(kind="sfq_codel", flows=1)
    assert ours["drop"].count() > 0
    assert ours.equals(met(kind="codel"))


@pytest.mark.lab
@pytest.mark.parametrize("ecn", [True, False])
def test_at_the_tail_mainlines_decisions_meet_the_next_to_come(lab: Lab, ecn: bool) -> None:
    """Marks change nothing in a load that does not respond, so that both decide alike; drops do."""
    load = flow("udp", rate="11mbit", ecn=True)

    def met(**queue: object) -> pl.DataFrame:
        experiment = dumbbell(load, queue={"limit": 1000} | queue, duration="5s")
        return forward(lab(experiment)).sort("enqueue_ns")

    marked = pl.col("ecn_out") != pl.col("ecn_in")
    head = met(kind="codel", ecn=True)
    tail = met(kind="sfq_codel", flows=1, tail=True, ecn=ecn)
    # what comes later does not leave before the end
    decided = head.filter(marked, pl.col("dequeue_ns") < 3 * SECOND)["dequeue_ns"]
    came = head["enqueue_ns"]
    alike = [came.filter(came > at)[0] for at in decided][: None if ecn else 1]
    assert len(alike) > 10 * ecn
    signals = tail.filter(marked if ecn else pl.col("drop") == "aqm_enqueue")["enqueue_ns"]
    assert signals.to_list()[: len(alike)] == alike


@pytest.mark.lab
@pytest.mark.parametrize("ecn", [True, False])
def test_flows_share_evenly_and_each_stands_near_codels_target(lab: Lab, ecn: bool) -> None:
    experiment = dumbbell(
        *(bulk(cc=cc, ecn=ecn) for cc in ("cubic", "reno", "cubic", "reno")),
        queue=QUEUE | {"ecn": ecn},
        rate="40mbit",
        rtt="20ms",
        duration="20s",
        record=["packets"],
    )
    run = lab(experiment)
    packets = forward(run, 5).with_columns(sent=pl.col("dequeue_ns").is_not_null())
    flows = packets.group_by("flow").agg(
        sojourn_ns=pl.col("sojourn_ns").mean(), sent=pl.col("sent").sum()
    )
    assert len(flows) == 4
    assert flows["sent"].to_list() == pytest.approx([packets["sent"].sum() / 4] * 4, rel=0.05)
    assert flows["sojourn_ns"].to_list() == pytest.approx([5 * MS] * 4, rel=0.2)
    drops = packets["drop"].drop_nulls()
    assert (drops == "aqm_dequeue").all()
    assert (run.qdisc()["ecn_mark"] > 0, len(drops) > 0) == (ecn, not ecn)


def sparse_delays(lab: Lab, kind: str) -> tuple[pl.Series, int]:
    """Sojourn times of a packet now and then among eight flows that always have some queued.

    And the time of one of their packets on the wire, in ns. In the first seconds CoDel still
    empties their queues at times.
    """
    experiment = dumbbell(
        flow("udp", rate="2mbit", count=8),
        flow("udp", rate="20kbit", packet_size=100),
        queue=QUEUE | {"kind": kind},
        duration="15s",
        record=["packets"],
    )
    packets = forward(lab(experiment), 5).filter(pl.col("flow") == 9)
    assert len(packets) > 100
    return packets["sojourn_ns"], PACKET * 8 * 100


@pytest.mark.lab
def test_a_sparse_flow_waits_for_a_turn_of_every_other(lab: Lab) -> None:
    """For the rest of a packet, and a packet of each of the other seven; fq_codel for the rest."""
    delays, packet = sparse_delays(lab, "sfq_codel")
    assert delays.is_between(7 * packet, 8 * packet).all()
    delays, packet = sparse_delays(lab, "fq_codel")
    assert delays.is_between(0, packet).all()


@pytest.mark.lab
def test_what_does_not_respond_harms_nobody_else(lab: Lab) -> None:
    """It takes its half, and when there is no room its packets are dropped, from the head."""
    experiment = dumbbell(
        flow("udp", rate="20mbit"),
        bulk("s2", "d2", cc="reno"),
        queue=QUEUE | {"limit": 60},
        pairs=2,
        rtt="20ms",
        duration="20s",
        record=["packets", "queues"],
    )
    run = lab(experiment)
    aggressive, gentle = (forward(run, 5).filter(pl.col("flow") == n) for n in (1, 2))
    half = 15 * 10e6 / 8 / 2
    sent = gentle.filter(pl.col("dequeue_ns").is_not_null())["size_bytes"].sum()
    assert 0.9 * half < sent < 1.01 * half
    assert 3 * MS < gentle["sojourn_ns"].mean() < 10 * MS  # type: ignore[operator]
    assert (gentle["drop"].drop_nulls() == "aqm_dequeue").all()
    assert (aggressive["drop"] == "overlimit").any()
    every = run.packets()
    assert run.qdisc()["drop_overlimit"] == (every["drop"] == "overlimit").sum()
    assert run.qdisc()["drops"] == every["drop"].count()
    samples = run.table("queues").filter(pl.col("direction") == "forward")
    assert samples["backlog_packets"].max() == 60
    assert samples["flows_len"].max() == 2


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"flows": 65537}, 'flows "65537" is out of range: from 1 to 65536'),
        ({"quantum": 255}, "out of range"),
        ({"interval": "1us"}, "out of range"),
        ({"target": "soon"}, '"soon" is no time for "target"'),
        ({"perturb": 10}, 'there is no option "perturb"'),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=QUEUE | wrong, duration="1s"))
