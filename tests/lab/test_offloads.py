"""Every packet is one on the wire, whatever a program hands to its host."""

import re
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds
from tests.lab.conftest import Cli
from tests.lab.experiments import Lab, Mapped, dumbbell, flow, run
from tests.lab.test_failures import OWN_TOPOLOGY

pytestmark = pytest.mark.lab
SEGMENTS = """
import socket

sender = socket.socket({family}, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, {udp_segment}, 1400)
sender.sendto(bytes(20 * 1400), ("{{to}}", 9000))
"""
"""Twenty datagrams in one system call, as QUIC has it."""
UDP_SEGMENT = 103  # <linux/udp.h>


def sends(family: int = 4, **keys: Any) -> Mapped:
    constant = {4: "socket.AF_INET", 6: "socket.AF_INET6"}[family]
    text = SEGMENTS.format(family=constant, udp_segment=UDP_SEGMENT)
    return flow("command", argv=["python3", "-c", text], family=family, **keys)


def test_datagrams_of_one_call_are_packets_of_their_own(lab: Lab) -> None:
    """At a bottleneck and on wires, over either family, and they fill a short queue."""
    several = sends(start="1s"), sends(6, start="2s")
    queue = {"kind": "pfifo", "limit": 10}
    links = {"s1-r1": {"delay": "1ms"}}
    found = lab(dumbbell(*several, queue=queue, links=links, duration="3s")).packets()
    datagrams = found.filter(found["protocol"] == 17)
    assert datagrams["size_bytes"].to_list() == [1442] * 20 + [1462] * 20
    assert datagrams["drop"].drop_nulls().len() == 2 * 9  # one is sent, ten wait


def test_what_is_larger_than_the_mtu_fails(tmp_path: Path) -> None:
    """A queue of the sender's own host comes before the datagrams are parted."""
    (tmp_path / "odd.py").write_text(OWN_TOPOLOGY)
    sender = sends() | {"from": "a", "to": "b"}
    experiment = dumbbell(sender, queue={"kind": "pfifo"}, duration="1s")
    with pytest.raises(SandglassError, match="MTU is 1500 B") as caught:
        run(experiment | {"topology": "odd.py"}, tmp_path)
    assert "a packet of 28840 B from a was queued at link" in caught.value.message


NETWORK = """
from mininet.link import Link, TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.topo import MinimalTopo

for link in (Link, TCLink):
    net = Mininet(MinimalTopo(), link=link, switch=OVSBridge, controller=None)
    net.start()
    host = net["h1"]
    for command in ("true", CHANGE):
        host.cmd(command)
        print(host.cmd("ethtool -k h1-eth0"))
    net.stop()
"""
SEGMENTATION = ("tcp-segmentation-offload", "generic-segmentation-offload", "tx-udp-segmentation")


def test_links_of_scripts_have_what_their_page_says(sandglass: Cli, tmp_path: Path) -> None:
    page = (builds.ROOT / "docs" / "mininet.md").read_text()
    [change] = re.findall(r"host\.cmd\('(ethtool .*?)'\)", page)
    (tmp_path / "network.py").write_text(f"CHANGE = {change!r}\n{NETWORK}")
    done = sandglass("exec", "network.py")
    assert done.returncode == 0, done.stderr
    for name in SEGMENTATION:
        assert re.findall(rf"{name}: (on|off)", done.stdout) == ["on", "off"] * 2
    assert re.findall(r"generic-receive-offload: (on|off)", done.stdout) == ["off"] * 4
