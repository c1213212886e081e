"""LS-AIMD segment by segment: what each event does to the window and the pace.

All scripts are played in one boot by player.py, with a round trip of 50 ms and segments of 1000
bytes.
"""

import itertools
import math
import struct
from typing import Any

import pytest

from tests.kmods.segments import NO_PROBES, Step, Trace, ack, data, played, wait, write

BYTE = 1 << 24
MSS = 1000
RENO, DCTCP = "lsaimd_reno", "lsaimd_dctcp"
K0, K1 = 256, 512


def mtu(size: int) -> Step:
    return ["ip", f"link set s mtu {size}"]


WINDOW = 16
NEXT: Step = ["next"]
# Afterwards the window is 20 segments, in slow start, and segments 10 to 29 are on their way.
START = [write(300), wait(50), ack(10), wait(50)]


def marks(count: int) -> list[Step]:
    """So many round trips, each of which ends with an ACK of all that was sent, and an echo."""
    return [step for _ in range(count) for step in (ack(None, ece=True), NEXT, wait(50))]


# So that the window ends at about a quarter of a segment, and SRTT at 50 ms.
FULLY_MARKED = [*START, *marks(40)]
SIXTEENTH = {"net.ipv4.tcp_lsaimd.c": 8}
# A round trip of 150 ms after those of 50: more than 40 ms of it may be a delayed ACK's.
LATE = [*FULLY_MARKED, wait(100), ack(None), NEXT]
LATE_RTT = 150 - 40
BURST = 4
BURSTS = SIXTEENTH | {"net.ipv4.tcp_lsaimd.burst": BURST}


def scripts() -> dict[str, dict[str, Any]]:
    steps: dict[str, tuple[str, list[Step], dict[str, Any]]] = {
        "a mark": (RENO, [*START, ack(11, ece=True)], {}),
        "acks in a marked window": (
            RENO,
            [*START, ack(11, ece=True)]
            + [step for n in range(12, 31) for step in (wait(5), ack(n))],
            {},
        ),
        "marks": (RENO, FULLY_MARKED, {}),
        "marks, C = 1/16": (RENO, FULLY_MARKED, SIXTEENTH),
        "marks, C = 1/128": (RENO, [*START, *marks(12)], {"net.ipv4.tcp_lsaimd.c": 1}),
        "marks, then none": (
            RENO,
            [*FULLY_MARKED, *[ack(None), NEXT, wait(50)] * 8],
            SIXTEENTH,
        ),
        "marks again": (
            RENO,
            [*FULLY_MARKED, *[ack(None), NEXT, wait(50)] * 20, *marks(4)],
            SIXTEENTH,
        ),
        "delayed acks": (
            RENO,
            [*FULLY_MARKED, *[ack(None), NEXT, NEXT, wait(50)] * 6],
            SIXTEENTH,
        ),
        "a lone segment's delayed ack": (
            RENO,
            [*FULLY_MARKED, *[ack(None), NEXT, wait(90)] * 6],
            SIXTEENTH,
        ),
        "a late ACK": (RENO, LATE, SIXTEENTH),
        "a late ACK, waits after it": (
            RENO,
            LATE,
            SIXTEENTH | {"net.ipv4.tcp_lsaimd.wait_after_ack": 1},
        ),
        "a late ACK, SRTT of a half": (
            RENO,
            [*LATE, wait(50), ack(None), NEXT],
            SIXTEENTH | {"net.ipv4.tcp_lsaimd.srtt_shift": 1},
        ),
        "bursts": (RENO, [*FULLY_MARKED, *[ack(None), NEXT, wait(50)] * 6], BURSTS),
        "bursts, a late ACK": (RENO, LATE, BURSTS),
        "bursts, a late ACK, waits after it": (
            RENO,
            LATE,
            BURSTS | {"net.ipv4.tcp_lsaimd.wait_after_ack": 1},
        ),
        "bursts, marks again": (
            RENO,
            [*FULLY_MARKED, *[ack(None), NEXT, wait(50)] * 10, *marks(4)],
            BURSTS,
        ),
        "bursts, acknowledged by halves": (
            RENO,
            [*FULLY_MARKED, *[ack(-BURST // 2), ack(None), NEXT, wait(50)] * 6],
            BURSTS,
        ),
        "a share of marks": (DCTCP, [*START, *[ack(None), wait(60)] * 3, *marks(1)], {}),
        "a loss": (RENO, [*START, ack(11, sack=[[12, 16]])], {}),
        "a loss: dctcp": (
            DCTCP,
            [*START, *[ack(None), wait(60)] * 3, ack(290, sack=[[291, 295]])],
            {},
        ),
        "a mark, then a loss in the same window": (
            RENO,
            [*START, ack(11, ece=True), ack(12, sack=[[13, 17]])],
            {},
        ),
        "a loss undone by a DSACK": (
            RENO,
            [*START, ack(11, sack=[[12, 16]]), wait(10), ack(16, sack=[[11, 12]])],
            {},
        ),
        "a timeout": (RENO, [*START, wait(400)], {}),
        "a timeout in a marked window": (RENO, [*START, ack(11, ece=True), wait(400)], {}),
        "a timeout, and what follows": (
            RENO,
            [*START, wait(400), ack(30), *[wait(60), ack(None)] * 5],
            {},
        ),
        "a timeout below a segment": (RENO, [*FULLY_MARKED, wait(3000)], {}),
        "idle time": (
            RENO,
            [
                *[write(70), wait(50), ack(10), wait(60), ack(30), wait(80), ack(70)],
                *[wait(3000), write(100)],
            ],
            {},
        ),
        "an application that sends little": (
            RENO,
            [
                *[write(30), wait(50), ack(10), wait(50), ack(30, ece=True)],
                *[write(1), wait(50), ack(None)] * 40,
            ],
            {},
        ),
        "a closed window": (
            RENO,
            [*START, ack(30, window=WINDOW), *[wait(60), ack(None, window=WINDOW)] * 20],
            {},
        ),
        "a smaller MTU": (
            RENO,
            [*START, ack(11, ece=True), mtu(590), *[wait(60), ack(None)] * 2, mtu(1500)],
            {},
        ),
        "a receiver of marks": (
            DCTCP,
            [
                *[write(1), wait(50), ack(1), data(4), wait(100)],
                *[data(1), data(1, ce=True), data(1, ce=True), wait(100)],
                *[data(1, ce=True), data(1), wait(100)],
            ],
            {},
        ),
        "no ECN": (DCTCP, [*START, ack(11, sack=[[12, 16]])], {"ecn": False}),
    }
    found = {}
    for name, (cc, script, other) in steps.items():
        sysctls = NO_PROBES | {key: value for key, value in other.items() if key != "ecn"}
        found[name] = {
            "cc": cc,
            "sysctls": sysctls,
            "ecn": other.get("ecn", True),
            "timestamps": False,
            "steps": script,
        }
    refused = [
        ["sysctl", f"net.ipv4.tcp_lsaimd.{name}", value]
        for name, values in {
            "c": ("0", "129", "-1", "text"),
            "k0": ("0", "256 0", "65536 1024"),
            "k1": ("0", "512 0", "-512 2048"),
            "wait_after_ack": ("-1", "2"),
            "srtt_shift": ("-1", "8"),
            "burst": ("0", "11"),
        }.items()
        for value in values
    ]
    found["refused"] = found["a loss"] | {"steps": refused}
    return found


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    return played(scripts(), tmp_path_factory.mktemp("segments"))


class Told:
    """What the module tells of itself after a step, in bytes."""

    def __init__(self, entry: dict[str, Any]) -> None:
        window, increase, threshold = struct.unpack("<QQI", bytes.fromhex(entry["info"]))
        self.exact = window
        self.window = window / BYTE
        self.increase = increase / BYTE
        self.threshold = threshold


def add(threshold: float, c: float = 1, mss: int = MSS) -> float:
    """The thesis's add_B."""
    assert mss < 3600
    return c * K0 * math.log2(threshold / K1 + 1)


def sent(trace: Trace) -> list[int]:
    """When each segment left, in ms."""
    return [at for entry in trace for _, _, at in entry["sent"]]


def steps_of(traces: dict[str, Trace], name: str, after: int = len(START)) -> Trace:
    return traces[name][after:]


def test_slow_start_doubles(traces: dict[str, Trace]) -> None:
    before, _, grown, _ = (Told(entry) for entry in traces["a mark"][: len(START)])
    assert before.window == 10 * MSS
    assert grown.window == 20 * MSS
    assert grown.threshold == 1 << 31


def test_a_mark_halves_and_the_window_goes_on_growing(traces: dict[str, Trace]) -> None:
    """Over the round trip that Linux calls CWR, in which Reno's own window does not grow."""
    trace = steps_of(traces, "acks in a marked window")
    told = [Told(entry) for entry in trace]
    assert told[0].threshold == 10 * MSS
    assert [entry["state"] for entry in trace] == ["CWR"] * len(trace)
    assert told[0].window == pytest.approx(10 * MSS + add(10 * MSS) / 10, rel=1e-6)
    for before, after in itertools.pairwise(told):
        assert after.increase == pytest.approx(add(10 * MSS), rel=1e-6)
        if after.exact != before.exact:
            whole = before.window // MSS
            assert after.window - before.window == pytest.approx(after.increase / whole, rel=1e-5)
    assert told[-1].window > 11.9 * MSS


def test_the_window_shrinks_over_a_round_trip(traces: dict[str, Trace]) -> None:
    """A segment for every second ACK, instead of half a round trip without any."""
    sent_by_step = [len(entry["sent"]) for entry in steps_of(traces, "acks in a marked window")]
    assert max(sent_by_step) == 1
    assert 10 <= sum(sent_by_step) <= 12


@pytest.mark.parametrize(
    ("name", "c"), [("marks", 1.0), ("marks, C = 1/16", 1 / 16), ("marks, C = 1/128", 1 / 128)]
)
def test_each_mark_halves(traces: dict[str, Trace], name: str, c: float) -> None:
    before = Told(traces[name][len(START) - 1])
    reductions = 0
    for entry in steps_of(traces, name):
        after = Told(entry)
        if after.exact != before.exact:
            assert after.threshold == max(before.exact // 2 // BYTE, 2)
            assert after.increase == pytest.approx(add(before.window / 2, c), rel=1e-3)
            reductions += 1
        before = after
    assert reductions >= 12


def test_marks_alone_starve_no_sender(traces: dict[str, Trace]) -> None:
    """What an ACK adds and what a mark takes balance, above or below a segment."""
    for name, least, most in (("marks", 1, 2), ("marks, C = 1/16", 0.05, 0.5)):
        windows = [Told(entry).window for entry in traces[name][-31::3]]
        assert windows[-1] == pytest.approx(windows[0], rel=0.01)
        assert least * MSS < windows[-1] < most * MSS


def test_full_segments_wait(traces: dict[str, Trace]) -> None:
    """The time from one segment to the next is SMSS/W round trips, of the window after the ACK."""
    trace = traces["marks again"][len(FULLY_MARKED) + 60 :]
    assert Told(trace[-1]).window < 0.7 * Told(trace[0]).window
    (last,) = sent(traces["marks again"][: len(FULLY_MARKED) + 60])[-1:]
    for entry in trace:
        for _, _, at in entry["sent"]:
            check_wait(at - last, Told(entry).window)
            last = at
        assert entry["cwnd"] == 2
    assert len(sent(trace)) == 4


def test_a_wait_does_not_get_shorter(traces: dict[str, Trace]) -> None:
    """Where the window grows, the wait that has begun goes on."""
    check_waits_begun(steps_of(traces, "marks, then none", len(FULLY_MARKED)))


def check_waits_begun(trace: Trace) -> None:
    """Check each wait against the window that was when the segment before left."""
    last, window, checked = None, 0.0, 0
    for entry in trace:
        for _, _, at in entry["sent"]:
            if last is not None:
                check_wait(at - last, window)
                checked += 1
            last, window = at, Told(entry).window
    assert checked >= 5


def check_wait(wait: int, window: float) -> None:
    """SRTT is 50 ms. A segment is seen up to a millisecond late, and so is its ACK."""
    assert 50 * MSS / window - 2 <= wait <= 51 * MSS / window + 2


def test_a_late_ack_does_not_prolong_a_wait(traces: dict[str, Trace]) -> None:
    """By default a wait is counted from the segment before, whenever its ACK comes."""
    trace = traces["a late ACK"]
    before = Told(trace[len(FULLY_MARKED) - 1])
    *_, last, following = sent(trace)
    check_wait(following - last, before.window)


def test_a_segment_may_wait_after_the_ack(traces: dict[str, Trace]) -> None:
    """For d of (SMSS/W - 1) SRTT, which is the segment before's wait less its round trip."""
    trace = traces["a late ACK, waits after it"]
    after = Told(trace[-1])
    *_, last, following = sent(trace)
    srtt = 50 + (LATE_RTT - 50) / 8
    assert following - last == pytest.approx(150 + (MSS / after.window - 1) * srtt, abs=4)
    (*_, default_last, default) = sent(traces["a late ACK"])
    assert following - last > default - default_last + 30


def test_the_weight_of_an_rtt_may_be_another(traces: dict[str, Trace]) -> None:
    """The late ACK takes SRTT to 80 ms, and the wait that begins then is of that."""
    trace = traces["a late ACK, SRTT of a half"]
    *_, last, following = sent(trace)
    window = Told(trace[len(LATE) - 1]).window
    srtt = (50 + LATE_RTT) / 2
    assert srtt * MSS / window - 2 <= following - last <= (srtt + 1) * MSS / window + 2


@pytest.mark.parametrize("name", ["bursts", "bursts, acknowledged by halves"])
def test_a_burst_leaves_at_once(traces: dict[str, Trace], name: str) -> None:
    """And the next one s/W round trips later, whether one ACK tells of it or two."""
    check_bursts(traces, name, len(FULLY_MARKED), 6)


def test_marks_prolong_the_wait_for_a_burst(traces: dict[str, Trace]) -> None:
    trace = traces["bursts, marks again"]
    assert Told(trace[-1]).window < 0.5 * Told(trace[-13]).window
    check_bursts(traces, "bursts, marks again", len(trace) - 12, 4)


def check_bursts(traces: dict[str, Trace], name: str, begin: int, count: int) -> None:
    """Check that all that leaves does so in bursts, each by the smallest window after an ACK."""
    last = sent(traces[name][:begin])[-1]
    windows: list[float] = []
    found = 0
    for before, entry in itertools.pairwise(traces[name][begin - 1 :]):
        times = [at for _, _, at in entry["sent"]]
        if Told(entry).exact != Told(before).exact:
            windows.append(Told(entry).window)
        if times:
            assert times == [times[0]] * BURST
            check_wait(times[0] - last, min(windows) / BURST)
            last, windows = times[0], []
            found += 1
    assert found == count


def test_a_late_ack_does_not_prolong_the_wait_for_a_burst(traces: dict[str, Trace]) -> None:
    trace = traces["bursts, a late ACK"]
    srtt = 50 + (150 - 50) / 8  # nothing is a delayed ACK's where a burst is answered
    wait, window = times_of_bursts(trace)
    assert wait == pytest.approx(srtt * BURST * MSS / window, rel=0.03)
    after_ack, window = times_of_bursts(traces["bursts, a late ACK, waits after it"])
    assert after_ack == pytest.approx(150 + srtt * (BURST * MSS / window - 1), rel=0.03)
    assert after_ack > wait + 60


def times_of_bursts(trace: Trace) -> tuple[int, float]:
    """How long after the burst before the last one left, and the window by which it did."""
    *_, before, last = sorted(set(sent(trace)))
    return last - before, Told(trace[-1]).window


def test_no_segment_waits_longer_than_a_second(traces: dict[str, Trace]) -> None:
    times = sent(traces["marks, C = 1/128"])
    assert Told(traces["marks, C = 1/128"][-1]).window < 50 / 1000 * MSS
    assert max(after - before for before, after in itertools.pairwise(times)) <= 1001


def test_one_segment_at_a_time_is_on_its_way(traces: dict[str, Trace]) -> None:
    for entry in steps_of(traces, "marks, C = 1/16", len(START) + 60):
        assert len(entry["sent"]) <= 1


def test_the_increase_of_a_waiting_segment_counts_its_wait(traces: dict[str, Trace]) -> None:
    trace = [Told(entry) for entry in steps_of(traces, "marks, then none", len(FULLY_MARKED))]
    before = Told(traces["marks, then none"][len(FULLY_MARKED) - 1])
    grown = 0
    for after in trace:
        if after.exact != before.exact:
            assert before.window < 2 * MSS
            step = before.increase * MSS / before.window
            assert after.window == pytest.approx(before.window + step, rel=1e-6)
            grown += 1
        before = after
    assert grown == 8


def test_the_pace_of_delta_segments_is_not_taken_for_rtt(traces: dict[str, Trace]) -> None:
    """An ACK for two paced segments: the second one's RTT counts."""
    trace = steps_of(traces, "delayed acks", len(FULLY_MARKED))
    check_waits_begun(trace)


def test_a_delayed_ack_of_a_lone_segment_does_not_slow_the_pace(traces: dict[str, Trace]) -> None:
    trace = steps_of(traces, "a lone segment's delayed ack", len(FULLY_MARKED))
    check_waits_begun(trace)


def test_dctcp_reduces_by_the_share_of_marks(traces: dict[str, Trace]) -> None:
    """Alpha is 1 at first and was not measured to be less than (15/16)^4 when the mark came."""
    trace = traces["a share of marks"]
    before, after = Told(trace[len(START) + 5]), Told(trace[len(START) + 6])
    share = 1 - after.threshold / before.window
    assert 0.5 * (15 / 16) ** 5 < share < 0.5


def test_a_loss_halves_once(traces: dict[str, Trace]) -> None:
    assert Told(traces["a loss"][-1]).threshold == 10 * MSS
    assert traces["a loss"][-1]["state"] == "Recovery"
    marked, lost = (Told(e) for e in traces["a mark, then a loss in the same window"][-2:])
    assert marked.threshold == lost.threshold == 10 * MSS


def test_a_loss_is_more_than_a_mark_to_dctcp(traces: dict[str, Trace]) -> None:
    trace = traces["a loss: dctcp"]
    before, after = Told(trace[-2]), Told(trace[-1])
    assert trace[-1]["state"] == "Recovery"
    assert after.threshold == int(before.window / 2)


def test_a_loss_that_was_none_is_undone(traces: dict[str, Trace]) -> None:
    last = Told(traces["a loss undone by a DSACK"][-1])
    assert last.window >= 20 * MSS
    assert last.threshold == 1 << 31
    assert traces["a loss undone by a DSACK"][-1]["cwnd"] >= 20


def test_a_timeout_leaves_a_segment(traces: dict[str, Trace]) -> None:
    entry = traces["a timeout"][-1]
    assert (entry["state"], entry["cwnd"]) == ("Loss", 1)
    assert Told(entry).window == MSS
    assert Told(entry).threshold == 10 * MSS


def test_a_timeout_in_a_marked_window_does_not_reduce_the_threshold_again(
    traces: dict[str, Trace],
) -> None:
    last = Told(traces["a timeout in a marked window"][-1])
    assert last.window == MSS
    assert last.threshold == 10 * MSS


def test_after_a_timeout_the_window_doubles_to_the_threshold(traces: dict[str, Trace]) -> None:
    told = [Told(entry) for entry in steps_of(traces, "a timeout, and what follows")]
    assert told[-1].window > 9 * MSS
    assert traces["a timeout, and what follows"][-1]["state"] == "Open"


def test_a_timeout_does_not_raise_a_small_window(traces: dict[str, Trace]) -> None:
    trace = steps_of(traces, "a timeout below a segment", len(FULLY_MARKED) - 1)
    assert trace[-1]["state"] == "Loss"
    assert Told(trace[-1]).exact == -(-Told(trace[0]).exact // 2)


def test_idle_time_leads_back_to_the_initial_window(traces: dict[str, Trace]) -> None:
    *_, before, _, restarted = (Told(entry) for entry in traces["idle time"])
    assert before.window > 20 * MSS
    assert restarted.window == 10 * MSS
    assert traces["idle time"][-1]["cwnd"] == 10


def test_an_unused_window_does_not_grow(traces: dict[str, Trace]) -> None:
    trace = steps_of(traces, "an application that sends little", len(START) + 2)
    assert Told(trace[-1]).window == Told(trace[5]).window


def test_a_closed_window_stops_growth(traces: dict[str, Trace]) -> None:
    trace = steps_of(traces, "a closed window")
    assert Told(trace[-1]).window <= 2 * Told(trace[0]).window
    assert Told(trace[-1]).window == Told(trace[3]).window
    assert sum(len(entry["sent"]) for entry in trace) >= 16 * 16


def test_a_smaller_mtu_keeps_the_bytes(traces: dict[str, Trace]) -> None:
    trace = steps_of(traces, "a smaller MTU")
    before, after = Told(trace[0]), Told(trace[-1])
    assert after.threshold == before.threshold
    assert after.window >= before.window
    mss = 590 - 40
    assert trace[-1]["cwnd"] == after.exact // BYTE // mss


def test_without_ecn_dctcp_answers_losses(traces: dict[str, Trace]) -> None:
    last = traces["no ECN"][-1]
    assert last["state"] == "Recovery"
    assert Told(last).threshold == 10 * MSS


def test_a_receiver_tells_of_each_change_at_once(traces: dict[str, Trace]) -> None:
    """Each ACK stands for packets that are all marked, or none of them (RFC 8257, 3.2)."""
    acks = [tuple(each) for entry in traces["a receiver of marks"] for each in entry["acks"]]
    marked = {5: False, 6: True, 7: True, 8: True, 9: False}  # by number, from 1 on
    told: dict[int, bool] = {}
    for (before, _), (after, flags) in itertools.pairwise([(0, ""), *acks]):
        told |= dict.fromkeys(range(before + 1, after + 1), flags == "E")
    assert told | marked == told


def test_settings_out_of_range_are_refused(traces: dict[str, Trace]) -> None:
    assert {entry["refused"] for entry in traces["refused"]} == {"EINVAL"}
