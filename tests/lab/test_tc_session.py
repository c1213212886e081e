"""tc as a process that renews queues between repetitions. No lab: a tc of ours stands in."""

from pathlib import Path

import pytest

from sandglass.agent.failure import RunError
from sandglass.agent.tc import Tc

pytestmark = pytest.mark.usefixtures("terminals")
# What RED says of a burst too short, several times what a pipe holds.
WARNS = """#!/bin/sh
yes 'RED: WARNING. Burst 20 seems to be too large.' | head -c 200000 >&2
cat >done
"""
REFUSES = """#!/bin/sh
read -r line
echo "Error: $line" >&2
exit 1
"""
ERRS = """#!/bin/sh
read -r line
echo "Error: $line" >&2
"""


def tc(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tc:
    """A session with this script as tc."""
    program = folder / "tc"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.chdir(folder)
    return Tc(None)


def test_warnings_do_not_hold_it_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = tc(WARNS, tmp_path, monkeypatch)
    session.write(["qdisc del", "qdisc add"])
    session.check()
    assert session.process.stdin
    session.process.stdin.close()
    assert session.process.wait(timeout=60) == 0
    assert (tmp_path / "done").read_text() == "qdisc del\nqdisc add\n"


def test_a_refusal_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tc(REFUSES, tmp_path, monkeypatch)
    session.write(["qdisc add red"])
    session.process.wait()
    with pytest.raises(RunError, match=r"^tc refused: Error: qdisc add red"):
        session.check()


def test_an_error_counts_whatever_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tc(ERRS, tmp_path, monkeypatch)
    session.write(["qdisc add red"])
    with pytest.raises(RunError, match=r"^tc refused: Error: qdisc add red"):
        session.close()
