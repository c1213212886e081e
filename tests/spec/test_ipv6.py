"""Addresses of IPv6 that hold those of IPv4, against Python's own arithmetic."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.agent import ipv6
from sandglass.agent.failure import RunError

IPV4 = st.ip_addresses(v=4)


@given(IPV4)
def test_an_address_ends_in_the_ipv4_address(address: ipaddress.IPv4Address) -> None:
    found = ipaddress.IPv6Address(ipv6.address(str(address)))
    assert found.packed == bytes.fromhex("fd00") + bytes(10) + address.packed


@given(IPV4, IPV4, st.integers(0, 32))
def test_subnets_hold_the_same_addresses(
    one: ipaddress.IPv4Address, other: ipaddress.IPv4Address, length: int
) -> None:
    before = ipaddress.ip_network((one, length), strict=False)
    after = ipaddress.ip_network(ipv6.destination(str(before)))
    assert (other in before) == (ipaddress.ip_address(ipv6.address(str(other))) in after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"via": "10.0.0.1"}, {"via": "fd00::a00:1"}),
        ({"via": "10.0.0.1 10.0.0.5"}, {"via": "fd00::a00:1 fd00::a00:5"}),
        ({"via": "10.0.0.1", "dev": "s1-eth0"}, {"via": "fd00::a00:1", "dev": "s1-eth0"}),
        ({"dev": "s1-eth0"}, {"dev": "s1-eth0"}),
    ],
)
def test_hops(before: dict[str, str], after: dict[str, str]) -> None:
    assert ipv6.hop(before) == after
    assert ipv6.destination("default") == "::/0"
    assert ipv6.destination("10.1.2.3") == "fd00::a01:203/128"


@pytest.mark.parametrize("address", ["2001:db8::1", "10.1.2", "h1"])
def test_only_ipv4_addresses_have_one(address: str) -> None:
    with pytest.raises(RunError, match=f"{address} is no IPv4 address"):
        ipv6.address(address)
