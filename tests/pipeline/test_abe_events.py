"""Section IV-C of ABE: congestion events of two flows, worked out by hand."""

import polars as pl
import pytest

from pipelines.abe import events
from tests.pipeline.synthetic import value

MS = 1_000_000


def acks(*rows: tuple[int, int, int, int | None, str]) -> pl.DataFrame:
    """The ACKs of two flows given as (ms, flow, cwnd, ssthresh, state), with an SRTT of 50 ms."""
    schema = ["time_ns", "flow", "cwnd_packets", "ssthresh_packets", "ca_state"]
    table = pl.DataFrame(list(rows), schema=schema, orient="row")
    return table.with_columns(pl.col("time_ns") * MS, srtt_us=pl.lit(50_000, pl.UInt32))


def test_back_offs_of_two_flows() -> None:
    """The third reduction is to the threshold that was there, and one goes on as Recovery."""
    found = events.back_offs(
        acks(
            (0, 1, 40, None, "Open"),
            (5, 2, 20, 30, "Open"),
            (10, 1, 38, 20, "CWR"),
            (15, 1, 30, 20, "Recovery"),
            (20, 2, 21, 30, "Open"),
            (30, 1, 40, 20, "Open"),
            (40, 1, 39, 20, "CWR"),
            (50, 2, 22, 10, "CWR"),
        )
    )
    assert found.select("time_ns", "flow", "ssthresh", "x", "y").rows() == [
        (10 * MS, 1, 20, 40, 20),
        (40 * MS, 1, 20, 40, 21),
        (50 * MS, 2, 10, 39, 21),
    ]


def back_offs(*rows: tuple[int, int, int, int, int]) -> pl.DataFrame:
    """Back-offs given as (ms, flow, ssthresh, x, y)."""
    table = pl.DataFrame(list(rows), schema=["time_ns", "flow", "ssthresh", "x", "y"], orient="row")
    return table.with_columns(pl.col("time_ns") * MS, srtt_ns=pl.lit(50 * MS))


def test_an_event_hits_both_within_a_round_trip() -> None:
    found = events.paired(
        back_offs(
            (0, 1, 20, 40, 20),
            (50, 2, 10, 21, 20),  # with the first
            (100, 2, 15, 25, 20),
            (151, 1, 13, 26, 15),  # a round trip and 1 ms later
        )
    )
    assert found["flows"].to_list() == [2, 1, 1]
    assert found["change"].to_list() == pytest.approx([0, 1 / 3, 1])


def test_one_flow_twice_in_a_round_trip_are_two_events() -> None:
    found = events.paired(back_offs((0, 1, 20, 40, 20), (30, 1, 10, 20, 20), (40, 2, 10, 10, 20)))
    assert found["flows"].to_list() == [2, 1]


PATHS = pl.DataFrame(
    [
        ("CoDel", 10.0, 20.0, 0.5, 1.0, 0.02, 1.0, 10.0, 0.5, 2.0),
        ("CoDel", 10.0, 20.0, 0.9, 41.0, 0.04, 0.1, 20.0, 0.3, 2.0),
        ("CoDel", 10.0, 40.0, 0.5, 3.0, 0.04, 1.0, 10.0, 0.5, 2.0),
        ("CoDel", 10.0, 40.0, 0.9, 39.0, None, 0.2, 5.0, 0.7, 3.0),
        ("CoDel", 10.0, 80.0, 0.5, 2.0, None, 1.0, 10.0, 0.5, 2.0),
        ("CoDel", 10.0, 80.0, 0.9, 40.0, None, 0.3, 8.0, 0.6, 1.0),
    ],
    schema=[*events.PATH, "beta_ecn", *events.MEASURES, "convergence_s", "older_share",
            "events_per_s"],
    orient="row",
)  # fmt: skip


def test_event_metrics() -> None:
    """Times of 2, 0.5 and 0.8 that fall with the share, and with the events by half as much."""
    assert value(events.most_changed(PATHS, "both_change")) == pytest.approx(0.04)
    assert value(events.least_changed(PATHS, "one_change")) == pytest.approx(0.2)
    assert value(events.apart(PATHS)) == pytest.approx(38)
    assert events.share_decides_more(PATHS) == pytest.approx(0.5)
    assert events.share_decides_more(PATHS.filter(beta_ecn=0.5)) is None
