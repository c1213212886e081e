"""What tc is told of a testbed's noise on wires."""

from types import SimpleNamespace
from typing import Any

import pytest

from sandglass.agent import noise

PLANNED = {"phase_ns": 100, "host_ns": [], "nic_ns": 5, "wan_ns": 0, "wan_step_ns": 0}


class Link:
    """Its first interface is the host's."""

    number, wired, intf2 = 3, True, None


def network(impairments: list[str]) -> Any:
    """One wire between a host and a router, of 100 Mb/s from the host and 20 Mb/s to it."""
    way = {"jitter_ns": 0, "impairments": []}
    to_router = way | {"rate_bps": 100_000_000, "impairments": impairments}
    link = Link()
    return SimpleNamespace(
        plan={
            "noise": PLANNED,
            "wires": {"s1-r1": {"forward": to_router, "reverse": way | {"rate_bps": 20_000_000}}},
            "hosts": {"s1": {"access_rate_bps": None}},
        },
        net=SimpleNamespace(links=[link], link_names=["s1-r1"]),
        access={"s1": SimpleNamespace(own=SimpleNamespace(link=link), host="s1")},
    )


def test_a_host_sends_at_the_rate_of_its_own_way() -> None:
    sent, received = noise.lines(network([]), 1, 0, again=False)
    assert "dev wire3b " in sent
    assert sent.endswith(" phase 100 rate 100000000bit")
    assert "dev wire3a " in received
    assert received.endswith(" nic 5")


@pytest.mark.parametrize(
    ("impairments", "gone"), [([], ["wire3b", "wire3a"]), (["loss 1%"], ["wire3a"])]
)
def test_noise_goes_with_an_element_that_is_new(impairments: list[str], gone: list[str]) -> None:
    """Else it is taken away before it is laid again."""
    lines = noise.lines(network(impairments), 1, 0, again=True)
    assert [line.split()[3] for line in lines if line.startswith("qdisc del")] == gone
