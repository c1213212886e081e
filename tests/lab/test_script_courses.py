"""Scripts of the kinds that courses hand out and students hand in, as they write them."""

import re
import shutil
from pathlib import Path

import pytest

from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
COURSES = Path(__file__).parent / "courses"


@pytest.fixture
def said(sandglass: Cli, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """What a script of courses/ says, which has to end well."""
    name, *words = request.param.split()
    shutil.copy(COURSES / f"{name}.txt", tmp_path / f"{name}.py")
    done = sandglass("exec", f"{name}.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.parametrize(
    "said", ["bufferbloat --bw-net 1.5 --delay 5 --dir out --time 20"], indirect=True
)
def test_a_long_flow_delays_a_page_and_pings(said: str, tmp_path: Path) -> None:
    """popen with a shell, a monitor in a process of its own, Python's web server."""
    fetched = re.search(r"fetched (\d+) pages", said)
    assert fetched
    assert int(fetched[1]) >= 2
    pings = re.findall(r"time=([\d.]+) ms", (tmp_path / "out/ping.txt").read_text())
    assert max(map(float, pings)) > 700  # 100 packets at 1.5 Mb/s are 800 ms, larger ones more
    queue = [int(line.split(",")[1]) for line in (tmp_path / "out/qlen.txt").open()]
    assert 50 < max(queue) <= 101


@pytest.mark.thorough
@pytest.mark.parametrize("said", ["qos"], indirect=True)
def test_classes_links_and_rules_do_what_they_say(said: str) -> None:
    assert 1.7 < float(re.findall(r"^low ([\d.]+)", said, re.M)[0]) < 2.1
    assert 5.3 < float(re.findall(r"^high ([\d.]+)", said, re.M)[0]) < 6.1
    assert "waited: done" in said
    assert len(re.findall(r"^ss \['cwnd:\d+'\]", said, re.M)) == 3
    assert re.findall(r"^(down|up|dropped) ([\d.]+)", said, re.M) == [
        ("down", "66.66666666666667"),
        ("up", "0.0"),
        ("dropped", "100.0"),
    ]
    assert re.search(r"Results: \['9\.\d+ Mbits/sec', '9\.\d+ Mbits/sec'\]", said)


@pytest.mark.thorough
@pytest.mark.parametrize("said", ["routers"], indirect=True)
def test_routers_translation_vlans_and_commands_from_a_file(said: str, tmp_path: Path) -> None:
    assert 44 < float(re.findall(r"^lost ([\d.]+)", said, re.M)[0]) < 58  # 1 - 0.7 * 0.7
    assert re.search(r"^vlan .*\n.*icmp_seq=1", said, re.M)
    assert re.search(r"^translated [12]", said, re.M)
    assert (tmp_path / "nat.pcap").stat().st_size > 300
    assert re.search(r"^filtered (?:.*\n)+?.*100% packet loss", said, re.M)
    assert "from the file\n42\n" in said
    assert "available nodes are: \nh1 h2 r0 s1 s2" in said


@pytest.mark.thorough
@pytest.mark.parametrize("said", ["remote"], indirect=True)
def test_a_controller_beside_the_network_and_rules_by_hand(said: str) -> None:
    assert said.count(": 1/1, rtt min/avg/max/mdev") == 12
    assert "ours 0.0 100.0" in said
    assert "udp ['5M', '5.25 Mbits/sec', '5.25 Mbits/sec']" in said
    assert re.search(r"^nat .*\n.*icmp_seq=1", said, re.M)
