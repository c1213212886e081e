"""What a newcomer with a Mininet script is told, and what of the shell's habits works."""

import re
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import Cli, command

pytestmark = pytest.mark.lab
RING = """
from mininet.topo import Topo
from mininet.net import Mininet
from mininet.node import OVSBridge

class Ring(Topo):
    def build(self):
        s = [self.addSwitch('s%d' % n) for n in (1, 2, 3)]
        for n in range(3):
            self.addLink(self.addHost('h%d' % (n + 1)), s[n])
            self.addLink(s[n], s[(n + 1) % 3])

net = Mininet(topo=Ring(), switch=OVSBridge, controller=None)
net.start()
net.pingAll()
"""
PROMPT = """
from mininet.cli import CLI
from mininet.net import Mininet
from mininet.topo import MinimalTopo
net = Mininet(topo=MinimalTopo())
net.start()
CLI(net)
net.stop()
"""
AS_A_MACHINE = """
echo "shell $SHELL"
tcpdump -i lo -c 1 -w seen.pcap & sleep 1; ping -c 1 127.0.0.1 >/dev/null; wait $!; echo "status $?"
arptables --version
readlink /var/run
"""


def piped(home: Path, typed: bytes, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with something in its standard input."""
    done = subprocess.run(
        command(builds.ROOT, *words), cwd=home, input=typed, capture_output=True, check=False
    )
    said = (done.stdout.decode(), done.stderr.decode())
    return subprocess.CompletedProcess(words, done.returncode, *said)


def test_commands_of_a_pipe_are_the_prompts_whatever_runs(tmp_path: Path) -> None:
    """And its end ends the prompt."""
    commands = b"h1 ping -c 2 h2\nh2 ping -c 1 h1\nh1 ping -c 300 h2\n"
    done = piped(tmp_path, commands, "mn", "--topo", "single,2")
    assert done.returncode == 0
    assert re.findall(r"(\d+) packets transmitted, (\d+) received", done.stdout) == [
        ("2", "2"),
        ("1", "1"),
        ("300", "300"),
    ]
    assert "not found" not in done.stdout
    assert done.stderr == ""


def test_commands_of_a_file_are_done_when_all_else_is(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "after").write_text("h1 ping -c 100 h2\nh2 echo over\n")
    done = sandglass("mn", "--post", "after", "--test", "none")
    assert "100 packets transmitted, 100 received" in done.stdout
    assert "\nover\n" in done.stdout


@pytest.mark.parametrize("size", [0, 1_000_000])
def test_any_input_arrives_whole(tmp_path: Path, size: int) -> None:
    code = "import sys; data = sys.stdin.buffer.read(); print(len(data), data.count(b'\\xff'))"
    done = piped(tmp_path, b"\xff" * size, "exec", "python3", "-c", code)
    assert done.stdout == f"{size} {size}\n"


def test_a_switch_that_is_to_speak_a_later_openflow_finds_its_controller(sandglass: Cli) -> None:
    done = sandglass("mn", "--switch", "ovsk,protocols=OpenFlow13", "--test", "pingall")
    assert "*** Results: 0% dropped (2/2 received)" in done.stdout


def test_users_and_names_are_those_of_a_machine(sandglass: Cli, tmp_path: Path) -> None:
    done = sandglass("exec", "sh", "-c", AS_A_MACHINE)
    assert "shell /bin/bash\n" in done.stdout
    assert "status 0\n" in done.stdout
    assert "arptables" in done.stdout
    assert done.stdout.endswith("/run\n")
    assert (tmp_path / "seen.pcap").stat().st_size > 100


@pytest.mark.thorough
def test_a_ring_of_switches_is_told(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING)
    done = sandglass("exec", "ring.py", SANDGLASS_WATCHDOG="20")
    assert done.returncode == 1
    assert "These links form a ring of switches: s1-eth2 - s2-eth1, " in done.stderr
    assert "stp=1" in done.stderr


def test_a_prompt_without_anything_to_read_is_told_how_to_have_it(
    sandglass: Cli, tmp_path: Path
) -> None:
    (tmp_path / "network.py").write_text(PROMPT)
    done = sandglass("exec", "network.py")
    assert done.returncode == 0
    assert "--real-time" in done.stderr


@pytest.mark.parametrize("line", ["print 'hello'", "import urllib2"])
def test_python_2_is_told(sandglass: Cli, tmp_path: Path, line: str) -> None:
    (tmp_path / "old.py").write_text(f"{line}\n")
    done = sandglass("exec", "old.py")
    assert done.returncode == 1
    assert "this is Python 2" in done.stderr
    assert "2to3" in done.stderr


def test_a_program_of_the_directory_needs_no_path(sandglass: Cli, tmp_path: Path) -> None:
    """Unless the lab has one of that name."""
    for name in ("run.sh", "true"):
        (tmp_path / name).write_text("#!/bin/sh\necho own\n")
        (tmp_path / name).chmod(0o755)
    assert sandglass("exec", "run.sh").stdout == "own\n"
    assert sandglass("exec", "true").stdout == ""
