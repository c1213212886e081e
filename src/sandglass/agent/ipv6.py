"""IPv6 beside IPv4: every address, subnet and route has its like.

An IPv6 address is fd00::/96 with the IPv4 address in its last 32 bits, as in RFC 6052, section 2.2,
but with a prefix of unique local addresses (RFC 4193); a prefix is longer by 96 bits. So the two
families have one topology, and an address of either tells the host.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from sandglass.agent.failure import RunError

if TYPE_CHECKING:
    from sandglass.agent.plan import Plan

PREFIX = IPv6Address("fd00::")
PREFIX_LENGTH = 96
LEAST_MTU = 1280
"""In bytes (RFC 8200, section 5); Linux gives an interface with less no IPv6."""
REPORTED_NS = 3_000_000_000
"""After an interface has got its addresses it tells of its multicast groups (MLD, RFC 3810), twice
within a second or two, and never again unasked."""
SETTINGS: dict[str, int | str] = {
    "net.ipv6.conf.all.addr_gen_mode": 1,  # none but those that it is given
    "net.ipv6.conf.all.disable_ipv6": 0,
}
"""Of a network namespace that has it. Without an address of its own making an interface asks for no
router (RFC 4861, section 6.3.7)."""
FORWARDING: dict[str, int | str] = {"net.ipv6.conf.all.forwarding": 1}
ECMP: dict[str, int | str] = {"net.ipv6.fib_multipath_hash_policy": 1}  # by ports, not flow labels


def wanted(plan: Plan) -> bool:
    """Whether a flow has it; else it is off in the whole lab."""
    return any(flow["family"] == 6 for flow in plan["flows"])


def address(ipv4: str) -> str:
    """The IPv6 address of what has this IPv4 address.

    Raises:
        RunError: it has none.
    """
    try:
        return str(PREFIX + int(IPv4Address(ipv4)))
    except ValueError:
        raise RunError(
            f"{ipv4} is no IPv4 address, of which that of IPv6 is made",
            "Give topologies IPv4 addresses alone.",
        ) from None


def destination(ipv4: str) -> str:
    """Where a route leads, to an address, a subnet or `default`, in IPv6."""
    if ipv4 == "default":
        return "::/0"
    of_host, _, length = ipv4.partition("/")
    return f"{address(of_host)}/{PREFIX_LENGTH + int(length or 32)}"


def hop(ipv4: dict[str, str]) -> dict[str, str]:
    """The next hop of a route, `via` addresses or `dev` an interface, in IPv6."""
    if "via" not in ipv4:
        return ipv4
    return {**ipv4, "via": " ".join(map(address, ipv4["via"].split()))}
