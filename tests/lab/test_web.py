"""Synthetic web load: what it offers, and what becomes of it in the lab."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.lab.experiments import Lab, Mapped, Run, dumbbell, flow
from workloads import web

SECONDS = 1000
ROOMY = {"kind": "pfifo", "limit": 1000}
WIRE_OF_PAYLOAD = 1514 / 1448
QUANTILES = {0.5: 12_400, 0.9: 87_000, 0.99: 800_000}
"""Of the sizes of `web`, computed from its distributions."""


def planned(answers: str, rate: int, **keys: Any) -> Any:
    """A flow as the lab is told of it."""
    options = {"rate": rate, "answers": answers}
    return {"id": 1, "start_ns": 0, "duration_ns": SECONDS * 10**9, "options": options} | keys


@pytest.mark.parametrize(("answers", "rate"), [("web", 60_000_000), ("search", 1_000_000_000)])
def test_it_offers_the_rate(answers: str, rate: int) -> None:
    """Of 1000 s of virtual time, by the transfers' own times and sizes."""
    offered = list(web.offered(1, planned(answers, rate)))
    carried = sum(each.size for each in offered) * 8 * WIRE_OF_PAYLOAD / SECONDS
    assert carried == pytest.approx(rate, rel=0.05)
    gaps = np.diff([each.start_ns for each in offered])
    assert gaps.min() >= 0
    # Of exponential gaps the standard deviation is the mean, and 1/e are longer than it.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)
    assert (gaps > gaps.mean()).mean() == pytest.approx(math.exp(-1), rel=0.02)


def test_sizes_are_those_of_surge_with_a_tail_that_is_cut() -> None:
    sizes = np.array([web.web(1, f"{number}") for number in range(100_000)])
    for share, size in QUANTILES.items():
        assert np.quantile(sizes, share) == pytest.approx(size, rel=0.05)
    assert sizes.mean() == pytest.approx(web.web_mean(), rel=0.05)
    assert web.web_mean() == pytest.approx(61_700, rel=0.02)
    assert (sizes >= 133_000).mean() == pytest.approx(0.07, rel=0.05)
    assert (sizes == 10_000_000).mean() == pytest.approx(0.07 * 0.0133**1.1, rel=0.2)
    assert sizes.min() >= 1
    assert sizes.max() == 10_000_000


def test_sizes_of_a_search_follow_the_curve() -> None:
    sizes = np.array([web.search(1, f"{number}") for number in range(50_000)])
    for size, share in web.SEARCH:
        assert (sizes <= size).mean() == pytest.approx(share, abs=0.01)
    assert web.search_mean() == pytest.approx(1_710_000, rel=0.01)


def test_a_load_is_of_its_seed_and_flow_alone() -> None:
    one = list(web.offered(1, planned("web", 10**7)))
    assert one == list(web.offered(1, planned("web", 10**7)))
    assert one != list(web.offered(2, planned("web", 10**7)))
    assert one != list(web.offered(1, planned("web", 10**7, id=2)))
    half = list(web.offered(1, planned("web", 10**7 // 2)))
    assert [each.size for each in half] == [each.size for each in one[: len(half)]]


def loaded(**keys: Any) -> Mapped:
    """4 of 10 Mb/s, from one server to one client, 40 ms apart."""
    return dumbbell(flow("web", rate="4mbit", **keys), queue=ROOMY)


@pytest.mark.lab
def test_every_answer_comes_whole(lab: Lab) -> None:
    run = lab(loaded(cc="cubic"))
    transfers = run.table("transfers")
    offered = list(web.offered(1, planned("web", 4_000_000, duration_ns=10 * 10**9)))
    assert transfers["start_ns"].to_list() == [each.start_ns for each in offered]
    assert transfers["bytes"].to_list() == [each.size for each in offered]
    ended = transfers.drop_nulls()
    [found] = run.content["flows"]
    assert found["transfers_begun"] == transfers.height
    assert found["transfers_ended"] == ended.height > 0.9 * transfers.height
    assert sum(ended["bytes"]) <= found["bytes"] <= sum(transfers["bytes"])
    # What crossed the bottleneck: all of it, and nothing of another flow.
    data = run.packets(flow=1).filter(pl.col("payload_bytes") > 0)
    once = sum(data.unique(["dport", "seq"])["payload_bytes"])
    assert found["bytes"] <= once <= sum(transfers["bytes"])
    assert found["cc"] == "cubic"


@pytest.mark.lab
def test_a_small_answer_on_an_idle_link_takes_two_round_trips(lab: Lab) -> None:
    """One of the handshake, one of request and answer, and what its packets take at 10 Mb/s."""
    run = lab(dumbbell(flow("web", rate="100kbit"), queue=ROOMY))
    small = run.table("transfers").filter(pl.col("bytes") < 10 * 1448).drop_nulls()
    packets = (small["bytes"] / 1448).ceil()
    # SYN, its answer, request and ACKs are smaller than 500 bytes each.
    least = 2 * 40e6 + (small["bytes"] + packets * 66) * 800
    assert small.height > 0
    assert ((small["fct_ns"] - least).is_between(0, 3 * 500 * 800)).all()


def counted(run: Run) -> tuple[int, int]:
    """Transfers of each of two flows."""
    first, second = (each["transfers_begun"] for each in run.content["flows"])
    return first, second


@pytest.mark.lab
def test_it_ends_with_its_duration_and_runs_over_ipv6_and_ecn(lab: Lab) -> None:
    """Several flows at once; what has not ended at a flow's end is broken off."""
    codel = {"kind": "codel", "ecn": True}
    short = flow("web", rate="8mbit", duration="4s", ecn=True)
    other = flow("web", "s2", "d2", rate="8mbit", family=6)
    run = lab(dumbbell(short, other, queue=codel, pairs=2))
    first, second = counted(run)
    assert 0 < first < second
    assert [each["ecn"] for each in run.content["flows"]] == [True, False]
    assert run.content["flows"][0]["delivered_ce"] > 0
    transfers = run.table("transfers").filter(pl.col("flow") == 1)
    assert max(transfers["end_ns"].drop_nulls()) <= 4_000_000_000
    assert transfers["end_ns"].null_count() > 0
    late = run.packets(flow=1).filter(pl.col("enqueue_ns") > 4_200_000_000)
    assert late.is_empty()
