"""Nothing that runs in a lab reaches the host: tried as the guest's root, and from its kernel."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.cage import cage
from sandglass.install import setup_lab
from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
SEALED = Path(__file__).with_name("sealed")
LEAST = 40
"""So many attempts there are at least, besides those of the module."""
LAYERS = [layer for layer in cage.LAYERS if cage.holds(layer) and cage.there(layer)]


@pytest.fixture
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the host's that no lab is given."""
    path = tmp_path_factory.mktemp("beside") / "secret"
    path.write_text("the host's")
    return path


@pytest.fixture
def _module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module that tries system calls of the host's is built."""
    monkeypatch.setenv("SANDGLASS_KMODS", str(SEALED / "kmods"))
    setup_lab.lab()


def tried(sandglass: Cli, here: Path, secret: Path) -> None:
    """Try everything: no attempt may reach anything, nor change it."""
    shutil.copy(SEALED / "attempts.py", here)
    name = f"sandglass-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as by_port,
        socket.socket(socket.AF_UNIX) as by_file,
        socket.socket(socket.AF_UNIX) as by_name,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander,
    ):
        at_hand = os.path.relpath(here / "socket")  # a socket's path is short
        for listener, address in ((by_file, at_hand), (by_name, f"\0{name}")):
            listener.bind(address)
            listener.listen()
        told = {
            "secret": str(secret),
            "pid": bystander.pid,
            "port": by_port.getsockname()[1],
            "name": name,
        }
        (here / "attempts.json").write_text(json.dumps(told))
        before = secret.stat(), sorted(secret.parent.iterdir())
        done = sandglass("exec", "attempts.py")
        bystander.communicate(b"\n")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if "REACHED" in line] == []
    of_module = [line for line in lines if line.startswith("module: ")]
    assert len(of_module) >= 30
    assert len(lines) - len(of_module) >= LEAST
    assert (secret.stat(), sorted(secret.parent.iterdir())) == before
    assert secret.read_text() == "the host's"
    for path in here.rglob("*"):
        assert not path.lstat().st_mode & 0o6000
        assert not path.is_block_device()
        assert not path.is_char_device()


@pytest.mark.usefixtures("_module")
@pytest.mark.parametrize("layer", LAYERS)
def test_no_attempt_reaches_the_host(
    sandglass: Cli, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    monkeypatch.setenv("SANDGLASS_SANDBOX", layer)
    tried(sandglass, tmp_path, secret)


@pytest.mark.newer
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.usefixtures("newer_kernel", "_module")
def test_nor_on_the_newer_kernel(
    sandglass: Cli, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    monkeypatch.setenv("SANDGLASS_SANDBOX", layer)
    tried(sandglass, tmp_path, secret)
