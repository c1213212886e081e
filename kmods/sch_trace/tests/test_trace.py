"""The qdisc trace: its arithmetic against Mahimahi's rules, and each packet in a lab."""

import ctypes
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.experiment import trace
from sandglass.experiment.synthetic import opportunities
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow, run

MS = 1_000_000
LATEST = 2_000  # ns
OPPORTUNITY, TUNNEL = 1504, 4
HEADERS = 28  # of UDP and IP


class Trace(ctypes.Structure):
    _fields_ = [("at", ctypes.POINTER(ctypes.c_uint32)), ("count", ctypes.c_uint32)]


class Place(ctypes.Structure):
    _fields_ = [("round", ctypes.c_uint64), ("index", ctypes.c_uint32)]


class Meter(ctypes.Structure):
    _fields_ = [("credit", ctypes.c_uint32), ("unsent", ctypes.c_uint32)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("trace", "sch_trace", tmp_path_factory.mktemp("trace"))
    loaded.trace_after.restype = Place
    loaded.trace_time.restype = ctypes.c_int64
    loaded.trace_send.restype = ctypes.c_bool
    return loaded


def made(ms: list[int]) -> Trace:
    return Trace((ctypes.c_uint32 * len(ms))(*ms), len(ms))


traces = st.lists(st.integers(0, 50), min_size=1, max_size=30).map(sorted).filter(lambda ms: ms[-1])


def for_ever(ms: list[int]) -> Iterator[int]:
    """When the opportunities of a trace are, in ns, as Mahimahi repeats it."""
    for base in itertools.count(0, ms[-1]):
        yield from ((base + each) * MS for each in ms)


@given(traces, st.integers(-5 * MS, 400 * MS))
def test_the_next_opportunity_is_the_first_after_a_moment(
    library: ctypes.CDLL, ms: list[int], now: int
) -> None:
    """And those after it follow in order, over the end of the trace."""
    given = made(ms)
    place = library.trace_after(ctypes.byref(given), ctypes.c_int64(now))
    expected = itertools.dropwhile(lambda at: at <= now, for_ever(ms))
    for at in itertools.islice(expected, 40):
        assert library.trace_time(ctypes.byref(given), ctypes.byref(place)) == at
        library.trace_next(ctypes.byref(given), ctypes.byref(place))


@given(st.integers(0, OPPORTUNITY), st.integers(0, 70_000))
def test_an_opportunity_sends_what_it_has_room_for(
    library: ctypes.CDLL, credit: int, unsent: int
) -> None:
    meter = Meter(credit, unsent)
    assert library.trace_send(ctypes.byref(meter)) == (unsent <= credit)
    assert (meter.credit, meter.unsent) == (max(credit - unsent, 0), max(unsent - credit, 0))


def departures(came_ns: list[int], size: int, ms: list[int]) -> list[int]:
    """When packets of `size` bytes with their IP header leave, by the rules of LinkQueue."""
    left: list[int] = []
    unsent = 0
    for at in for_ever(ms):
        credit = OPPORTUNITY
        while credit and len(left) < len(came_ns):
            if not unsent and came_ns[len(left)] >= at:
                break
            unsent = unsent or size + TUNNEL
            sent = min(credit, unsent)
            credit, unsent = credit - sent, unsent - sent
            if not unsent:
                left.append(at)
        if len(left) == len(came_ns):
            return left
    raise AssertionError("a trace has no end")


def replayed(directory: Path, ms: list[int], payload: int) -> Run:
    """A run of one stream over a trace, 20 ms from host to host."""
    (directory / "own.trace").write_text("".join(f"{each}\n" for each in ms))
    stream = flow("udp", rate="3mbit", burst=3, packet_size=payload)
    experiment = dumbbell(
        stream,
        queue={"kind": "pfifo", "limit": 100_000},
        rate={"trace": "own.trace"},
        reverse={"rate": "10mbit"},
        duration="2s",
    )
    return run(experiment, directory)


@pytest.mark.lab
@pytest.mark.parametrize("payload", [16, 700, 1472])
@pytest.mark.parametrize("ms", [[1], [3, 3, 7, 10], [0, 2, 2, 2, 2, 31]], ids=str)
def test_each_packet_leaves_when_the_trace_says(
    tmp_path: Path, ms: list[int], payload: int
) -> None:
    """Small packets and those that need two opportunities among them.

    Processes of the lab that wake up in the very same moment make it up to 2 us late.
    """
    done = replayed(tmp_path, ms, payload)
    packets = done.packets().filter(pl.col("dequeue_ns").is_not_null())
    assert len(packets) > 100
    expected = np.array(departures(packets["enqueue_ns"].to_list(), payload + HEADERS, ms))
    left = packets["dequeue_ns"].to_numpy()
    came = done.datagrams()["received_ns"].head(len(packets)).to_numpy()
    for found, wanted in ((left, expected), (came, expected + 20 * MS)):
        assert (found >= wanted).all()
        assert (found < wanted + LATEST).all()


@pytest.mark.lab
def test_what_is_on_its_way_does_not_wait(lab: Lab, tmp_path: Path) -> None:
    """A full packet that needs two opportunities counts as queued until the first one.

    So a tail drop meets as many packets as the queue holds, and never one less.
    """
    (tmp_path / "slow.trace").write_text("10\n")
    stream = flow("udp", rate="2mbit", packet_size=1474)
    done = run(
        dumbbell(
            stream,
            queue={"kind": "pfifo", "limit": 5},
            rate={"trace": "slow.trace"},
            reverse={"rate": "10mbit"},
            record=["packets"],
            hosts={name: {"mtu": 9000} for name in ("s1", "d1")},
            duration="2s",
        ),
        tmp_path,
    )
    packets = done.packets()
    dropped = packets.filter(pl.col("drop").is_not_null())
    assert set(dropped["drop"]) == {"overlimit"}
    assert set(dropped["queue_packets"]) == {5}


@pytest.mark.lab
def test_a_long_trace_goes_to_the_kernel_in_parts(lab: Lab) -> None:
    """82 thousand opportunities: all of them, in the order of the file."""
    ms = list(opportunities("wifi"))
    done = lab(
        dumbbell(
            flow("udp", rate="80mbit"),
            queue={"kind": "pfifo", "limit": 20},
            rate={"trace": "wifi", "start": "55s"},
            reverse={"rate": "10mbit"},
            duration="10s",
        )
    )
    root = next(q for q in done.content["observed"]["qdiscs"]["r1"] if q["kind"] == "trace")
    assert root["opportunities"] == len(ms)
    assert root["period_ms"] == 60_000
    left = done.packets()["dequeue_ns"].drop_nulls()
    # Over the end of the trace; the queue is never empty at this rate but for the first packet.
    start = 55_000 * MS
    expected = itertools.dropwhile(lambda at: at <= start, for_ever(ms))
    wanted = np.array(list(itertools.islice(expected, len(left)))) - start
    assert (np.abs(left.to_numpy() - wanted) < LATEST).all()


@pytest.mark.lab
def test_the_seed_may_choose_where_a_trace_begins(lab: Lab) -> None:
    experiment = dumbbell(
        bulk(),
        queue={"kind": "codel"},
        rate={"trace": "cellular", "start": "random"},
        duration="5s",
    )
    one, same, other = lab(experiment, seed=1), lab(experiment, seed=1), lab(experiment, seed=2)
    shown = [
        q
        for of_node in one.content["observed"]["qdiscs"].values()
        for q in of_node
        if q["kind"] == "trace"
    ]
    assert len({q["options"]["start"] for q in shown}) == 1  # both ways alike
    assert len(shown) == 2
    assert one.content["digest"] == same.content["digest"] != other.content["digest"]
    assert one.content["flows"][0]["goodput_mbit"] != other.content["flows"][0]["goodput_mbit"]


@given(traces)
def test_a_file_says_what_its_trace_says(ms: list[int]) -> None:
    known = trace.Trace("x", tuple(ms))
    assert trace.parsed(known.text, "x") == known
    assert known.mean_bps == 12_000 * len(ms) * 1000 // ms[-1]


@pytest.mark.parametrize("name", ["cellular", "wifi", "satellite"])
def test_synthetic_traces_are_what_they_are_said_to_be(name: str) -> None:
    """In seconds: their mean rates, where they are slow and fast, and the longest pause."""
    made = trace.Trace(name, opportunities(name))
    rates = sorted(made.rates(1000))
    slow, fast = rates[len(rates) // 20] / 1e6, rates[-len(rates) // 20] / 1e6
    pause = max(two - one for one, two in itertools.pairwise(made.ms))
    assert made.period_ms == 60_000
    expected = {  # Mb/s: mean; within 5 % of the time below, above; ms
        "cellular": (5.0, 1.1, 11.1, 1400),
        "wifi": (16.0, 4.2, 35.0, 20),
        "satellite": (17.6, 10.5, 34.1, 510),
    }[name]
    assert made.mean_bps / 1e6 == pytest.approx(expected[0], rel=0.1)
    assert (slow, fast) == pytest.approx(expected[1:3], rel=0.1)
    assert pause == pytest.approx(expected[3], rel=0.05)
    assert opportunities(name, seed=2) != made.ms
