"""HRED: its parameters against its README, and the qdisc in a lab."""

import ctypes
import math
import re
from ctypes import byref, c_uint32, c_uint64
from decimal import Context, Decimal, localcontext
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from sandglass.experiment import units
from sandglass.install.builds import ROOT
from tests.kmods.test_red import ONE, Params
from tests.kmods.userspace import compiled
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, written
from tests.lab.test_topologies import prompt

LONGEST = 2**22
ENOUGH, EARLY, SHORT = range(3)
C = math.log(3) / 20
PACKET = 1514
SECOND = 10**9


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled("hred", "sch_hred", tmp_path_factory.mktemp("hred"))
    loaded.hred_bdp.argtypes = [c_uint64, c_uint32, c_uint32]
    loaded.hred_bdp.restype = c_uint32
    loaded.hred_weight.restype = c_uint32
    loaded.hred_grown.argtypes = [c_uint32, c_uint32]
    loaded.hred_grown.restype = c_uint64
    return loaded


def derived(library: ctypes.CDLL, bdp: int, limit: int) -> tuple[Params, int]:
    params = Params()
    return params, library.hred_derive(bdp, limit, byref(params))


def grown(weight: int, arrivals: int) -> float:
    """The average after so many arrivals, each of which adds half a packet to the queue."""
    with localcontext(Context(prec=50)):
        w = Decimal(weight) / ONE
        kept = (1 - w) ** arrivals if arrivals else Decimal(1)
        return float(Decimal(arrivals) / 2 - (1 - kept) / (2 * w))


# The arithmetic


@given(st.integers(1, 10**11), st.integers(1, 6 * 10**7), st.integers(64, 65549))
def test_the_bdp_is_rate_times_rtt(library: ctypes.CDLL, rate: int, rtt: int, size: int) -> None:
    exact = (2 * rate * rtt + size * 10**6) // (2 * size * 10**6)  # to the nearest
    assert library.hred_bdp(rate, rtt, size) == min(max(exact, 1), LONGEST)


bdps = st.one_of(st.integers(1, 300), st.integers(1, LONGEST))


@st.composite
def buffers(draw: st.DrawFn) -> tuple[int, int]:
    """A BDP, and a buffer near it or anywhere."""
    bdp = draw(bdps)
    near = st.integers(1, min(LONGEST, 12 * bdp))
    return bdp, draw(st.one_of(near, st.integers(1, LONGEST)))


@given(bdps, st.integers(0, 3000))
def test_the_average_of_a_growing_queue(library: ctypes.CDLL, bdp: int, arrivals: int) -> None:
    """As the average of RED goes, packet by packet."""
    weight = library.hred_weight(bdp)
    average = 0.0
    for arrival in range(arrivals):
        average += weight / ONE * (arrival / 2 - average)
    assert abs(library.hred_grown(weight, arrivals) / 16 - average) < 0.1


@given(buffers())
def test_parameters_are_those_of_the_document(
    library: ctypes.CDLL, buffer: tuple[int, int]
) -> None:
    bdp, limit = buffer
    params, room = derived(library, bdp, limit)
    assert params.weight == (2 * ONE // bdp if bdp > 2 else ONE)
    assert params.th_max == limit
    late = grown(params.weight, max(limit - bdp, 0))
    spike = math.floor(0.3 * bdp + 0.5)
    step = 0.125  # of a packet: what the integers may be off

    def needed(late: float) -> float:
        return C * bdp * (limit - spike) / (late - spike) ** 2 if late > spike else math.inf

    if room == ENOUGH:
        assert params.th_min == spike
        low, high = needed(late + step), needed(late - step)
        assert 0.9999 * low <= (params.max_p + 1) / ONE
        assert (params.max_p - 1) / ONE <= 1.0001 * high
        return
    assert needed(late - step) >= 0.9999
    assert params.max_p == ONE
    half = C * bdp / 2
    begin = late - (half + math.sqrt(half**2 + 2 * half * (limit - late)))
    least = math.floor(bdp / 32 + 0.5)
    rounding = step + 1e-4 * bdp
    if room == EARLY:
        assert begin > least - rounding
        assert -1 - rounding < params.th_min - begin < rounding
    else:
        assert begin < least + rounding
        assert params.th_min == min(least, limit)


@given(st.integers(20, 1000))
def test_no_burst_below_saturation_reaches_th_min(library: ctypes.CDLL, bdp: int) -> None:
    """A slow start whose last window below saturation is the BDP itself; idle time between."""
    params, room = derived(library, bdp, 4 * bdp)
    assert room == ENOUGH
    w = params.weight / ONE
    average = peak = 0.0
    for doublings in (5, 4, 3, 2, 1, 0):
        window = bdp >> doublings
        for arrival in range(window):
            average += w * (arrival / 2 - average)
        peak = max(peak, average)
        average *= (1 - w) ** (bdp - window)
    assert peak <= params.th_min + 0.5  # which is a whole number


@given(st.integers(30, 500), st.floats(2.3, 12))
def test_by_the_deadline_two_thirds_of_the_flows_are_signalled(
    library: ctypes.CDLL, bdp: int, bdps: float
) -> None:
    """Flows of 10 packets per BDP, counted packet by packet; none is told after the deadline."""
    limit = round(bdps * bdp)
    params, room = derived(library, bdp, limit)
    assert room != SHORT
    w, max_p = params.weight / ONE, params.max_p / ONE
    average = expected = 0.0
    for arrival in range(limit - bdp):
        average += w * (arrival / 2 - average)
        p = max_p * max(average - params.th_min, 0) / (params.th_max - params.th_min)
        expected += 2 * p * 10 / bdp
    assert expected > 0.95 * math.log(3)
    # and the average is where RED still has a choice when the buffer is full
    assert grown(params.weight, 2 * limit) < params.th_max


TABLE = re.findall(
    r"^\| (\w+bit) \| (\w+) \| " + r" \| ".join([r"([\d.]+)"] * 7) + r" \|$",
    (ROOT / "kmods" / "sch_hred" / "README.md").read_text(),
    re.M,
)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:3]))
def test_the_documents_numbers(library: ctypes.CDLL, row: tuple[str, ...]) -> None:
    rate, rtt, limit = units.parse_rate(row[0]), units.parse_time(row[1]), int(row[2])
    bdp = library.hred_bdp(rate // 8, rtt // 1000, PACKET)
    params, room = derived(library, bdp, limit)
    found = [bdp, params.weight / ONE, params.th_min, params.th_max, params.max_p / ONE, room]
    assert [f"{number:.3g}" if number < 1 else str(number) for number in found[1::3]] == [
        row[4] if float(row[4]) < 1 else "1.0",
        row[7] if float(row[7]) < 1 else "1.0",
    ]
    assert [str(n) for n in (bdp, params.th_min, params.th_max, room)] == [
        *[row[3], row[5], row[6], row[8]]
    ]


def test_the_document_has_numbers_of_every_kind() -> None:
    assert {row[8] for row in TABLE} == {"0", "1", "2"}


# In the lab

RATE = {"rate": "10mbit"}
RECOMMENDED = RATE | {"probability": 0.1, "weight": 0.002}
FLOWS = {1: 0, 4: 25, 16: 25}  # ms between two starts


def startup(queue: Mapped, flows: int, ecn: bool = False) -> Mapped:
    """Flows that start within some RTTs of each other, on 10 Mb/s and 100 ms."""
    return dumbbell(
        *(
            bulk(f"s{n}", f"d{n}", cc="reno", ecn=ecn, start=f"{(n - 1) * FLOWS[flows]}ms")
            for n in range(1, flows + 1)
        ),
        queue=queue,
        pairs=flows,
        rtt="100ms",
        duration="3s",
        record=["packets", "queues"],
    )


def hred(limit: int, **options: object) -> Mapped:
    return {"kind": "hred", "limit": limit, "rtt": "100ms"} | RATE | options


def recommended(limit: int, **options: object) -> Mapped:
    """max 3 min, in half of the buffer."""
    least = limit // 6
    own = {"min": least, "max": 3 * least} | RECOMMENDED
    return {"kind": "hred", "limit": limit} | own | options


def tail_drops(run: Run) -> int:
    return int(run.content["bottleneck"]["drops_by_reason"]["overlimit"])


def losses_close_together(run: Run) -> int:
    """Packets that were dropped, as one of the two that arrived before them was.

    Slow start sends two for each that is acknowledged, and a full queue takes one of these.
    """
    lost = run.packets().sort("enqueue_ns")["drop_ns"].is_not_null()
    return int((lost & (lost.shift(1) | lost.shift(2))).sum())


settings = pytest.mark.parametrize(
    ("flows", "limit"), [(flows, limit) for flows in FLOWS for limit in (83, 166)]
)  # 1 and 2 BDP


@pytest.mark.lab
@pytest.mark.parametrize("ecn", [False, True], ids=["drop", "mark"])
@settings
def test_hred_stays_in_proactive_dropping(lab: Lab, flows: int, limit: int, ecn: bool) -> None:
    run = lab(startup(hred(limit, ecn=ecn), flows, ecn))
    counts = run.qdisc()
    assert counts["overlimit"] == tail_drops(run) == 0
    assert counts["forced"] == 0
    assert counts["early"] + counts["ecn_mark"] > 0


@pytest.mark.lab
@settings
def test_hred_spaces_losses_out(lab: Lab, flows: int, limit: int) -> None:
    ours, red, tail = (
        losses_close_together(lab(startup(queue, flows)))
        for queue in (hred(limit), recommended(limit), {"kind": "pfifo", "limit": limit})
    )
    assert ours < red / 2
    assert ours < tail / 2


@pytest.mark.lab
@settings
def test_recommended_red_falls_back_to_tail_drop(lab: Lab, flows: int, limit: int) -> None:
    """What HRED is there to avoid does happen on these paths."""
    run = lab(startup(recommended(limit), flows))
    assert run.qdisc()["overlimit"] == tail_drops(run) > 0


@pytest.mark.lab
def test_recommended_red_cuts(lab: Lab) -> None:
    run = lab(startup(recommended(166), 4))
    assert run.qdisc()["forced"] > 0


@pytest.mark.lab
def test_options_are_what_was_given_or_derived(lab: Lab) -> None:
    given = lab(startup(recommended(166), 4)).qdisc()["options"]
    assert given == {
        "rate": 1250000,
        "rtt": 0,
        "limit": 166,
        "min": 27,
        "max": 81,
        "probability": 0.1,
        "weight": 0.002,
        "avpkt": PACKET,
        "gentle": False,
        "ecn": False,
    }
    found = lab(startup(hred(83), 4)).qdisc()["options"]
    assert found == given | {
        "rtt": 100000,
        "limit": 83,
        "min": 3,
        "max": 83,
        "probability": 1,
        "weight": 0.0240964,
    }


def replayed(
    packets: pl.DataFrame, weight: float, size: int = PACKET, length: str = "queue_packets"
) -> list[tuple[int, float]]:
    """The average after each arrival by equations (1) and (4), from the packets' times alone.

    `size` is that of phantom packets, `length` the column with the queue that a packet meets.
    """
    byte_ns = 8 * SECOND / 10**7
    departures = sorted(
        (time, size)
        for time, size in packets.select("dequeue_ns", "size_bytes").rows()
        if time is not None
    )
    average, idle_since, left = 0.0, 0.0, 0
    found = []
    arrivals = packets.select("enqueue_ns", length).rows()
    for time, backlog in sorted(arrivals):
        while left < len(departures) and departures[left][0] < time:
            idle_since = max(idle_since, departures[left][0] + departures[left][1] * byte_ns)
            left += 1
        if not backlog and time > idle_since:
            average *= (1 - weight) ** ((time - idle_since) // (size * byte_ns))
            idle_since = time
        average += weight * (backlog - average)
        found.append((time, average))
    return found


@pytest.mark.lab
def test_the_average_is_that_of_the_packets(lab: Lab) -> None:
    """What is sampled from the qdisc against a replay of the packets that met it."""
    run = lab(startup(hred(166), 1))
    arrivals = pl.DataFrame(
        replayed(run.packets(), 2 / 83),
        schema={"time_ns": pl.Int64, "replayed": pl.Float64},
        orient="row",
    )
    samples = run.table("queues").filter(pl.col("direction") == "forward")
    both = samples.join_asof(arrivals, on="time_ns").drop_nulls("replayed")
    assert both["avg"].max() > 5  # type: ignore[operator]
    assert (both["avg"] - both["replayed"]).abs().max() < 1e-6  # type: ignore[operator]


@pytest.mark.lab
@pytest.mark.parametrize("queue", [hred(83), recommended(83)], ids=["hred", "recommended"])
def test_statistics_tell_kinds_of_drops_apart(lab: Lab, queue: Mapped) -> None:
    run = lab(startup(queue, 4))
    counts, reasons = run.qdisc(), run.content["bottleneck"]["drops_by_reason"]
    assert counts["overlimit"] == reasons["overlimit"]
    assert counts["early"] + counts["forced"] == reasons["aqm_enqueue"]
    assert counts["early"] + counts["forced"] + counts["overlimit"] == counts["drops"]
    packets = run.packets()
    assert counts["maxq"] == packets.filter(pl.col("drop_ns").is_null())["queue_packets"].max() + 1  # type: ignore[operator]
    samples = run.table("queues").filter(pl.col("direction") == "forward")
    low, high = counts["options"]["min"], counts["options"]["max"]
    slope = (samples["avg"] - low) / (high - low) * counts["options"]["probability"]
    expected = pl.select(
        pl.when(samples["avg"] >= high).then(1.0).otherwise(slope.clip(lower_bound=0))
    ).to_series()
    assert (samples["prob"] - expected).abs().max() < 1e-6  # type: ignore[operator]


@pytest.mark.lab
@pytest.mark.parametrize(
    ("limit", "said"),
    [(83, "a load that doubles may overflow it"), (206, "signals begin before"), (248, "")],
)
def test_a_buffer_that_is_too_small_is_told(lab: Lab, limit: int, said: str) -> None:
    run = lab(dumbbell(bulk(cc="reno"), queue=hred(limit), rtt="100ms", duration="1s"))
    console = (run.path / "console.log").read_text()
    assert said in console
    assert ("Warning: sch_hred" in console) == bool(said)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rtt": "61s"}, 'rtt "61s" is out of range: from 1us to 60s'),
        ({"rtt": "0ms"}, "out of range"),
        ({"probability": 1.5}, '"1.5" is no fraction for "probability"'),
        ({"rate": "fast"}, '"fast" is no rate for "rate"'),
        ({"min": 80, "max": 40}, "min is above max"),
        ({"avpkt": 63}, "out of range"),
    ],
)
def test_wrong_options_end_the_run(lab: Lab, wrong: Mapped, said: str) -> None:
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=hred(83) | wrong, duration="1s"))


@pytest.mark.lab
@pytest.mark.parametrize(
    ("missing", "said"),
    [("rtt", "rtt is needed, or"), ("rate", "rate and limit"), ("limit", "rate and limit")],
)
def test_what_is_derived_needs_its_inputs(lab: Lab, missing: str, said: str) -> None:
    queue = {name: value for name, value in hred(83).items() if name != missing}
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(bulk(cc="reno"), queue=queue, duration="1s"))


@pytest.mark.lab
def test_options_can_be_changed_and_derived_again(tmp_path: Path) -> None:
    change = "r1 tc qdisc change dev r1-eth0 parent 1:1 handle 10: hred"
    show = "r1 tc qdisc show dev r1-eth0"
    said = prompt(
        str(written(startup(hred(83), 1), tmp_path / "hred.yaml")),
        *[show, f"{change} limit 248 weight 0.002 gentle ecn", show],
        *[f"{change} weight 0 nogentle noecn", show],
    )
    link = "hred 10: parent 1:1 rate 10Mbit rtt 100ms"
    assert re.findall(r"qdisc (hred .*)", said) == [
        f"{link} limit 83p min 3p max 83p probability 1 weight 0.0240964 avpkt 1514b ",
        f"{link} limit 248p min 25p max 248p probability 0.737688 weight 0.002 avpkt 1514b "
        "gentle ecn ",
        f"{link} limit 248p min 25p max 248p probability 0.737688 weight 0.0240964 avpkt 1514b ",
    ]
