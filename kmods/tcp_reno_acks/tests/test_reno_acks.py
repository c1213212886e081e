"""reno_acks: Reno that counts ACKs."""

import polars as pl
import pytest

from tests.lab.experiments import Lab, Run, bulk, dumbbell

pytestmark = pytest.mark.lab


def cwnd_after(run: Run, rtts: int) -> int:
    """The window some round trips after the first ACK."""
    acks = run.table("acks").sort("time_ns")
    at = acks["time_ns"][0] + rtts * 100_000_000
    return int(acks.filter(pl.col("time_ns") <= at)["cwnd_packets"][-1])


def started(lab: Lab, cc: str, delayed_ack: bool) -> Run:
    queue = {"kind": "pfifo", "limit": 10000}
    rmem = {"net.ipv4.tcp_rmem": "4096 33554432 33554432"}
    hosts = {"s1": {"initcwnd": 4}, "d1": {"delayed_ack": delayed_ack, "sysctls": rmem}}
    keys = {"rate": "1gbit", "rtt": "100ms", "hosts": hosts, "duration": "1400ms"}
    return lab(dumbbell(bulk(cc=cc), queue=queue, **keys))


def test_with_an_ack_for_each_packet_it_is_reno(lab: Lab) -> None:
    ours, reno = (started(lab, cc, delayed_ack=False) for cc in ("reno_acks", "reno"))
    assert ours.table("acks").drop("cc").equals(reno.table("acks").drop("cc"))


def test_delayed_acks_slow_it_down(lab: Lab) -> None:
    """Half as many ACKs: growth by 1.5 where bytes give 2.

    Linux's receiver delays no ACK while its window still opens.
    """
    ours, reno = (started(lab, cc, delayed_ack=True) for cc in ("reno_acks", "reno"))
    assert cwnd_after(ours, 12) / cwnd_after(ours, 10) == pytest.approx(1.5**2, rel=0.1)
    assert cwnd_after(reno, 12) / cwnd_after(reno, 10) == pytest.approx(2**2, rel=0.1)
