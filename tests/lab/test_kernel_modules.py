"""The kernel's own modules: what a script asks for is loaded by itself, and nothing else is."""

import re
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import NEWER, Cli
from tests.lab.experiments import Lab, dumbbell, flow

pytestmark = pytest.mark.lab
KERNELS = [builds.DEFAULT_KERNEL, pytest.param(NEWER, marks=pytest.mark.newer)]
ASKED_FOR = {
    "what is built in, by its name": """
        modprobe 8021q
        modprobe tcp_bbr
    """,
    "a filter's actions": """
        tc qdisc add dev va clsact
        tc filter add dev va ingress matchall action police rate 1mbit burst 10k
        tc filter add dev va egress prio 1 matchall action skbedit priority 3
        tc filter add dev va egress prio 2 protocol ip u32 match u32 0 0 \
            action pedit ex munge ip ttl set 10 pipe csum ip
        tc filter add dev va egress prio 3 matchall action connmark
        tc filter add dev va egress prio 4 matchall action ctinfo dscp 0xfc000000
        tc filter add dev va egress prio 5 matchall action vlan push id 5
        tc filter add dev va egress prio 6 matchall \
            action tunnel_key set src_ip 10.0.0.1 dst_ip 10.0.0.2 id 3
        tc filter add dev va egress prio 7 matchall action simple sdata hello
        tc filter add dev va egress prio 8 protocol ip matchall action ct zone 1
        tc filter add dev va egress prio 9 protocol mpls_uc matchall action mpls pop protocol ip
        tc filter add dev va egress prio 10 matchall action bpf bytecode '1,6 0 0 4294967295'
        tc filter add dev va egress prio 11 matchall action sample rate 10 group 1
        tc filter add dev va egress prio 12 protocol ip \
            matchall action nat ingress 10.0.0.1 10.0.0.2
        tc filter add dev va egress prio 13 matchall action skbmod dmac 02:00:00:00:00:01
        tc filter add dev va egress prio 14 matchall \
            action gate clockid CLOCK_TAI sched-entry open 200000000ns
    """,
    "classifiers": """
        tc qdisc add dev vb root handle 1: htb
        tc filter add dev vb parent 1: prio 1 protocol ip handle 1 \
            flow hash keys src,dst divisor 16
        tc filter add dev vb parent 1: prio 2 protocol ip route from 1 classid 1:1
        tc filter add dev vb parent 1: prio 3 bpf bytecode '1,6 0 0 0' flowid 1:1
        tc filter add dev vb parent 1: prio 4 basic match 'cmp(u8 at 0 layer 1 eq 3)' classid 1:1
        tc filter add dev vb parent 1: prio 5 basic match 'meta(priority eq 3)' classid 1:1
        tc filter add dev vb parent 1: prio 6 basic match 'nbyte("x" at 0 layer 1)' classid 1:1
        tc filter add dev vb parent 1: prio 7 basic match 'u32(u32 0 0 at 0)' classid 1:1
    """,
    "tc's plugins and tables, without a variable that names their directory": """
        env -i /usr/sbin/tc qdisc replace dev vb root pi2 limit 5
        env -i /usr/sbin/tc qdisc replace dev vb root netem delay 9ms 1ms distribution normal
    """,
    "interfaces and tunnels": """
        ip link add bond0 type bond mode active-backup
        ip link add vx type vxlan id 5 dstport 4789 dev va
        ip link add gn type geneve id 5 remote 10.0.0.1
        ip link add gt type gretap local 10.0.0.1 remote 10.0.0.2
        ip tunnel add g1 mode gre local 10.0.0.1 remote 10.0.0.2
        ip -6 tunnel add g6 mode ip6gre local fd00::1 remote fd00::2
        ip tunnel add t1 mode ipip local 10.0.0.1 remote 10.0.0.2
        ip tunnel add st mode sit local 10.0.0.1 remote 10.0.0.2
        ip -6 tunnel add t6 mode ip6ip6 local fd00::1 remote fd00::2
        ip link add red type vrf table 10
        ip link add mv link va type macvlan mode bridge
        ip link add mt link va type macvtap mode bridge
        ip link add iv link vb type ipvlan mode l2
        ip link add wg0 type wireguard
        ip link add team0 type team
        ip link add mon type nlmon
        ip xfrm state add src 10.0.0.1 dst 10.0.0.2 proto esp spi 1 mode transport \
            enc 'cbc(aes)' 0x00112233445566778899aabbccddeeff auth 'hmac(sha256)' 0x00
        ip xfrm state add src 10.0.0.1 dst 10.0.0.3 proto esp spi 2 mode tunnel \
            aead 'rfc4106(gcm(aes))' 0x00112233445566778899aabbccddeeff00112233 128
    """,
    "protocols": """
        ip route add 10.9.0.0/24 encap mpls 16 via 203.0.113.1
        modprobe mpls_router
        sysctl -w net.mpls.platform_labels=100
        ip -6 route add fd09::/64 encap seg6 mode encap segs fd00::5 dev va
        ip mptcp endpoint add 10.0.0.1 dev va subflow
        python3 -c 'import socket; socket.socket(type=socket.SOCK_STREAM, proto=262)'
        python3 -c 'import socket; socket.socket(type=socket.SOCK_STREAM, proto=132)'
    """,
    "iptables, and the like": """
        iptables -A INPUT -m mac --mac-source 02:00:00:00:00:01 -j LOG
        iptables -t nat -A PREROUTING -p tcp -j REDIRECT --to-ports 80
        iptables -A INPUT -p tcp -m connlimit --connlimit-above 3 -j DROP
        iptables -A INPUT -m recent --name x --set
        iptables -A INPUT -m string --algo bm --string foo -j DROP
        iptables -A INPUT -m length --length 100:200
        iptables -A INPUT -m iprange --src-range 10.0.0.1-10.0.0.2
        iptables -A INPUT -j NFQUEUE --queue-num 1
        iptables -A INPUT -m hashlimit --hashlimit-name x --hashlimit-above 10/sec
        iptables -A FORWARD -m physdev --physdev-in va
        iptables -A OUTPUT -m owner --uid-owner 0
        iptables -t mangle -A PREROUTING -p tcp -j TPROXY --on-port 80
        iptables -t mangle -A POSTROUTING -j TTL --ttl-set 5
        iptables -t mangle -A POSTROUTING -j CLASSIFY --set-class 1:1
        iptables -t mangle -A POSTROUTING -j CONNMARK --save-mark
        iptables -t raw -A PREROUTING -j CT --zone 3
        iptables -A INPUT -m time --timestart 10:00
        iptables -A INPUT -m u32 --u32 0=0
        iptables -A INPUT -m addrtype --dst-type LOCAL
        iptables -A INPUT -m ecn --ecn-ip-ect 1
        iptables -A INPUT -m bpf --bytecode '1,6 0 0 0'
        ip6tables -A INPUT -j REJECT
        ip6tables -t nat -A POSTROUTING -j MASQUERADE
        iptables-legacy -A INPUT -j DROP
        iptables-legacy -t nat -A POSTROUTING -j MASQUERADE
        iptables-legacy -t mangle -L
        arptables-nft -A INPUT -s 10.0.0.1 -j DROP
        arptables-nft -A OUTPUT -j mangle --mangle-ip-s 10.0.0.1
        ebtables-nft -A FORWARD -p ip --ip-src 10.0.0.1 -j DROP
        modprobe br_netfilter
        sysctl net.bridge.bridge-nf-call-iptables
        modprobe ip_set_hash_net
        modprobe ip_vs_rr
        nft add table bridge f
        nft add table inet i
        nft 'add chain inet i c { type filter hook input priority 0; }'
        nft add rule inet i c fib daddr type local log
        nft add rule inet i c numgen inc mod 2 0
        nft add rule inet i c queue num 1
    """,
}
SETTING = """
ip link add va type veth peer name vb
ip link set va up
ip link set vb up
try() {
    said=$("$@" 2>&1) || echo "$*: $said"
}
"""


def script(commands: str) -> str:
    """Each command is tried, and one that fails is told."""
    return re.sub(r"(?m)^ {8}(?=\S)", "try ", commands)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_a_script_asks_for_is_there(sandglass: Cli, tmp_path: Path, kernel: str) -> None:
    """And takes the same time each time."""
    text = SETTING + "".join(map(script, ASKED_FOR.values())) + "cat /proc/uptime\n"
    (tmp_path / "asked.sh").write_text(text)
    done = [sandglass("exec", "sh", "./asked.sh", SANDGLASS_KERNEL=kernel) for _ in range(2)]
    failed = done[0].stdout.splitlines()[:-1]
    assert failed == [], done[0].stdout
    assert done[0].returncode == 0
    assert done[0].stdout == done[1].stdout


POLICED = """
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(k=2))
net.start()
net.get("s1").cmd("ovs-vsctl set interface s1-eth1 ingress_policing_rate=5000")
net.get("s1").cmd("ovs-vsctl set interface s1-eth1 ingress_policing_burst=500")
h1, h2 = net.hosts
h2.cmd("iperf -s -u -i 1 >server 2>&1 &")
h1.cmd("sleep 1; iperf -c 10.0.0.2 -u -b 20m -t 3; sleep 1")
print(h2.cmd("cat server"))
net.stop()
"""


def test_open_vswitch_polices(sandglass: Cli) -> None:
    done = sandglass("exec", "python3", "-c", POLICED)
    rates = [float(rate) for rate in re.findall(r"([\d.]+) Mbits/sec", done.stdout)]
    assert rates, done.stdout
    assert rates[1] == pytest.approx(5, rel=0.1)


def test_an_experiment_has_no_module_that_it_does_not_need(lab: Lab) -> None:
    listing = flow("command", argv=["cat", "/proc/modules"], duration="1s")
    found = lab(dumbbell(listing, queue={"kind": "pfifo"}, duration="1s"))
    said = (found.path / found.content["flows"][0]["output"]).read_text()
    assert [line.split()[0] for line in said.splitlines()] == ["recorder"]
