"""A media flow: exact where it is alone, and hurt by what an overfull queue does to it."""

from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.install.builds import ROOT
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
MICROSECOND = 1_000
# No packet is due when the agent reports its progress, which may hold it up: docs/limits.md.
START, START_NS = "0.1ms", 100_000
RTP, HEADERS = 12, 28 + 14  # bytes: RTP; UDP, IP and Ethernet
HALF_RTT_NS = 20_000_000


def call(*others: Mapped, limit: int = 1000, **keys: Any) -> Mapped:
    """A media flow of 10 s at 10 Mb/s and 40 ms, with `keys` of its own, and what flows besides."""
    return dumbbell(
        flow("media", start=START, **keys), *others, queue={"kind": "pfifo", "limit": limit}
    )


@pytest.mark.parametrize(
    ("keys", "audio", "interval_ns"),
    [
        ({}, 40, 20_000_000),
        ({"rate": "64kbit", "interval": "30ms"}, 240, 30_000_000),
        # 16 bytes each 7 ms are no whole number of bits per second.
        ({"rate": "16kbit", "interval": "7ms"}, 14, 7_000_000),
    ],
)
def test_alone_each_packet_takes_serialisation_and_propagation(
    lab: Lab, keys: Mapped, audio: int, interval_ns: int
) -> None:
    run = lab(call(**keys))
    packets = run.table("media")
    assert packets["sent_ns"].to_list() == list(range(START_NS, 10 * 10**9, interval_ns))
    assert run.packets(flow=1)["payload_bytes"].unique().to_list() == [audio + RTP]
    serialisation_ns = (audio + RTP + HEADERS) * 8e9 / 10_000_000
    assert ((packets["delay_ns"] - HALF_RTT_NS - serialisation_ns).abs() < MICROSECOND).all()
    assert (packets["ipdv_ns"].drop_nulls().abs() < MICROSECOND).all()
    [found] = run.content["flows"]
    assert found["media"]["unplayed_share"] == found["media"]["loss_periods"] == 0
    assert found["media"]["needed_playout_delay_ms"] == pytest.approx(
        (HALF_RTT_NS + serialisation_ns) / 1e6, abs=1e-3
    )


def test_delay_is_propagation_and_the_queue_s(lab: Lab) -> None:
    """Beside a bulk flow, packet by packet, what the recorder at the queue has seen."""
    run = lab(call(bulk(start="1s", cc="reno"), limit=100, duration="9s"))
    packets = run.table("media")
    lost = packets["delay_ns"].is_null()
    queue = run.packets(flow=1).sort("enqueue_ns")
    assert queue["drop_ns"].is_not_null().to_list() == lost.to_list()
    assert lost.any()
    waited = queue["sojourn_ns"].drop_nulls()
    took = packets["delay_ns"].drop_nulls()
    serialisation_ns = (40 + RTP + HEADERS) * 8e9 / 10_000_000
    error = took - waited - HALF_RTT_NS - serialisation_ns
    assert (error.abs() < MICROSECOND).all()


@pytest.mark.parametrize("initcwnd", [3, 10])
def test_an_initial_window_queues_up_before_the_call(lab: Lab, initcwnd: int) -> None:
    """examples/hspa.yaml with one web flow: at 2 Mb/s each packet of its window takes 6 ms."""
    example = yaml.safe_load((ROOT / "examples" / "hspa.yaml").read_text())
    example["hosts"]["s2"]["initcwnd"] = initcwnd
    example["flows"][1]["count"] = 1
    run = lab(example)
    packets = run.table("media")
    base_ns = min(packets["delay_ns"])
    start_ns = run.content["flows"][1]["start_s"] * 1e9
    # SYN and SYN-ACK take the first 100 ms; 100 ms later the next window is there.
    first = packets.filter((pl.col("sent_ns") - start_ns).is_between(100e6, 195e6))
    longest_ns = max(first["delay_ns"]) - base_ns
    window_ns = initcwnd * 1514 * 8e9 / 2_000_000
    assert window_ns - 20e6 < longest_ns < window_ns + 1e6


def test_a_shorter_playout_delay_plays_less(lab: Lab) -> None:
    shares = []
    for playout in ("30ms", "60ms", "1s"):
        run = lab(call(bulk(start="1s", cc="reno"), limit=100, playout_delay=playout))
        found = run.content["flows"][0]["media"]
        delay = pl.col("delay_ns")
        on_time = run.table("media").filter(delay <= found["playout_delay_ms"] * 1e6)
        assert found["unplayed_share"] == pytest.approx(1 - len(on_time) / 500)
        shares.append(found["unplayed_share"])
    assert shares[0] > shares[1] > shares[2] == found["lost_share"] > 0
