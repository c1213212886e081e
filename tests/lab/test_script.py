"""Programs as people write them for Mininet, in the lab: exec and mn."""

import re
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
TWO_HOSTS = builds.ROOT / "examples/mininet/two_hosts.py"


@pytest.mark.parametrize(
    ("topology", "pairs"),
    [
        ("minimal", 2),
        pytest.param("single", 2, marks=pytest.mark.thorough),
        pytest.param("linear,8", 56, marks=pytest.mark.thorough),
        pytest.param("tree,3", 56, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("switch", ["ovs", "ovsbr", "lxbr"])
def test_all_hosts_of_mininets_own_topologies_reach_each_other(
    sandglass: Cli, topology: str, pairs: int, switch: str
) -> None:
    done = sandglass("mn", "--topo", topology, "--switch", switch, "--test", "pingall")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"*** Results: 0% dropped ({pairs}/{pairs} received)" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("switch", ["ovs,failMode=standalone", "ovsbr", "lxbr"])
def test_a_torus_needs_a_spanning_tree_and_then_all_reach_each_other(
    sandglass: Cli, switch: str
) -> None:
    words = ("--topo", "torus,3,3", "--switch", f"{switch},stp=1", "--controller", "none")
    code = (
        "import subprocess, sys\n"
        "said = 'py time.sleep(60)\\npingall\\n'\n"
        "sys.exit(subprocess.run(['mn', *sys.argv[1:]], input=said, text=True).returncode)"
    )
    done = sandglass("exec", "python3", "-c", code, *words)
    assert "*** Results: 0% dropped (72/72 received)" in done.stdout, done.stdout


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_output(sandglass: Cli) -> None:
    said = [
        sandglass("exec", "--seed", seed, "python3", "-c", "import random; print(random.random())")
        for seed in (1, 1, 2)
    ]
    assert all(done.returncode == 0 for done in said)
    assert said[0].stdout == said[1].stdout != said[2].stdout
    pings = [sandglass("mn", "--test", "pingpair").stdout for _ in range(2)]
    assert pings[0] == pings[1]


def test_a_system_call_takes_what_it_is_told_to(sandglass: Cli) -> None:
    code = (
        "import os, time\n"
        "begun = time.monotonic_ns()\n"
        "for _ in range(1000): os.getppid()\n"
        "print(time.monotonic_ns() - begun)"
    )
    took = {
        cost: int(sandglass("exec", "--syscall-cost", cost, "python3", "-c", code).stdout)
        for cost in (0, 2000, 5000)
    }
    assert took[0] < 20_000, "reads of the clock, and hardly more"
    assert 2_000_000 <= took[2000] < 2_050_000
    assert 5_000_000 <= took[5000] < 5_050_000
    usual = sandglass("exec", "python3", "-c", code)
    assert int(usual.stdout) == took[2000]


def test_a_script_measures_what_its_links_say(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "two_hosts.py").write_text(TWO_HOSTS.read_text())
    done = []
    for _ in range(2):
        (tmp_path / "two_hosts.txt").unlink(missing_ok=True)  # a directory that is read counts
        done.append(sandglass("exec", "two_hosts.py", 10, "5ms"))
    assert done[0].returncode == 0, done[0].stdout + done[0].stderr
    assert done[0].stdout == done[1].stdout
    times = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", done[0].stdout)]
    assert len(times) == 3
    assert times[1:] == pytest.approx([20, 20], abs=0.1001)  # the first waits for ARP too
    kept = (tmp_path / "two_hosts.txt").read_text()
    server = float(re.findall(r"server ([\d.]+) Mbits/sec", kept)[0])
    assert 9.3 <= server <= 9.7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two_hosts.py", "two_hosts.txt"]


@pytest.mark.thorough
def test_links_without_a_rate_are_as_fast_as_a_machine(sandglass: Cli) -> None:
    done = sandglass("mn", "--test", "iperf")
    (rate,) = re.findall(r"Results: \['([\d.]+) Gbits/sec'", done.stdout)
    assert 1 < float(rate) < 100


def test_udp_is_measured_too(sandglass: Cli) -> None:
    script = (
        "from functools import partial\nfrom mininet.link import TCLink\n"
        "from mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(topo=SingleSwitchTopo(k=2), link=partial(TCLink, bw=20))\n"
        "net.start()\nprint(net.iperf(l4Type='UDP', udpBw='10M'))\nnet.stop()\n"
    )
    done = sandglass("exec", "python3", "-c", script)
    # iperf's M is 1024 * 1024 here
    assert done.stdout.splitlines()[-1] == "['10M', '10.5 Mbits/sec', '10.5 Mbits/sec']"


@pytest.mark.parametrize(("code", "status"), [("exit(7)", 7), ("import os; os.abort()", 134)])
def test_the_status_is_the_programs(sandglass: Cli, code: str, status: int) -> None:
    assert sandglass("exec", "python3", "-c", code).returncode == status


def test_a_program_that_is_not_there_is_told_as_a_shell_does(sandglass: Cli) -> None:
    done = sandglass("exec", "no-such-program")
    assert done.returncode == 127
    assert "no-such-program: No such file or directory" in done.stdout


def test_a_file_from_elsewhere_is_refused(sandglass: Cli) -> None:
    done = sandglass("exec", str(TWO_HOSTS))
    assert done.returncode == 2
    assert "is not below the working directory" in done.stderr
    missing = sandglass("exec", "./none.py")
    assert missing.returncode == 2
    assert "no file ./none.py" in missing.stderr


def test_a_busy_loop_is_told_by_name(sandglass: Cli) -> None:
    done = sandglass("exec", "python3", "-c", "while True: pass", SANDGLASS_WATCHDOG="5")
    assert done.returncode == 1
    assert "has said nothing for 5 s" in done.stderr
    assert "python3 may wait in a busy loop" in done.stderr
    assert "s after the lab's start" in done.stderr


@pytest.mark.thorough
def test_a_thread_that_waits_by_asking_goes_on(sandglass: Cli) -> None:
    code = (
        "import threading, time; done = []\n"
        "def work(): time.sleep(1); done.append(1)\n"
        "threading.Thread(target=work).start()\n"
        "while not done: time.monotonic()\n"
        "print('over')"
    )
    assert sandglass("exec", "python3", "-c", code).stdout == "over\n"


def test_what_it_writes_elsewhere_is_gone(sandglass: Cli, tmp_path: Path) -> None:
    code = (
        "import os, pathlib\n"
        "for place in ('/etc/new', '/root/new', '/tmp/new', '/var/new', 'new', '/usr/new'):\n"
        "    try: pathlib.Path(place).write_text('x'); print(place)\n"
        "    except OSError as error: print(place, error.strerror)\n"
        "print(sorted(os.listdir('.')))"
    )
    done = sandglass("exec", "python3", "-c", code)
    assert done.stdout.splitlines() == [
        "/etc/new", "/root/new", "/tmp/new", "/var/new", "new", "/usr/new Read-only file system",
        "['new']",
    ]  # fmt: skip
    assert (tmp_path / "new").read_text() == "x"
    assert not Path("/etc/new").exists()


def test_commands_for_the_prompt_come_from_a_pipe(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "commands").write_text("h1 ping -c 2 h2\nh1 wget -qO - h2 || echo refused\n")
    code = "import subprocess; subprocess.run(['mn'], stdin=open('commands'))"
    done = sandglass("exec", "python3", "-c", code)
    assert "2 packets transmitted, 2 received, 0% packet loss" in done.stdout
    assert "refused" in done.stdout
    assert sandglass("exec", "ls", "/etc/new").returncode


def test_in_real_time_the_machine_has_been_up_for_long_enough(sandglass: Cli) -> None:
    """For Open vSwitch, when the first program starts; in virtual time a wait is free."""
    begun = "import os; print(open(f'/proc/{os.getppid()}/stat').read().split()[21])"
    virtual, real = (
        int(sandglass("exec", *words, "python3", "-c", begun).stdout)
        for words in ([], ["--real-time"])
    )
    assert virtual < 100  # hundredths of a second
    assert real >= 1100


def test_ipv6_and_translated_addresses_are_there(sandglass: Cli) -> None:
    script = (
        "from mininet.net import Mininet\nfrom mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(topo=SingleSwitchTopo(k=2))\n"
        "nat = net.addNAT(); nat.configDefault()\nnet.start()\n"
        "h1, h2 = net.get('h1', 'h2')\n"
        "h1.cmd('ip -6 addr add fd00::1/64 dev h1-eth0 nodad')\n"
        "h2.cmd('ip -6 addr add fd00::2/64 dev h2-eth0 nodad')\n"
        "print(h1.cmd('ping -6 -c 1 fd00::2'))\n"
        "print(nat.cmd('iptables -t nat -S POSTROUTING'))\n"
        "nat.cmd('ip addr add 192.0.2.1/32 dev lo; nc -l 80 &')\n"
        "print(h1.cmd('ping -c 1 192.0.2.1'))\n"
        "net.stop()\n"
    )
    done = sandglass("exec", "python3", "-c", script)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("1 packets transmitted, 1 received, 0% packet loss") == 2, done.stdout
    assert "-A POSTROUTING -s 10.0.0.0/8 ! -d 10.0.0.0/8 -j MASQUERADE" in done.stdout


@pytest.mark.parametrize("monitor", ["ps aux", "vmstat", "free", "uptime"])
def test_a_monitor_of_the_machine(sandglass: Cli, monitor: str) -> None:
    """procps reads all of /proc, and takes for an error what it misses there."""
    done = sandglass("exec", *monitor.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nable to" not in done.stdout + done.stderr


def test_an_ssh_server_can_start(sandglass: Cli) -> None:
    done = sandglass("exec", "/usr/sbin/sshd", "-t")
    assert done.returncode == 0, done.stdout + done.stderr
