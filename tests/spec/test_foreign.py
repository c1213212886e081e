"""Strangers' Python files are asked in a cage: they read no home and write nowhere."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.cage import cage
from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import foreign, topology, workload

LAYERS = [layer for layer in cage.LAYERS if cage.holds(layer) and cage.there(layer)]
PRELUDE = """
import os, socket, subprocess

def tried(what):
    try:
        return f"REACHED {what()!r}"
    except OSError as error:
        return f"refused {error.errno}"

ATTEMPTS = {
    "secret": lambda: open(SECRET).read(),
    "folder": lambda: os.listdir(os.path.dirname(SECRET)),
    "write": lambda: open(SECRET + "-2", "w"),
    "beside": lambda: open(__file__ + "-2", "w"),
    "itself": lambda: open(__file__, "a"),
    "home": lambda: os.listdir(os.path.expanduser("~root")),
    "passwd": lambda: open("/etc/shadow").read(),
    "program": lambda: subprocess.run(["/bin/ls"], check=True),
    "socket": lambda: socket.socket(),
    "signal": lambda: os.kill(PARENT, 0),
}
SAID = " ".join(f"{name}: {tried(attempt)};" for name, attempt in ATTEMPTS.items())
"""
TOPOLOGY = """
from mininet.topo import Topo

class Told(Topo):
    def build(self, pairs: int = 1, end: bool = False, loop: bool = False):
        print("said among answers")
        if end:
            os._exit(0)
        while loop:
            pass
        raise ValueError(SAID)

topos = {"told": Told}
"""
WORKLOAD = """
TCP = True

def run(flow, testbed):
    return {}

def problems(options, lasts_ns):
    yield "", SAID
"""


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What the cage is made of."""
    monkeypatch.setenv(cage.CHOICE, request.param)
    cage.layer.cache_clear()
    yield str(request.param)
    cage.layer.cache_clear()


@pytest.fixture
def prelude(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What both kinds of file begin with; there is a secret elsewhere."""
    secret = tmp_path_factory.mktemp("beside") / "secret"
    secret.write_text("the user's")
    return f"SECRET, PARENT = {str(secret)!r}, {os.getpid()}\n{PRELUDE}"


@pytest.mark.usefixtures("layer")
def test_neither_kind_reaches_anything(tmp_path: Path, prelude: str) -> None:
    file = tmp_path / "told.py"
    file.write_text(prelude + TOPOLOGY)
    assert topology.load(str(file)).parameters["pairs"].default == 1
    with pytest.raises(UsageError) as failure:
        topology.facts(str(file), {})
    assert failure.value.message.count("refused") == 10
    assert "REACHED" not in failure.value.message
    file.write_text(prelude + WORKLOAD)
    found = workload.Workload("told", file, foreign.ask("workload", file))
    assert found.tcp
    [(_, said)] = found.problems({}, 1)
    assert said.count("refused") == 10
    assert "REACHED" not in said
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_file_that_ends_its_reader_or_loops_is_named(
    tmp_path: Path, prelude: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "told.py"
    file.write_text(prelude + TOPOLOGY)
    with pytest.raises(SandglassError, match=r"told\.py ends the program that reads it"):
        topology.facts(str(file), {"end": True})
    monkeypatch.setattr(foreign, "PATIENCE_S", 3.0)
    with pytest.raises(SandglassError, match=r"told\.py has not answered for 3 s"):
        topology.facts(str(file), {"loop": True})
    with pytest.raises(UsageError, match="refused"):
        topology.facts(str(file), {})
