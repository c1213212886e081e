"""Mininet's prompt in the lab, in real time, as somebody types at it."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import command

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("terminals")]
PROMPT = "mininet> "
PATIENCE_S = 120
PIECE = 1 << 16


class Typist:
    """Types at a command's terminal, and reads what it shows."""

    def __init__(self, words: list[str], home: Path) -> None:
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command(builds.ROOT, *words),
            cwd=home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def shown(self, until: str) -> str:
        """What is shown up to the first `until`."""
        text, start = "", time.monotonic()
        while until not in text:
            assert time.monotonic() - start < PATIENCE_S, text
            if select.select([self.terminal], [], [], 1)[0]:
                text += os.read(self.terminal, PIECE).decode()
        return text

    def type(self, line: str) -> str:
        """Type a line; returns what is shown up to the next prompt."""
        os.write(self.terminal, f"{line}\n".encode())
        return self.shown(PROMPT)


@pytest.fixture
def prompt(tmp_path: Path) -> Iterator[Typist]:
    typist = Typist(["mn", "--real-time", "--topo", "single,2"], tmp_path)
    try:
        typist.shown(PROMPT)
        yield typist
    finally:
        if typist.process.poll() is None:
            os.killpg(typist.process.pid, signal.SIGKILL)
        typist.process.wait()
        os.close(typist.terminal)


def test_what_is_typed_is_done(prompt: Typist) -> None:
    assert "0% dropped (2/2 received)" in prompt.type("pingall")
    assert "bits/sec" in prompt.type("iperf")
    prompt.type("link s1 h1 down")
    assert "100% dropped" in prompt.type("pingall 1")
    prompt.type("link s1 h1 up")
    assert "0% dropped (2/2 received)" in prompt.type("pingall")
    assert "Cannot connect to display" in prompt.type("xterm h1")
    os.write(prompt.terminal, b"exit\n")
    prompt.shown("*** Done")
    assert prompt.process.wait(PATIENCE_S) == 0


def test_ctrl_c_ends_what_runs_and_leaves_the_prompt(prompt: Typist) -> None:
    os.write(prompt.terminal, b"h1 ping h2\n")
    prompt.shown("icmp_seq=2")
    os.write(prompt.terminal, b"\x03")
    assert "packet loss" in prompt.shown(PROMPT)
    assert "0% dropped" in prompt.type("pingall")
