"""Section IV-C of ABE: congestion events of two flows, worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.abe import events
from sandglass.results.series import Run
from tests.pipeline.synthetic import document, value

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


def test_a_row_of_the_table(tmp_path: Path) -> None:
    """Both back off in the first event, the later flow alone in the second; shares are fair after
    half a second, before that."""
    recorded = acks(
        (1000, 1, 40, None, "Open"), (1100, 2, 20, None, "Open"),
        (1200, 1, 40, 20, "CWR"), (1230, 2, 20, 10, "CWR"),
        (1400, 1, 30, 20, "Open"), (1400, 2, 10, 10, "Open"),
        (1800, 1, 30, 20, "Open"), (1800, 2, 12, 6, "CWR"),
    )  # fmt: skip
    soon = [(900, 1, 500), (1100, 2, 10), (1500, 1, 515), (1500, 2, 15)]
    late = [(900, 1, 500), (1100, 2, 10), (1500, 1, 600), (1900, 2, 110), (1900, 1, 601)]
    runs = []
    for beta, sent in ((50, soon), (90, late)):
        home = tmp_path / str(beta)
        home.mkdir()
        recorded.write_parquet(home / "acks.parquet")
        goodput = pl.DataFrame(sent, schema=["time_ns", "flow", "bytes"], orient="row")
        goodput.with_columns(pl.col("time_ns") * MS).write_parquet(home / "goodput.parquet")
        content = document()
        content["experiment"] |= {
            "rtt": "40ms",
            "duration": "3s",
            "flows": [{"cc": "abe_reno"}, {"cc": "abe_reno", "start": "1s"}],
            "hosts": {"s1": {"sysctls": {"net.ipv4.tcp_abe.beta_ecn": beta}}},
        }
        content["experiment"]["bottleneck"]["queue"]["kind"] = "codel"
        runs.append(Run(home, {}, content))
    row, other = events.table(runs).to_dicts()
    assert (row["queue"], row["rtt_ms"], row["beta_ecn"]) == ("CoDel", 40, 0.5)
    assert (row["events"], row["both_percent"]) == (2, 50)
    assert (row["both_change"], row["one_change"]) == (0, pytest.approx(2 / 3))
    assert (row["convergence_s"], other["convergence_s"]) == (0.5, 0.9)
    assert (row["older_share"], row["start_over_fair"]) == (0.5, pytest.approx(0.4))
    # Until the slower of both has converged.
    assert (row["horizon_events"], row["horizon_older_share"]) == (2, pytest.approx(1 / 3))


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
    schema=[*events.PATH, "beta_ecn", *events.MEASURES, "convergence_s", "horizon_older_share",
            "horizon_events"],
    orient="row",
)  # fmt: skip


def test_event_metrics() -> None:
    """Times of 2, 0.5 and 0.8 that fall with the share, and with the events by half as much."""
    assert value(events.most_changed(PATHS, "both_change")) == pytest.approx(0.04)
    assert value(events.least_changed(PATHS, "one_change")) == pytest.approx(0.2)
    assert value(events.apart(PATHS)) == pytest.approx(38)
    assert events.share_decides_more(PATHS) == pytest.approx(0.5)
    assert events.share_decides_more(PATHS.filter(beta_ecn=0.5)) is None


def test_what_is_more_frequent_among_outliers() -> None:
    """Times of 4, 1/4, 4 and 2: the first is unlucky, the second too but sooner, the third has a
    start that was right and so has the fourth, which is no outlier."""
    rows = []
    for rtt, time, share, start in [
        (10.0, 4.0, 0.3, 2.0),
        (20.0, 0.25, 0.3, 2.0),
        (40.0, 4.0, 0.5, 0.95),
        (80.0, 2.0, 0.5, 1.0),
    ]:
        rows += [
            ("PIE", 10.0, rtt, 0.5, 1.0, 0.5, start),
            ("PIE", 10.0, rtt, 0.75, 9.0, 0.5, 3.0),
            ("PIE", 10.0, rtt, 0.9, time, share, 3.0),
        ]
    columns = [*events.PATH, "beta_ecn", "convergence_s", "older_share", "start_over_fair"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    # One of six outliers is unlucky, and one of two others.
    assert events.more_unlucky(table, 3, 0.6) == pytest.approx(100 * (1 / 6 - 1 / 2))
    # One of the two paths where both are outliers started right, and one of the two others.
    assert events.more_right_starts(table, 3, 0.1) == pytest.approx(0)
    # Of the outliers the unlucky one and those of 40 and 80 ms, of the two others both.
    assert events.more_explained(table, 3, 0.6, 0.1) == pytest.approx(100 * (4 / 6 - 1))
    never = table.with_columns(
        convergence_s=pl.when(rtt_ms=80.0).then(None).otherwise("convergence_s")
    )
    # Where neither converges there is no outlier: one of five, and one of three.
    assert events.more_unlucky(never, 3, 0.6) == pytest.approx(100 * (1 / 5 - 1 / 3))
    assert events.more_unlucky(table.filter(rtt_ms=20.0, beta_ecn=0.5), 3, 0.6) is None
