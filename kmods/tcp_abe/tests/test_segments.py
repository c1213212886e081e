"""What each kind of ACK, loss and timeout does to cwnd and ssthresh, segment by segment.

All scripts are played in one boot by player.py, each with abe_reno, abe_cubic and, for comparison,
reno and cubic.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.kmods.segments import (
    EMPTY,
    FULL,
    NO_PROBES,
    PROBED,
    START,
    Step,
    Trace,
    ack,
    played,
    sysctl,
    wait,
    write,
)

Cut = Callable[[int], int]
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
MAINLINE = {"abe_reno": "reno", "abe_cubic": "cubic"}
LOSS_PERCENT = {"abe_reno": 50, "abe_cubic": 70}
MARK_PERCENT = {"abe_reno": 80, "abe_cubic": 85}  # RFC 8511
BETA_ECN = {
    "abe_reno": "net.ipv4.tcp_abe.beta_ecn",
    "abe_cubic": "net.ipv4.tcp_abe.cubic_beta_ecn",
}
EQUAL = {cc: {BETA_ECN[cc]: percent} for cc, percent in LOSS_PERCENT.items()}
# Name: what happens, and (ssthresh, state) after each step that follows START or PROBED; mark and
# loss give the window after a cut.
Expected = Callable[[Cut, Cut], list[tuple[int, str]]]
SCENARIOS: dict[str, tuple[list[Step], Expected]] = {
    "a mark, echoed until CWR has arrived": (
        [*START, ack(11, ece=True), ack(12, ece=True), ack(30, ece=True), ack(31)],
        lambda mark, loss: [
            (mark(20), "CWR"),
            (mark(20), "CWR"),
            (mark(20), "CWR"),
            (mark(20), "Open"),
        ],
    ),
    "a mark in each of two windows": (
        [*START, ack(11, ece=True), ack(31, ece=True)],
        lambda mark, loss: [(mark(20), "CWR"), (mark(mark(20)), "CWR")],
    ),
    "a loss": (
        [*START, ack(11, sack=[[12, 16]])],
        lambda mark, loss: [(loss(20), "Recovery")],
    ),
    "a loss and a mark in one ACK": (
        [*START, ack(11, ece=True, sack=[[12, 16]])],
        lambda mark, loss: [(loss(20), "Recovery")],
    ),
    "a mark, then a loss in the same window": (
        [*START, ack(11, ece=True), ack(12, sack=[[13, 17]])],
        lambda mark, loss: [(mark(20), "CWR"), (mark(20), "Recovery")],
    ),
    "a loss, then a mark in the same window": (
        [*START, ack(11, sack=[[12, 16]]), ack(11, ece=True, sack=[[12, 17]])],
        lambda mark, loss: [(loss(20), "Recovery"), (loss(20), "Recovery")],
    ),
    "a timeout": (
        [*START, wait(400)],
        lambda mark, loss: [(loss(20), "Loss")],
    ),
    "a timeout in a marked window": (
        [*START, ack(11, ece=True), wait(400)],
        lambda mark, loss: [(mark(20), "CWR"), (mark(20), "Loss")],
    ),
    "a timeout when the marked window was acknowledged, the last ACK an echo": (
        [*START, ack(11, ece=True), ack(30, ece=True), wait(400)],
        lambda mark, loss: [(mark(20), "CWR"), (mark(20), "CWR"), (loss(mark(20)), "Loss")],
    ),
    "a timeout when nothing was sent since an echo": (
        # cwnd is 12 then: the reduction still goes on.
        [
            *[write(20), wait(50), ack(10), wait(50), ack(11, ece=True)],
            *[write(2), ack(20, ece=True), wait(400)],
        ],
        lambda mark, loss: [(mark(20), "CWR"), (loss(12), "Loss")],
    ),
    "a timeout a window after a mark": (
        [*START, ack(11, ece=True), ack(30), ack(31), wait(400)],
        lambda mark, loss: [*[(mark(20), "CWR")] * 2, (mark(20), "Open"), (loss(mark(20)), "Loss")],
    ),
    "a timeout after an echo that came with nothing in flight": (
        [write(10), wait(50), ack(10), ack(10, ece=True), write(20), wait(400)],
        lambda mark, loss: [(INFINITE, "Open"), (INFINITE, "Open"), (loss(20), "Loss")],
    ),
    "a full queue of the host's own": (
        [*START, FULL, ack(11), EMPTY],
        lambda mark, loss: [(INFINITE, "Open"), (loss(21), "CWR"), (loss(21), "CWR")],
    ),
    "a full queue of the host's own, after an echo with nothing in flight": (
        [write(10), wait(50), ack(10), ack(10, ece=True), FULL, write(1), EMPTY],
        lambda mark, loss: [
            *[(INFINITE, "Open"), (INFINITE, "Open")],
            *[(loss(20), "CWR"), (loss(20), "CWR")],
        ],
    ),
    "a full queue of the host's own in a marked window": (
        [*START, ack(11, ece=True), FULL, ack(16), EMPTY],
        lambda mark, loss: [
            (mark(20), "CWR"),
            (mark(20), "CWR"),
            (mark(20), "CWR"),
            (mark(20), "CWR"),
        ],
    ),
    "a loss undone by a DSACK": (
        [*START, ack(11, sack=[[12, 16]]), wait(10), ack(16, sack=[[11, 12]])],
        lambda mark, loss: [(loss(20), "Recovery"), (loss(20), "Recovery"), (INFINITE, "Open")],
    ),
    "a loss with a mark is not undone": (
        [*START, ack(11, ece=True, sack=[[12, 16]]), wait(10), ack(16, sack=[[11, 12]])],
        lambda mark, loss: [(loss(20), "Recovery"), (loss(20), "Recovery"), (loss(20), "Open")],
    ),
    "a loss undone, then a mark": (
        [*START, ack(11, sack=[[12, 16]]), ack(16, sack=[[11, 12]]), ack(17, ece=True)],
        # cwnd is 22 by then: slow start goes on.
        lambda mark, loss: [(loss(20), "Recovery"), (INFINITE, "Open"), (mark(22), "CWR")],
    ),
    "a loss that a probe repaired": (
        [*PROBED, write(2), ack(22)],
        lambda mark, loss: [(INFINITE, "Open"), (loss(20), "Open")],
    ),
    "a loss that a probe repaired, and a mark": (
        [*PROBED, write(2), ack(22, ece=True)],
        lambda mark, loss: [(INFINITE, "Open"), (mark(loss(20)), "CWR")],
    ),
    "a needless probe, and a mark": (
        [*PROBED, ack(20, ece=True, sack=[[19, 20]])],
        lambda mark, loss: [(mark(20), "CWR")],
    ),
    # Where abe.h says that it decides for loss without being certain.
    "a needless probe, a mark and further data in one ACK": (
        [*PROBED, write(2), ack(22, ece=True, sack=[[19, 20]])],
        lambda mark, loss: [(INFINITE, "Open"), (loss(20), "CWR")],
    ),
    "a loss found by counting, and a mark in one ACK": (
        [*START, ack(11, ece=True, sack=[[12, 16]])],
        lambda mark, loss: [(loss(20), "Recovery")],
    ),
    "a loss undone by timestamps": (
        [*START, ack(11, sack=[[12, 16]]), wait(10), ack(16, echo=11)],
        lambda mark, loss: [(loss(20), "Recovery"), (loss(20), "Recovery"), (INFINITE, "Open")],
    ),
    "an echo from a peer that did not agree to ECN": (
        [*START, ack(11, ece=True)],
        lambda mark, loss: [(INFINITE, "Open")],
    ),
}
# What some of them have other than the rest: ECN, no timestamps, RACK.
CONNECTIONS: dict[str, dict[str, Any]] = {
    "a loss undone by timestamps": {"timestamps": True},
    "an echo from a peer that did not agree to ECN": {"ecn": False},
    "a loss found by counting, and a mark in one ACK": {
        "sysctls": {**NO_PROBES, "net.ipv4.tcp_recovery": 0}
    },
}
FACTORS = (1, 10, 50, 70, 75, 95, 100)
REFUSED = (0, 101, -1, "text", "80%", "1e1")


def script(name: str, cc: str, sysctls: Mapping[str, int]) -> dict[str, Any]:
    """A scenario as player.py wants it."""
    steps = SCENARIOS[name][0]
    other = CONNECTIONS.get(name, {})
    general = {} if steps[: len(PROBED)] == PROBED else NO_PROBES
    return {
        "cc": cc,
        "sysctls": other.get("sysctls", general) | sysctls,
        "ecn": other.get("ecn", True),
        "timestamps": other.get("timestamps", False),
        "steps": steps,
    }


def factor_script(cc: str, percent: int) -> dict[str, Any]:
    return script("a mark in each of two windows", cc, {BETA_ECN[cc]: percent})


def all_scripts() -> dict[str, dict[str, Any]]:
    scripts = {}
    for name in SCENARIOS:
        for cc, mainline in MAINLINE.items():
            scripts[f"{name}: {cc}"] = script(name, cc, {})
            scripts[f"{name}: {cc}, equal factors"] = script(name, cc, EQUAL[cc])
            scripts[f"{name}: {mainline}"] = script(name, mainline, {})
    for cc in MAINLINE:
        for percent in FACTORS:
            scripts[f"{percent} %: {cc}"] = factor_script(cc, percent)
    settings = [sysctl(name, value) for name in BETA_ECN.values() for value in REFUSED]
    scripts["refused"] = script("a loss", "reno", {}) | {"steps": settings}
    return scripts


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    return played(all_scripts(), tmp_path_factory.mktemp("segments"))


def cut(percent: int) -> Cut:
    """A reduction by a factor of 1/1024, rounded to the nearest, to at least 2 packets."""
    factor = (percent * 1024 + 50) // 100
    return lambda cwnd: max(cwnd * factor // 1024, 2)


@pytest.mark.parametrize("cc", MAINLINE)
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_event_cuts_as_it_should(traces: dict[str, Trace], name: str, cc: str) -> None:
    expected = SCENARIOS[name][1](cut(MARK_PERCENT[cc]), cut(LOSS_PERCENT[cc]))
    trace = traces[f"{name}: {cc}"][-len(expected) :]
    assert [(entry["ssthresh"], entry["state"]) for entry in trace] == expected


@pytest.mark.parametrize("cc", MAINLINE)
@pytest.mark.parametrize("name", SCENARIOS)
def test_with_equal_factors_nothing_differs_from_mainline(
    traces: dict[str, Trace], name: str, cc: str
) -> None:
    assert traces[f"{name}: {cc}, equal factors"] == traces[f"{name}: {MAINLINE[cc]}"]


@pytest.mark.parametrize("cc", MAINLINE)
@pytest.mark.parametrize("percent", FACTORS)
def test_the_factor_is_the_sysctls(traces: dict[str, Trace], percent: int, cc: str) -> None:
    marked, again = traces[f"{percent} %: {cc}"][-2:]
    first = cut(percent)(20)
    assert marked["ssthresh"] == first
    assert again["ssthresh"] == cut(percent)(first)


@pytest.mark.parametrize("cc", MAINLINE)
def test_cwnd_ends_at_ssthresh(traces: dict[str, Trace], cc: str) -> None:
    last = traces[f"a mark, echoed until CWR has arrived: {cc}"][-1]
    assert last["cwnd"] == last["ssthresh"] == {"abe_reno": 15, "abe_cubic": 16}[cc]


def test_the_cut_is_announced_once(traces: dict[str, Trace]) -> None:
    trace = traces["a mark, echoed until CWR has arrived: abe_reno"]
    announced = [flags for entry in trace for _, flags, _ in entry["sent"] if flags]
    assert announced == ["C"]


@pytest.mark.parametrize("cc", MAINLINE)
def test_a_probe_that_repairs_a_loss_sets_cwnd_at_once(traces: dict[str, Trace], cc: str) -> None:
    last = traces[f"a loss that a probe repaired: {cc}"][-1]
    assert last["ssthresh"] == cut(LOSS_PERCENT[cc])(20)
    assert last["cwnd"] == last["ssthresh"] == cut(LOSS_PERCENT[cc])(20)


def test_settings_outside_1_to_100_are_refused(traces: dict[str, Trace]) -> None:
    assert [entry["refused"] for entry in traces["refused"]] == ["EINVAL"] * (2 * len(REFUSED))
