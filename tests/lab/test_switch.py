"""Queues of switches, in front of which is neither a router nor a netem."""

import pytest

from sandglass.install import builds
from tests.lab.conftest import NEWER, Cli

pytestmark = pytest.mark.lab
KERNELS = [builds.DEFAULT_KERNEL, pytest.param(NEWER, marks=pytest.mark.newer)]
SCRIPT = """
import re
import sys
import time

from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

switch, place = {
    "ovs": (OVSBridge, "s1-eth2"),
    "bridge": (LinuxBridge, "s1-eth2"),
    "ifb": (LinuxBridge, "ifb0"),
}[sys.argv[1]]
net = Mininet(topo=SingleSwitchTopo(k=2), switch=switch)
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
if place == "ifb0":
    s1.cmd("ip link add ifb0 type ifb; ip link set ifb0 up; tc qdisc add dev s1-eth1 ingress")
    s1.cmd("tc filter add dev s1-eth1 ingress matchall action mirred egress redirect dev ifb0")
s1.cmd(f"tc qdisc add dev {place} root tbf rate 10mbit burst 3000 limit 1000000")
h1.cmd("ethtool -K h1-eth0 tso off gso off")
h2.cmd("iperf -s -w 100K &")
time.sleep(35)  # a bridge learns for 30 s
h1.cmd("iperf -c 10.0.0.2 -t 4 &")
time.sleep(2)
for _ in range(20):
    time.sleep(0.05)
    print(re.search(r"(\\d+)p requeues", s1.cmd(f"tc -s qdisc show dev {place}"))[1])
net.stop()
"""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("switch", ["ovs", "bridge", "ifb"])
def test_a_window_stands_in_a_switchs_queue(sandglass: Cli, switch: str, kernel: str) -> None:
    """All of it, as on a wire: TCP small queues know nothing of a queue on another machine."""
    done = sandglass("exec", "python3", "-c", SCRIPT, switch, SANDGLASS_KERNEL=kernel)
    queued = [int(line) for line in done.stdout.splitlines()]
    assert len(queued) == 20, done.stdout
    assert min(queued) > 60  # of segments, in a window of some 130 kB
    assert max(queued) - min(queued) <= 2
