"""What is made of a media flow's packets, against the definitions packet by packet."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import media

INTERVAL = 20_000_000
# Delays in ns, None of a lost packet.
delays = st.lists(st.none() | st.integers(0, 10**9), min_size=1, max_size=60)
playouts = st.integers(0, 10**9)


def series(delays: list[int | None]) -> pl.Series:
    return pl.Series(delays, dtype=pl.Int64)


def flow(delays: list[int | None], playout: int) -> pl.DataFrame:
    """The packets of a flow as the guest has left them."""
    due = [number * INTERVAL for number in range(len(delays))]
    received = [None if each is None else at + each for at, each in zip(due, delays, strict=True)]
    left = pl.DataFrame(
        {"sequence": range(len(delays)), "due_ns": due, "received_ns": received},
        schema={"sequence": pl.Int64, "due_ns": pl.Int64, "received_ns": pl.Int64},
    )
    return media.played(left, playout)


@given(delays)
def test_variation_is_the_difference_of_two_delays_in_a_row(delays: list[int | None]) -> None:
    found = media.delay_variation(series(delays)).to_list()
    assert found[0] is None
    for before, after, variation in zip(delays, delays[1:], found[1:], strict=False):
        expected = None if before is None or after is None else after - before
        assert variation == expected


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_loss_periods_are_runs_of_losses(lost: list[bool]) -> None:
    """Counted by hand: a loss continues the period before it, or begins the next."""
    expected, period = [], 0
    for index, each in enumerate(lost):
        period += each and (index == 0 or not lost[index - 1])
        expected.append(period if each else 0)
    assert media.loss_periods(pl.Series(lost)).to_list() == expected


def unplayed(delays: list[int | None], playout: int) -> Fraction:
    """The share of packets that are lost or late."""
    return Fraction(sum(each is None or each > playout for each in delays), len(delays))


@given(delays, st.fractions(0, 1))
def test_the_needed_playout_delay_is_enough_and_none_shorter_is(
    delays: list[int | None], share: Fraction
) -> None:
    needed = media.least_playout_delay(series(delays), share)
    if needed is None:
        assert unplayed(delays, 10**9) > share or share == 1
    else:
        assert unplayed(delays, needed) <= share
        assert unplayed(delays, needed - 1) > share


@given(delays, playouts)
def test_the_numbers_of_a_flow_are_those_of_its_packets(
    delays: list[int | None], playout: int
) -> None:
    found = media.summary(flow(delays, playout), playout)
    lost = delays.count(None)
    late = sum(each is not None and each > playout for each in delays)
    runs = "".join("x" if each is None else " " for each in delays).split()
    assert found["lost_share"] == lost / len(delays)
    assert found["late_share"] == late / len(delays)
    assert found["unplayed_share"] == pytest.approx(float(unplayed(delays, playout)))
    assert found["loss_periods"] == len(runs)
    assert found["longest_loss_period"] == max(map(len, runs), default=0)
    arrived = [each for each in delays if each is not None]
    assert found["delay_ms"]["max"] == (max(arrived) / 1e6 if arrived else None)


@given(delays, playouts)
def test_each_packet_has_its_own(delays: list[int | None], playout: int) -> None:
    rows = flow(delays, playout).to_dicts()
    for number, (row, delay) in enumerate(zip(rows, delays, strict=True)):
        assert (row["sequence"], row["sent_ns"]) == (number, number * INTERVAL)
        assert row["delay_ns"] == delay
        assert row["late"] == (None if delay is None else delay > playout)
        assert (row["loss_period"] > 0) == (delay is None)
