"""With the same factor for marks and losses, ABE is mainline: the same packets at the same time."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from sandglass.errors import SandglassError
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell

BETA_ECN = "net.ipv4.tcp_abe.beta_ecn"
CUBIC_BETA_ECN = "net.ipv4.tcp_abe.cubic_beta_ecn"
EQUAL: dict[str, Mapped] = {
    "reno": {BETA_ECN: 50},
    "cubic": {CUBIC_BETA_ECN: 70},
}
CODEL = {"kind": "codel", "limit": 1000, "ecn": True}
PIE = {"kind": "pie", "limit": 1000, "ecn": True}
NETWORKS: dict[str, Mapped] = {
    "CoDel": {"queue": CODEL, "rate": "20mbit", "rtt": "100ms", "duration": "20s"},
    "PIE": {"queue": PIE, "rate": "10mbit", "rtt": "40ms"},
    "DropTail": {"queue": {"kind": "pfifo", "limit": 60}, "rate": "20mbit", "rtt": "80ms"},
    "a short queue": {"queue": {"kind": "pfifo", "limit": 4}, "rate": "2mbit", "rtt": "30ms"},
    "random loss": {
        "queue": {"kind": "netem", "limit": 1000, "loss": "1%"},
        "rate": "10mbit",
        "rtt": "60ms",
    },
    "ten flows": {"queue": CODEL, "rate": "10mbit", "rtt": "80ms", "pairs": 10},
}


def experiment(network: Mapping[str, Any], cc: str, sysctls: Mapping[str, Any]) -> Mapped:
    """Flows that start half a second apart, one for each pair."""
    pairs = network.get("pairs", 1)
    ecn = bool(network["queue"].get("ecn"))
    flows = [
        bulk(f"s{n}", f"d{n}", cc=cc, ecn=ecn, start=f"{n * 500}ms") for n in range(1, pairs + 1)
    ]
    hosts = {f"s{n}": {"sysctls": dict(sysctls)} for n in range(1, pairs + 1)}
    return dumbbell(*flows, **network, hosts=hosts)


def tables(run: Run) -> dict[str, pl.DataFrame]:
    """All that was recorded, but for the congestion control's name."""
    names = ("packets", "acks", "queues", "flows")
    return {name: run.table(name).drop("cc", strict=False) for name in names}


@pytest.mark.lab
@pytest.mark.parametrize("cc", EQUAL)
@pytest.mark.parametrize("network", NETWORKS)
def test_equal_factors_give_the_same_packets(lab: Lab, network: str, cc: str) -> None:
    mainline = lab(experiment(NETWORKS[network], cc, {}))
    ours = lab(experiment(NETWORKS[network], f"abe_{cc}", EQUAL[cc]))
    assert mainline.packets().height > 500
    if NETWORKS[network]["queue"]["kind"] != "netem":
        assert mainline.qdisc()["drops"] + mainline.content["flows"][0]["delivered_ce"] > 0
    for name, table in tables(mainline).items():
        assert table.equals(tables(ours)[name]), name


@pytest.mark.lab
@pytest.mark.parametrize("cc", EQUAL)
def test_a_larger_factor_gives_other_packets(lab: Lab, cc: str) -> None:
    """So that the comparison above can fail."""
    mainline = lab(experiment(NETWORKS["CoDel"], cc, {}))
    ours = lab(experiment(NETWORKS["CoDel"], f"abe_{cc}", {}))
    assert not mainline.table("acks").drop("cc").equals(ours.table("acks").drop("cc"))


@pytest.mark.lab
def test_a_loaded_module_that_is_not_used_changes_nothing(lab: Lab) -> None:
    without = lab(experiment(NETWORKS["CoDel"], "cubic", {}))
    loaded = lab(experiment(NETWORKS["CoDel"], "cubic", {BETA_ECN: 90}))
    assert loaded.content["digest"] == without.content["digest"]


@pytest.mark.lab
@pytest.mark.parametrize(
    ("cc", "sysctl", "percent"),
    [
        ("abe_reno", BETA_ECN, 50),
        ("abe_reno", BETA_ECN, 80),
        ("abe_reno", BETA_ECN, 95),
        ("abe_cubic", CUBIC_BETA_ECN, 85),
    ],
)
def test_each_mark_leaves_the_factors_share_of_cwnd(
    lab: Lab, cc: str, sysctl: str, percent: int
) -> None:
    run = lab(experiment(NETWORKS["CoDel"], cc, {sysctl: percent}))
    acks = run.table("acks")
    assert acks["lost_packets"].max() == 0
    # A record shows the sender as the ACK comes: what this ACK cuts is seen in the next one.
    cuts = acks.with_columns(
        after=pl.col("ssthresh_packets").shift(-1), state_after=pl.col("ca_state").shift(-1)
    ).filter((pl.col("ca_state") == "Open") & (pl.col("state_after") == "CWR"))
    assert cuts.height > 3
    factor = (percent * 1024 + 50) // 100
    assert cuts["after"].to_list() == [cwnd * factor // 1024 for cwnd in cuts["cwnd_packets"]]


@pytest.mark.lab
def test_each_host_has_its_own_factors(lab: Lab) -> None:
    factors = {"s1": "95", "s2": "60"}
    flows = [bulk(host, f"d{host[1]}", cc="abe_reno", ecn=True) for host in factors]
    hosts = {host: {"sysctls": {BETA_ECN: value}} for host, value in factors.items()}
    found = lab(dumbbell(*flows, queue=CODEL, pairs=2, hosts=hosts)).content["observed"]["hosts"]
    assert {host: found[host]["sysctls"][BETA_ECN] for host in factors} == factors


@pytest.mark.lab
@pytest.mark.parametrize("value", ["0", "101", "text"])
def test_a_factor_out_of_range_ends_the_run(lab: Lab, value: str) -> None:
    with pytest.raises(SandglassError, match=f"{BETA_ECN} on host s1 refuses {value}") as failure:
        lab(experiment(NETWORKS["CoDel"], "abe_reno", {BETA_ECN: value}))
    assert "from 1 to 100" in str(failure.value.hint)


@pytest.mark.lab
def test_a_congestion_control_that_is_nowhere_is_named(lab: Lab) -> None:
    sysctls = {"net.ipv4.tcp_congestion_control": "nothing"}
    with pytest.raises(SandglassError, match="no congestion control nothing") as failure:
        lab(experiment(NETWORKS["CoDel"], "cubic", sysctls))
    assert "cubic" in str(failure.value.hint)
    assert "abe_reno" in str(failure.value.hint)


@pytest.mark.lab
def test_a_hosts_default_may_be_a_modules(lab: Lab) -> None:
    sysctls = {"net.ipv4.tcp_congestion_control": "abe_cubic"}
    hosts = {"s1": {"sysctls": sysctls}}
    run = lab(dumbbell(bulk(), queue=CODEL, hosts=hosts, duration="1s"))
    assert run.content["flows"][0]["cc"] == "abe_cubic"
