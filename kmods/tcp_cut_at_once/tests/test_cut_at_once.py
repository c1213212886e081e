"""tcp_cut_at_once: a sender that falls silent when a mark reduces its window."""

from typing import Any

import polars as pl
import pytest

from tests.lab.experiments import Lab, Run, bulk, dumbbell

pytestmark = pytest.mark.lab

PACKET_NS = 1514 * 8 * 100
"""How long a full packet takes at 10 Mb/s."""
CODEL = {"kind": "codel", "limit": 1000, "target": "5ms", "interval": "100ms", "ecn": True}
BETA = 80


def ran(lab: Lab, at_once: int | None, cc: str = "abe_reno", **flow: Any) -> Run:
    """A flow through CoDel at 10 Mb/s and 40 ms; `at_once` None: without the module."""
    sysctls: dict[str, int] = {"net.ipv4.tcp_abe.beta_ecn": BETA}
    if at_once is not None:
        sysctls["net.ipv4.tcp_cut_at_once.marks"] = at_once
    # the receiver must not limit the window
    rmem = {"net.ipv4.tcp_rmem": "4096 33554432 33554432"}
    hosts = {"s1": {"sysctls": sysctls}, "d1": {"sysctls": rmem}}
    keys = {"hosts": hosts, "duration": "5s", "record": ["packets", "acks"]}
    return lab(dumbbell(bulk(cc=cc, **({"ecn": True} | flow)), queue=CODEL, **keys))


def acks_from_cut(run: Run) -> pl.DataFrame:
    """The first ACK that finds the window reduced, and those after it."""
    acks = run.table("acks").sort("time_ns")
    return acks.filter((pl.col("ca_state") == "CWR").cum_max())


def arrivals(run: Run, start_ns: int, end_ns: int) -> pl.Series:
    """When packets of data reach the bottleneck, from one time to before another."""
    packets = run.table("packets").filter(pl.col("size_bytes") > 1000).sort("enqueue_ns")
    within = pl.col("enqueue_ns").is_between(start_ns, end_ns, closed="left")
    return packets.filter(within)["enqueue_ns"]


def silence_packets(run: Run) -> float:
    """The longest time in which nothing reaches the bottleneck, of the 100 ms after the first cut,
    in the time of packets."""
    cut_ns = acks_from_cut(run)["time_ns"][0]
    found = arrivals(run, cut_ns, cut_ns + 100_000_000)
    longest = pl.concat([pl.Series([cut_ns]), found.rename("")]).diff().max()
    assert isinstance(longest, int)
    return longest / PACKET_NS


def test_it_is_silent_until_the_reduced_window_has_room(lab: Lab) -> None:
    """A fifth of the window is acknowledged meanwhile, but for the packet that is always sent."""
    run = ran(lab, at_once=1)
    reduced = acks_from_cut(run)["ssthresh_packets"][0]
    assert silence_packets(run) == pytest.approx(reduced / (BETA / 100) - reduced, abs=2)


def test_without_it_the_reduction_is_spread(lab: Lab) -> None:
    """Four of five packets go on: no gap is longer than two of them and a rounding."""
    assert silence_packets(ran(lab, at_once=0)) <= 3


def test_it_is_the_same_until_the_first_mark_and_reduces_to_the_same_window(lab: Lab) -> None:
    ours, spread = ran(lab, at_once=1), ran(lab, at_once=0)
    at_cut = [acks_from_cut(run).row(0, named=True) for run in (ours, spread)]
    assert at_cut[0]["time_ns"] == at_cut[1]["time_ns"]
    assert at_cut[0]["ssthresh_packets"] == at_cut[1]["ssthresh_packets"]
    # the ACK with the mark comes one packet's time earlier
    before_ns = at_cut[0]["time_ns"] - PACKET_NS
    assert arrivals(ours, 0, before_ns).equals(arrivals(spread, 0, before_ns))


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_any_congestion_control_does_it(lab: Lab, cc: str) -> None:
    assert silence_packets(ran(lab, at_once=1, cc=cc)) > 10
    assert silence_packets(ran(lab, at_once=0, cc=cc)) <= 3


def test_a_loss_is_repaired_as_without_it(lab: Lab) -> None:
    ours, theirs = (ran(lab, at_once=at_once, ecn=False) for at_once in (1, 0))
    assert ours.table("packets").equals(theirs.table("packets"))


def test_the_module_unused_changes_nothing(lab: Lab) -> None:
    loaded, absent = ran(lab, at_once=0), ran(lab, at_once=None)
    assert loaded.table("packets").equals(absent.table("packets"))
