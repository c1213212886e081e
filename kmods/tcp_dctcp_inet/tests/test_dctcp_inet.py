"""dctcp_inet: its arithmetic, what it does segment by segment, and whole flows of it in the lab."""

import ctypes
import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmods.tcp_abe.tests.test_segments import CONNECTIONS, SCENARIOS
from sandglass.errors import SandglassError
from tests.kmods.segments import (
    EMPTY,
    FULL,
    NO_PROBES,
    PROBED,
    START,
    Step,
    Trace,
    ack,
    cc,
    data,
    played,
    sysctl,
    wait,
    write,
)
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell

ONE = 1 << 30  # alpha of 1
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
SETTING = "net.ipv4.tcp_dctcp_inet."
DEFAULTS = {
    "shift_g": 8, "alpha_bits": 20, "alpha_per_ack": 1, "alpha_start": 0,
    "slow_start_at_ssthresh": 0, "reduce_after_rtt": 0,
}  # fmt: skip

# --- Arithmetic -----------------------------------------------------------------------------------

alphas = st.integers(0, ONE)
gains = st.integers(0, 30).flatmap(lambda bits: st.tuples(st.just(bits), st.integers(0, bits)))
windows = st.integers(1, 1 << 31)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("dctcp_inet", "tcp_dctcp_inet", tmp_path_factory.mktemp("dctcp_inet"))
    for name in ("dctcp_inet_alpha", "dctcp_inet_window"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


@given(
    alpha=alphas, delivered=st.integers(1, 1 << 32), share=st.fractions(0, 1, max_denominator=99),
    gain=gains,
)  # fmt: skip
def test_alpha_is_the_moving_average_to_its_resolution(
    library: ctypes.CDLL, alpha: int, delivered: int, share: Fraction, gain: tuple[int, int]
) -> None:
    bits, shift_g = gain
    delivered = min(delivered, (1 << 32) - 1)
    marked = floor(share * delivered)
    unit = ONE >> bits
    before = Fraction(alpha // unit * unit)
    g = Fraction(1, 1 << shift_g)
    found = library.dctcp_inet_alpha(alpha, delivered, marked, bits, shift_g)
    assert found % unit == 0
    assert 0 <= found <= ONE
    exact = (1 - g) * before + g * Fraction(marked, delivered) * ONE
    assert abs(found - exact) < unit


@given(alpha=alphas, delivered=st.integers(1, 1000), gain=gains)
def test_more_marks_never_give_a_smaller_alpha(
    library: ctypes.CDLL, alpha: int, delivered: int, gain: tuple[int, int]
) -> None:
    found = [
        library.dctcp_inet_alpha(alpha, delivered, marked, *gain) for marked in range(delivered + 1)
    ]
    assert found == sorted(found)


@pytest.mark.parametrize(("bits", "shift_g"), [(10, 4), (20, 8), (20, 4), (30, 8)])
def test_alpha_comes_to_one_and_to_less_than_g_can_see(
    library: ctypes.CDLL, bits: int, shift_g: int
) -> None:
    """At 2^-10 with g = 2^-4 that is the 15/1024 at which the patch for Linux 3.2 stays."""
    unit = ONE >> bits
    alpha, seen = 0, set()
    while alpha not in seen:
        seen.add(alpha)
        alpha = library.dctcp_inet_alpha(alpha, 1, 1, bits, shift_g)
    assert alpha == ONE
    seen.clear()
    while alpha not in seen:
        seen.add(alpha)
        alpha = library.dctcp_inet_alpha(alpha, 1, 0, bits, shift_g)
    assert alpha == ((1 << shift_g) - 1) * unit


@given(cwnd=windows, alpha=alphas)
def test_a_mark_takes_half_of_alpha_in_whole_packets(
    library: ctypes.CDLL, cwnd: int, alpha: int
) -> None:
    reduction = floor(cwnd * Fraction(alpha, 2 * ONE))
    assert library.dctcp_inet_window(cwnd, alpha) == max(cwnd - reduction, 2)


# --- Segments -------------------------------------------------------------------------------------

FAST = {"shift_g": 2}  # each marked ACK takes alpha a quarter of the way to 1
ECHOED = [ack(n, ece=True) for n in range(11, 17)]
# Every packet but one that is lost, as it arrives.
SACKED = [ack(12, sack=[[13, n]]) for n in range(17, 31)]

# A marked window that was acknowledged, with nothing left to send.
EMPTIED = [write(20), wait(50), ack(10), ack(11, ece=True), ack(20)]

# Name: settings, the steps, and (cwnd, ssthresh, state) after each of the last ones.
Expected = list[tuple[int, int, str]]
MARKS: dict[str, tuple[dict[str, int], list[Step], Expected]] = {
    "a mark in slow start, alpha still small": (
        # It ends slow start: 20 packets acknowledged, in CWR too, make the window grow by one.
        {},
        [*START, ack(11, ece=True), ack(12), ack(30), ack(31)],
        [(20, 20, "CWR"), (20, 20, "CWR"), (20, 20, "CWR"), (21, 20, "Open")],
    ),
    "a mark in slow start, alpha 1 at the start": (
        # 20 - 9: alpha has decayed once, by 1/256.
        {"alpha_start": 1024},
        [*START, ack(11, ece=True)],
        [(11, 11, "CWR")],
    ),
    "echoes in one window": (
        # alpha is 0.25, 0.44, 0.58, 0.68, 0.76, 0.82; half of that of 20 packets goes.
        FAST,
        [*START, *ECHOED],
        [(n, n, "CWR") for n in (18, 16, 15, 14, 13, 12)],
    ),
    "an echo after others were missing": (
        # alpha is 0.25, 0.19, 0.14, 0.36, 0.52.
        FAST,
        [*START, ack(11, ece=True), ack(12), ack(13), ack(14, ece=True), ack(15, ece=True)],
        [*[(18, 18, "CWR")] * 3, (17, 17, "CWR"), (15, 15, "CWR")],
    ),
    "growth in CWR": (
        FAST,
        [*START, ack(11, ece=True), ack(28), ack(29), ack(30), ack(31)],
        [*[(18, 18, "CWR")] * 2, *[(19, 18, "CWR")] * 2, (19, 18, "Open")],
    ),
    "what has grown in CWR goes with the next echo": (
        # The reduction is from the 20 packets that CWR began with: alpha is 0.25, 0.19, 0.39.
        FAST,
        [*START, ack(11, ece=True), ack(29), ack(30, ece=True)],
        [(18, 18, "CWR"), (19, 18, "CWR"), (17, 17, "CWR")],
    ),
    "a mark in each of two windows": (
        # The second reduction is from 19 packets: alpha is 0.25, 0.19, 0.39.
        FAST,
        [*START, ack(11, ece=True), ack(30), ack(31, ece=True)],
        [(18, 18, "CWR"), (19, 18, "CWR"), (16, 16, "CWR")],
    ),
    "marks that take less than a packet do not disturb linear growth": (
        # 24 packets after slow start the window has grown by one and 4 packets count for the
        # next, which needs 21: the mark's own does not count, and 17 more do.
        {},
        [
            *[*START, ack(11, ece=True), ack(31), ack(35), ack(36, ece=True)],
            *[ack(n) for n in (37, 52, 53)],
        ],
        [
            *[(20, 20, "CWR"), (21, 20, "Open"), (21, 20, "Open"), (21, 21, "CWR")],
            *[(21, 21, "CWR"), (21, 21, "CWR"), (22, 21, "CWR")],
        ],
    ),
    "a reduction begins linear growth anew": (
        # 17 of the 18 packets that growth needs do not count any more: alpha is 0.39.
        FAST,
        [*START, ack(11, ece=True), ack(28), ack(29, ece=True), ack(30)],
        [(18, 18, "CWR"), (18, 18, "CWR"), (17, 17, "CWR"), (17, 17, "CWR")],
    ),
    "a loss begins linear growth anew": (
        # 4 packets have counted before it, and none when the ACK that ends recovery has a mark.
        {},
        [
            *[*START, ack(11, ece=True), ack(31), ack(35), ack(35, sack=[[36, 56]])],
            *[ack(56, ece=True), ack(60), ack(65), ack(66)],
        ],
        [
            *[(20, 20, "CWR"), (21, 20, "Open"), (21, 20, "Open"), (10, 10, "Recovery")],
            *[(10, 10, "CWR"), (10, 10, "CWR"), (10, 10, "CWR"), (11, 10, "Open")],
        ],
    ),
    "a mark, then a loss in the same window": (
        # The loss halves what the mark has left, once: for two packets that arrive, one is sent.
        FAST,
        [*START, ack(11, ece=True), *SACKED, ack(30), ack(31), ack(32)],
        [
            (18, 18, "CWR"),
            *[(n, 9, "Recovery") for n in (16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 9, 9)],
            *[(9, 9, "Open")] * 3,
        ],
    ),
    "a mark, and a loss when its window is acknowledged": (
        FAST,
        [
            *[*START, ack(11, ece=True), ack(30), ack(30, sack=[[31, 35]]), ack(35)],
            *[ack(48), ack(50)],
        ],
        [
            *[(18, 18, "CWR"), (19, 18, "CWR"), (16, 9, "Recovery"), (16, 9, "Recovery")],
            *[(9, 9, "Recovery"), (9, 9, "Open")],
        ],
    ),
    "a loss, a mark in the same window, and a mark in the next": (
        # alpha is 0.25, 0.44 then.
        FAST,
        [*START, ack(11, sack=[[12, 16]]), ack(11, ece=True, sack=[[12, 30]]), ack(30, ece=True)],
        [(17, 10, "Recovery"), (10, 10, "Recovery"), (8, 8, "CWR")],
    ),
    "a timeout in a marked window": (
        FAST,
        [*START, ack(11, ece=True), wait(400)],
        [(18, 18, "CWR"), (1, 9, "Loss")],
    ),
    "a timeout when the marked window was acknowledged, the last ACK an echo": (
        FAST,
        [*START, ack(11, ece=True), ack(30, ece=True), wait(400)],
        [(18, 18, "CWR"), (16, 16, "CWR"), (1, 8, "Loss")],
    ),
    "a loss in a marked window that a probe repaired": (
        FAST,
        [*PROBED[:-1], ack(11, ece=True), wait(200), write(2), ack(22)],
        [*[(18, 18, "CWR")] * 3, (9, 9, "Open")],
    ),
    "a loss that a probe repaired, and a mark": (
        # Linux cuts twice.
        FAST,
        [*PROBED, write(2), ack(22, ece=True)],
        [(20, INFINITE, "Open"), (9, 9, "CWR")],
    ),
    "reordering in CWR": (
        # What comes by SACK does not count for growth: 18 packets are needed, 17 counted.
        FAST,
        [
            *[*START, ack(11, ece=True), ack(12), ack(12, sack=[[13, 14]])],
            *[ack(12, sack=[[13, 15]]), ack(15), ack(30)],
        ],
        [(18, 18, "CWR")] * 6,
    ),
    "reordering in CWR, where it is known to be high": (
        # What comes by SACK counts, as in Linux's other states: 7, 1, and 20 of the 28 packets.
        FAST,
        [
            *[*START, ack(11, sack=[[20, 21]]), ack(21), ack(22, ece=True)],
            *[ack(22, sack=[[23, n]]) for n in range(24, 31)],
            *[ack(30), ack(49), ack(50)],
        ],
        [*[(28, 28, "CWR")] * 10, (29, 28, "CWR")],
    ),
    "a window that the receiver limits": (
        # 48 packets of a window of 10 do not make one of 20 grow.
        {},
        [
            *[write(100), wait(50), ack(10, window=10), wait(50), ack(11, ece=True, window=10)],
            *[ack(n, window=10) for n in range(12, 60)],
        ],
        [*[(20, 20, "CWR")] * 10, *[(20, 20, "Open")] * 39],
    ),
    "a window that the application does not fill": (
        {},
        [
            *[write(20), wait(50), ack(10), wait(50), ack(11, ece=True)],
            *itertools.chain.from_iterable([write(1), ack(n)] for n in range(12, 60)),
        ],
        [*[(20, 20, "CWR")] * 20, *[(20, 20, "Open")] * 77],
    ),
    "idle time in CWR": (
        # The first window after it, then slow start to what the mark had left.
        FAST,
        [*EMPTIED, wait(5000), write(100), wait(50), ack(21), ack(22), ack(31)],
        [
            *[(18, 18, "CWR"), (10, 18, "CWR"), (10, 18, "CWR")],
            *[(11, 18, "Open"), (12, 18, "Open"), (18, 18, "Open")],
        ],
    ),
    "idle time in CWR, and a mark in the first window after it": (
        # alpha is 0.39 then.
        FAST,
        [*EMPTIED, wait(5000), write(100), wait(50), ack(21, ece=True)],
        [(18, 18, "CWR"), (10, 18, "CWR"), (10, 18, "CWR"), (9, 9, "CWR")],
    ),
    "a pause in CWR that is shorter than the retransmission timeout": (
        FAST,
        [*EMPTIED, wait(100), write(100), wait(50), ack(21)],
        [*[(18, 18, "CWR")] * 3, (18, 18, "Open")],
    ),
    "idle time in CWR, then a timeout": (
        FAST,
        [*EMPTIED, write(20), wait(400)],
        [(18, 18, "CWR"), (1, 9, "Loss")],
    ),
    "another congestion control in CWR": (
        FAST,
        [*START, ack(11, ece=True), cc("reno"), ack(12), ack(30), ack(31), ack(32, ece=True)],
        [
            *[(18, 18, "CWR")] * 2,
            (19, 18, "CWR"),
            (18, 18, "CWR"),
            *[(18, 18, "Open"), (18, 9, "CWR")],
        ],
    ),
    "the same congestion control again, in CWR": (
        # It begins anew: alpha is 0.25 at the next mark, and Linux ends this CWR.
        FAST,
        [*START, ack(11, ece=True), cc("dctcp_inet"), ack(12), ack(30), ack(31)],
        [*[(18, 18, "CWR")] * 2, (19, 18, "CWR"), *[(18, 18, "CWR"), (18, 18, "Open")]],
    ),
    "slow start at ssthresh, after a mark that takes less than a packet": (
        # The first ACK is still slow start's, and adds a packet; the next ones are not.
        {"slow_start_at_ssthresh": 1},
        [*START, ack(11, ece=True), ack(12), ack(13), ack(14)],
        [(20, 20, "CWR"), *[(21, 20, "CWR")] * 3],
    ),
    "slow start at ssthresh, after a reduction": (
        FAST | {"slow_start_at_ssthresh": 1},
        [*START, ack(11, ece=True), ack(12, ece=True), ack(14), ack(15)],
        [(18, 18, "CWR"), (16, 16, "CWR"), *[(17, 16, "CWR")] * 2],
    ),
    "slow start at ssthresh, in a window that the receiver limits": (
        {"slow_start_at_ssthresh": 1},
        [
            *[write(100), wait(50), ack(10, window=10), wait(50), ack(11, ece=True, window=10)],
            *[ack(n, window=10) for n in range(12, 20)],
        ],
        [*[(20, 20, "CWR")] * 9],
    ),
    "a reduction at the end of the round trip": (
        # alpha is 0.25, 0.44 and, of 18 packets without a mark at once, 0.33; with the ACK that
        # ends CWR 0.25.
        FAST | {"reduce_after_rtt": 1},
        [*START, ack(11, ece=True), ack(12, ece=True), ack(30), ack(31), ack(32)],
        [*[(20, 20, "CWR")] * 3, *[(18, 18, "Open")] * 2],
    ),
    "a reduction at the end of the round trip, whose last ACK is an echo": (
        # alpha is 0.25, 0.19 and 0.39: 3 of 20 packets go, and the next CWR begins with 17.
        FAST | {"reduce_after_rtt": 1},
        [*START, ack(11, ece=True), ack(30), ack(31, ece=True), ack(32)],
        [*[(20, 20, "CWR")] * 2, *[(17, 17, "CWR")] * 2],
    ),
    "a full queue of the host's own": (
        # As a mark: alpha is 0.28, and the window 21.
        {"shift_g": 2, "alpha_start": 512},
        [*START, FULL, ack(11), EMPTY],
        [(19, 19, "CWR"), (19, 19, "CWR")],
    ),
}
REFUSED = {
    "shift_g": [-1, 21, "text", "1e1"],
    "alpha_bits": [7, 31, -1, "0.5"],
    "alpha_per_ack": [-1, 2, "yes"],
    "alpha_start": [-1, 1025, "50%"],
}
SEEDS = range(40)
# Each within the range of the other as it is then.
LINKED = [("alpha_bits", 8), ("shift_g", 9), ("shift_g", 0), ("alpha_bits", 0), ("alpha_bits", 30)]
# A new connection acknowledges 16 packets at once; the ACK of the next four is delayed.
RECEIVED = [write(1), wait(50), ack(1), data(20)]
RECEIVER: dict[str, tuple[list[Step], list[list[list[Any]]]]] = {
    "the first marked packet": (
        [data(1), data(1, ce=True)],
        [[], [[21, ""], [22, "E"]]],
    ),
    "the first that is not marked": (
        [data(1, ce=True), data(1, ce=True), data(1)],
        [[[20, ""], [21, "E"]], [], [[22, "E"], [23, ""]]],
    ),
    "marked packets": (
        [data(1, ce=True), data(1, ce=True), wait(300)],
        [[[20, ""], [21, "E"]], [], [[22, "E"]]],
    ),
}


def settings(values: dict[str, int]) -> dict[str, int]:
    return {SETTING + name: value for name, value in values.items()}


def script(
    steps: list[Step], values: dict[str, int], cc: str = "dctcp_inet", **other: Any
) -> dict[str, Any]:
    """A script for player.py; probes are off but where the steps are about them."""
    probed = steps[: len(PROBED) - 1] == PROBED[:-1]
    return {
        "cc": cc,
        "ecn": True,
        "timestamps": False,
        "steps": steps,
        **other,
        "sysctls": ({} if probed else NO_PROBES) | other.get("sysctls", {}) | settings(values),
    }


def without_marks() -> list[str]:
    """The scenarios of test_segments.py whose answer must be Reno's: no mark decides in them."""
    marked = {"a full queue of the host's own"}  # that counts as one
    alone = {"a loss and a mark in one ACK", "a loss with a mark is not undone"}
    return [
        name
        for name, (steps, _) in SCENARIOS.items()
        if name in alone
        or (name not in marked and not any("ece" in step[-1] for step in steps if step[0] == "ack"))
    ]


def random_steps(seed: int, *, marks: bool) -> list[Step]:
    """An application, a network and a receiver that do anything."""
    draw = Random(seed)
    steps: list[Step] = [write(draw.randint(1, 60))]
    acknowledged = 0
    for _ in range(80):
        kind = draw.random()
        if kind < 0.15:
            steps.append(write(draw.randint(1, 30)))
        elif kind < 0.35:
            steps.append(wait(draw.choice([1, 5, 20, 50, 50, 100, 400, 3000])))
        else:
            options: dict[str, Any] = {}
            acknowledged += draw.choice([0, 1, 1, 2, 2, 4, 9])
            if draw.random() < 0.3:
                edges = sorted(draw.sample(range(acknowledged + 1, acknowledged + 20), 4))
                options["sack"] = [edges[2:], edges[:2]][: draw.randint(1, 2)]
                if draw.random() < 0.2:  # a DSACK
                    low = max(acknowledged - 1, 0)
                    options["sack"].insert(0, [low, low + 1])
            if draw.random() < 0.1:
                options["window"] = draw.randint(0, 30)
            echo = draw.random() < 0.4
            if echo and marks:
                options["ece"] = True
            steps.append(ack(acknowledged, **options))
    return steps


def all_scripts() -> dict[str, dict[str, Any]]:
    scripts = {name: script(steps, values) for name, (values, steps, _) in MARKS.items()}
    for name, (steps, _) in SCENARIOS.items():
        for own in ("dctcp_inet", "reno"):
            other = CONNECTIONS.get(name, {})
            scripts[f"{name}: {own}"] = script(steps, {}, own, **other)
            without = other | {"ecn": False}
            scripts[f"{name}, without ECN: {own}"] = script(steps, {}, own, **without)
    for name, (steps, _) in RECEIVER.items():
        for own in ("dctcp_inet", "dctcp"):
            scripts[f"{name}: {own}"] = script([*RECEIVED, *steps], {}, own)
    for seed in SEEDS:
        for own in ("dctcp_inet", "reno"):
            scripts[f"random {seed}: {own}"] = script(random_steps(seed, marks=False), {}, own)
        marked = random_steps(seed, marks=True)
        scripts[f"random {seed}, marked"] = script(marked, FAST)
    refused = [sysctl(SETTING + name, value) for name in REFUSED for value in REFUSED[name]]
    scripts["refused"] = script(refused, {})
    scripts["linked"] = script([sysctl(SETTING + name, value) for name, value in LINKED], DEFAULTS)
    once = [*START, ack(11), ack(12, ece=True), ack(13), ack(30)]
    scripts["once in a round trip"] = script(once, FAST | {"alpha_per_ack": 0})
    return scripts


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    return played(all_scripts(), tmp_path_factory.mktemp("segments"))


@pytest.mark.parametrize("name", MARKS)
def test_each_mark_does_what_it_should(traces: dict[str, Trace], name: str) -> None:
    expected = MARKS[name][2]
    trace = traces[name][-len(expected) :]
    assert [(entry["cwnd"], entry["ssthresh"], entry["state"]) for entry in trace] == expected


def test_alpha_follows_every_ack(traces: dict[str, Trace]) -> None:
    found = [entry["alpha"] / ONE for entry in traces["an echo after others were missing"][-5:]]
    a = 0.25
    b = a * 0.75
    c = b * 0.75
    d = c * 0.75 + 0.25
    assert found == pytest.approx([a, b, c, d, d * 0.75 + 0.25], abs=2**-18)


def test_alpha_once_in_a_round_trip(traces: dict[str, Trace]) -> None:
    """One of the 19 packets of a window was marked."""
    found = [entry["alpha"] / ONE for entry in traces["once in a round trip"][-4:]]
    assert found[:3] == [0, 0, 0]
    assert found[3] == pytest.approx(0.25 / 19, abs=2**-18)


def test_the_reductions_of_a_window_are_announced_once(traces: dict[str, Trace]) -> None:
    trace = traces["what has grown in CWR goes with the next echo"]
    assert [flags for entry in trace for _, flags, _ in entry["sent"] if flags] == ["C"]


def but_alpha(trace: Trace) -> Trace:
    return [{key: entry[key] for key in entry if key != "alpha"} for entry in trace]


@pytest.mark.parametrize("name", [*without_marks(), *(f"random {seed}" for seed in SEEDS)])
def test_without_marks_it_is_reno(traces: dict[str, Trace], name: str) -> None:
    assert but_alpha(traces[f"{name}: dctcp_inet"]) == but_alpha(traces[f"{name}: reno"])


def test_random_scripts_visit_every_state(traces: dict[str, Trace]) -> None:
    """So that the comparison above says something, and the kernel's warnings would be heard."""
    visited = {entry["state"] for seed in SEEDS for entry in traces[f"random {seed}: dctcp_inet"]}
    assert visited >= {"Open", "Disorder", "Recovery", "Loss"}
    marked = [entry for seed in SEEDS for entry in traces[f"random {seed}, marked"]]
    ways = {(a["state"], b["state"]) for a, b in itertools.pairwise(marked)}
    assert ways >= {("CWR", state) for state in ("Open", "Recovery", "Loss", "CWR")}
    assert all(entry["cwnd"] >= 1 and entry["ssthresh"] >= 2 for entry in marked)
    assert all(0 <= entry["alpha"] <= ONE for entry in marked)


@pytest.mark.parametrize("name", SCENARIOS)
def test_without_ecn_it_is_reno(traces: dict[str, Trace], name: str) -> None:
    found = traces[f"{name}, without ECN: dctcp_inet"]
    assert found == traces[f"{name}, without ECN: reno"]


@pytest.mark.parametrize("cc", ["dctcp_inet", "dctcp"])
@pytest.mark.parametrize("name", RECEIVER)
def test_each_ack_stands_for_packets_marked_alike(
    traces: dict[str, Trace], name: str, cc: str
) -> None:
    steps, expected = RECEIVER[name]
    assert [entry["acks"] for entry in traces[f"{name}: {cc}"][-len(steps) :]] == expected


def test_settings_out_of_range_are_refused(traces: dict[str, Trace]) -> None:
    found = [entry["refused"] for entry in traces["refused"]]
    assert found == ["EINVAL"] * sum(map(len, REFUSED.values()))


def test_g_is_never_finer_than_alpha(traces: dict[str, Trace]) -> None:
    found = [entry["refused"] for entry in traces["linked"]]
    assert found == [None, "EINVAL", None, None, None]


# --- The lab --------------------------------------------------------------------------------------

# A step: every packet is marked that finds more than 12 ms of queue.
STEP = {"kind": "codel", "limit": 1000, "target": "1s", "interval": "2s", "ce_threshold": "12ms"}
LOSSES: dict[str, Mapped] = {
    "a short queue": {"queue": {"kind": "pfifo", "limit": 15}},
    "random loss": {"queue": {"kind": "netem", "limit": 1000, "loss": "1%"}},
}


@dataclass
class Sender:
    """The sender, as the paper describes it, for a flow without losses; alpha in 2^-20."""

    alpha: int = 0
    cwnd: int = 10
    ssthresh: int = INFINITE
    count: int = 0
    cwnd_max: int = 0
    end: int | None = None
    """The last packet of the window in which CWR began, while in CWR."""

    def ack(self, delivered: int, marked: int, acknowledged: int, sent: int) -> None:
        """An ACK of `delivered` packets; up to `acknowledged` of `sent` packets have arrived."""
        self.alpha += ((marked << 20) // delivered >> 8) - (self.alpha >> 8)
        if self.end is not None and acknowledged > self.end:
            self.end = None
        if marked:
            self._reduce(sent)
        else:
            self._grow(delivered)

    def _reduce(self, sent: int) -> None:
        if self.end is None:
            self.end, self.cwnd_max = sent, self.cwnd
            self.ssthresh = self.cwnd
        window = self.cwnd_max - (self.cwnd_max * self.alpha >> 21)
        if window < self.cwnd:
            self.cwnd = self.ssthresh = window
            self.count = 0

    def _grow(self, delivered: int) -> None:
        if self.cwnd < self.ssthresh:
            grown = min(delivered, self.ssthresh - self.cwnd)
            self.cwnd += grown
            delivered -= grown
        if delivered:
            if self.count >= self.cwnd:
                self.count = 0
                self.cwnd += 1
            self.count += delivered
            self.cwnd, self.count = (
                self.cwnd + self.count // self.cwnd,
                self.count % self.cwnd,
            )


def follow(acks: pl.DataFrame) -> int:
    """Compare each ACK's window with the paper's sender; returns how many have reduced it."""
    sender = Sender()
    assert acks.filter(pl.col("lost_packets") > 0).is_empty()
    cuts = 0
    for row, after in itertools.pairwise(acks.iter_rows(named=True)):
        delivered = after["delivered_packets"] - row["delivered_packets"]
        marked = after["delivered_ce_packets"] - row["delivered_ce_packets"]
        sent = row["delivered_packets"] + row["inflight_packets"]
        before = sender.cwnd
        if delivered:
            sender.ack(delivered, marked, after["delivered_packets"], sent)
        cuts += sender.cwnd < before
        ssthresh = INFINITE if after["ssthresh_packets"] is None else after["ssthresh_packets"]
        assert (after["cwnd_packets"], ssthresh) == (sender.cwnd, sender.ssthresh), after
    return cuts


@pytest.mark.lab
def test_a_whole_flow_follows_the_paper(lab: Lab) -> None:
    queue = STEP | {"ecn": True}
    run = lab(dumbbell(bulk(cc="dctcp_inet", ecn=True), queue=queue, rtt="25ms", duration="20s"))
    assert follow(run.table("acks")) > 50


@pytest.mark.lab
@pytest.mark.newer
@pytest.mark.usefixtures("newer_kernel")
def test_it_follows_the_paper_with_accurate_ecn_too(lab: Lab) -> None:
    """An ACK then counts its marks; without it one stands for packets all marked, or none."""
    flow = bulk(cc="dctcp_inet", ecn=True)
    hosts = {host: {"sysctls": {"net.ipv4.tcp_ecn": "3"}} for host in ("s1", "d1")}
    queue = STEP | {"ecn": True}
    run = lab(dumbbell(flow, queue=queue, rtt="25ms", duration="20s", hosts=hosts))
    acks = run.table("acks")
    marked, delivered = pl.col("delivered_ce_packets"), pl.col("delivered_packets")
    assert not acks.filter(marked.diff() > 0, marked.diff() < delivered.diff()).is_empty()
    assert follow(acks) > 50


@pytest.mark.lab
def test_the_pacing_rate_follows_the_window_in_cwr_too(lab: Lab) -> None:
    """1.2 windows in a round trip, as Linux has it in congestion avoidance."""
    queue = STEP | {"ecn": True}
    run = lab(dumbbell(bulk(cc="dctcp_inet", ecn=True), queue=queue, rtt="25ms", duration="20s"))
    rows = run.table("acks").filter(pl.col("ssthresh_packets").is_not_null())
    in_cwr = 0
    for row, after in itertools.pairwise(rows.iter_rows(named=True)):
        in_flight = row["inflight_packets"] - after["delivered_packets"] + row["delivered_packets"]
        window = 1448 * max(after["cwnd_packets"], in_flight)
        # The recorded time is rounded down.
        fastest = 1.2 * window * 10**6 / after["srtt_us"]
        slowest = 1.2 * window * 10**6 / (after["srtt_us"] + 1)
        assert int(slowest) <= after["pacing_rate_bytes_s"] <= fastest, after
        in_cwr += after["ca_state"] == "CWR"
    assert in_cwr > 1000


def records(run: Run) -> dict[str, Any]:
    names = ("packets", "acks", "queues", "flows")
    return {name: run.table(name).drop("cc", strict=False) for name in names}


@pytest.mark.lab
@pytest.mark.parametrize("network", LOSSES)
def test_losses_alone_give_the_packets_of_mainlines_dctcp(lab: Lab, network: str) -> None:
    """Which is also Reno's answer to losses."""

    def run(cc: str) -> Run:
        return lab(dumbbell(bulk(cc=cc, ecn=True), **LOSSES[network]))

    mainline, ours = run("dctcp"), run("dctcp_inet")
    assert not mainline.table("acks").filter(pl.col("lost_packets") > 0).is_empty()
    for name, table in records(mainline).items():
        assert table.equals(records(ours)[name]), name


@pytest.mark.lab
def test_marks_give_other_packets(lab: Lab) -> None:
    """So that the comparison above can fail."""

    def run(cc: str) -> Run:
        return lab(dumbbell(bulk(cc=cc, ecn=True), queue=STEP | {"ecn": True}))

    assert not records(run("dctcp"))["acks"].equals(records(run("dctcp_inet"))["acks"])


@pytest.mark.lab
def test_each_host_has_its_own_settings(lab: Lab) -> None:
    gains = {"s1": "4", "s2": "10"}
    flows = [bulk(host, f"d{host[1]}", cc="dctcp_inet", ecn=True) for host in gains]
    hosts = {host: {"sysctls": {f"{SETTING}shift_g": value}} for host, value in gains.items()}
    run = lab(dumbbell(*flows, queue=STEP | {"ecn": True}, pairs=2, hosts=hosts))
    found = run.content["observed"]["hosts"]
    assert {host: found[host]["sysctls"][f"{SETTING}shift_g"] for host in gains} == gains


@pytest.mark.lab
@pytest.mark.parametrize(
    ("setting", "value", "range_"),
    [
        ("shift_g", "21", "0 to alpha_bits"),
        ("alpha_bits", "31", "shift_g to 30"),
        ("alpha_per_ack", "2", "0 or 1"),
        ("alpha_start", "1025", "0 to 1024"),
    ],
)
def test_a_setting_out_of_range_ends_the_run(
    lab: Lab, setting: str, value: str, range_: str
) -> None:
    hosts = {"s1": {"sysctls": {SETTING + setting: value}}}
    flow = bulk(cc="dctcp_inet", ecn=True)
    with pytest.raises(SandglassError, match=f"{setting} on host s1 refuses {value}") as failure:
        lab(dumbbell(flow, queue=STEP | {"ecn": True}, hosts=hosts))
    assert range_ in str(failure.value.hint)
