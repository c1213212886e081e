"""Files over HTTP: how long they take, who sends and with what, and that it is exact."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, run

pytestmark = pytest.mark.lab
RATE, RTT_S, SIZE = 10_000_000, 0.04, 500_000
PAYLOAD, PACKET = 1448, 1514  # bytes of a full packet, without and with headers
ROOMY = {"kind": "pfifo", "limit": 1000}
SHORT = {"kind": "codel", "ecn": True}


def file(**keys: Any) -> Mapped:
    """One file of 500 kB, with `keys` of its flow's, through a queue that drops nothing."""
    return dumbbell(flow("http", **({"size": "500kB", "start": "1s"} | keys)), queue=ROOMY)


def three_files(**keys: object) -> Mapped:
    """Three files that start at random and share a queue that drops."""
    flows = flow("http", cc="reno", size="600kB", start_within="1s", count=3)
    return dumbbell(flows, queue=SHORT | {"ecn": False}, record=[], **keys)


@pytest.fixture
def one(lab: Lab) -> Run:
    return lab(file(cc="reno", ecn=True))


def test_a_file_takes_what_a_bulk_transfer_takes_and_the_request(lab: Lab, one: Run) -> None:
    """At least the handshake, the request and its transmission; a round trip over bulk at most."""
    sized = dumbbell(bulk(size="500kB", start="1s", cc="reno", ecn=True), queue=ROOMY)
    [in_bulk] = lab(sized).content["flows"]
    [found] = one.content["flows"]
    ideal_s = 2 * RTT_S + SIZE * PACKET / PAYLOAD * 8 / RATE
    assert ideal_s < found["fct_s"] < in_bulk["fct_s"] + RTT_S
    assert found["bytes"] == SIZE
    assert found["end_s"] == pytest.approx(1 + found["fct_s"])


def test_the_first_byte_takes_two_round_trips(one: Run) -> None:
    """The handshake's and the request's, and the transmission of a full packet."""
    [found] = one.content["flows"]
    assert found["ttfb_s"] == pytest.approx(2 * RTT_S + PACKET * 8 / RATE, abs=0.5e-3)
    assert one.table("flows")["ttfb_s"].to_list() == [found["ttfb_s"]]


def test_the_flow_ends_when_the_client_has_acknowledged_the_last_byte(one: Run) -> None:
    end_ns = one.content["flows"][0]["end_s"] * 1e9
    acks = one.packets("reverse", flow=1).filter(pl.col("enqueue_ns") < end_ns)
    last_ns = acks["enqueue_ns"].sort()[-1]
    assert end_ns - last_ns < 10_000


def test_the_server_s_socket_has_the_flow_s_congestion_control(lab: Lab) -> None:
    """Each of two on one host its own."""
    flows = (flow("http", size="500kB", cc=cc) for cc in ("reno", "bbr"))
    pair = lab(dumbbell(*flows, queue=ROOMY))
    assert [each["cc"] for each in pair.content["flows"]] == ["reno", "bbr"]
    sender = pair.table("acks").filter(src="s1")
    for number, cc in ((1, "reno"), (2, "bbr")):
        assert sender.filter(flow=number)["cc"].unique().to_list() == [cc]


@pytest.mark.parametrize(("ecn", "field"), [(True, 2), (False, 0)])
def test_data_is_ecn_capable_when_the_client_has_asked(lab: Lab, ecn: bool, field: int) -> None:
    asked = lab(file(cc="reno", ecn=ecn))
    data = asked.packets(flow=1).filter(pl.col("payload_bytes") > 0)
    assert data["src"].unique().to_list() == ["s1"]
    assert data["ecn_in"].unique().to_list() == [field]
    assert asked.content["flows"][0]["ecn"] is ecn


def test_marks_and_losses_are_the_server_s(lab: Lab) -> None:
    marked = lab(dumbbell(flow("http", size="3MB", cc="reno", ecn=True), queue=SHORT))
    last = marked.table("acks").filter(src="s1", flow=1).tail(1)
    [found] = marked.content["flows"]
    assert found["delivered_ce"] >= last["delivered_ce_packets"].item() > 0
    lost = lab(dumbbell(flow("http", size="3MB", cc="reno"), queue={"kind": "pfifo", "limit": 20}))
    [found] = lost.content["flows"]
    assert found["retransmits"] >= lost.packets(flow=1)["drop_ns"].count() > 0


def test_twice_gives_the_same_digest(lab: Lab, tmp_path: Path) -> None:
    experiment = three_files()
    assert run(experiment, tmp_path).content["digest"] == lab(experiment).content["digest"]


def test_a_repetition_is_a_run(lab: Lab) -> None:
    repeated = lab(three_files(repeat=3)).table("flows")
    for seed in (1, 3):
        alone = lab(three_files(), seed).table("flows")
        assert alone.equals(repeated.filter(seed=seed))
