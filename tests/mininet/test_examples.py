"""Mininet's own examples, by the tests that come with them, unmodified, each twice.

    ./sandglass test tests/mininet

Half an hour. docs/mininet.md has a table of them.
"""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import command

pytestmark = pytest.mark.lab
TESTS = "/usr/share/doc/mininet/examples/test"
ROW = re.compile(r"^\| `(\w+)` \| (passes|cannot|not tried)\b", re.MULTILINE)
TABLE = dict(ROW.findall((builds.ROOT / "docs/mininet.md").read_text()))


def said(words: list[str], home: Path, typed: str) -> str:
    """What a command in a new directory says in the lab; it has to end well.

    Beside it Sandglass may say that a busy machine is slow.
    """
    home.mkdir()
    done = subprocess.run(
        command(builds.ROOT, *words),
        cwd=home,
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_table_names_all_that_there_are() -> None:
    there = (builds.lab_kernel().root / TESTS[1:]).glob("test_*.py")
    assert sorted(TABLE) == sorted(path.stem.removeprefix("test_") for path in there)


def twice(words: list[str], home: Path, typed: str = "") -> str:
    """What a command says, which is the same in two labs at the same time."""
    with ThreadPoolExecutor() as both:
        first, second = both.map(lambda name: said(words, home / name, typed), ("one", "two"))
    assert first == second
    return first


@pytest.mark.parametrize("name", [name for name, how in TABLE.items() if how == "passes"])
def test_an_example_passes_and_says_the_same_twice(name: str, tmp_path: Path) -> None:
    told = twice(["exec", "python3", f"{TESTS}/test_{name}.py", "-v"], tmp_path)
    assert re.search(r"^OK$", told, re.MULTILINE), told  # and skips nothing


@pytest.mark.parametrize("topology", ["single", "linear,8", "tree,3", "minimal"])
@pytest.mark.parametrize("switch", ["ovs", "ovsbr", "lxbr"])
def test_all_hosts_reach_each_other(topology: str, switch: str, tmp_path: Path) -> None:
    words = ["mn", "--topo", topology, "--switch", switch, "--test", "pingall"]
    assert "*** Results: 0% dropped" in twice(words, tmp_path)


@pytest.mark.parametrize("switch", ["ovs,failMode=standalone", "ovsbr", "lxbr"])
def test_all_hosts_of_a_torus_do(switch: str, tmp_path: Path) -> None:
    """It has loops: a spanning tree has to be found first."""
    words = ["mn", "--topo", "torus,3,3", "--switch", f"{switch},stp=1", "--controller", "none"]
    told = twice(words, tmp_path, "py time.sleep(60)\npingall\n")
    assert "*** Results: 0% dropped (72/72 received)" in told
