"""What a program in the lab leaves of the host's, and what of it is refused before it runs."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.lab.conftest import Cli, command

pytestmark = pytest.mark.lab
INTERRUPTED = 130
UP_WITHIN_S = 120
ENDED_WITHIN_S = 10

WRITER = """
import os, pathlib, sys
print(sys.argv[1:])
home = os.path.expanduser("~/sandglass-new")
for place in (home, "/tmp/sandglass-new", "sub dir/a b", "away/new", "../new"):
    try:
        pathlib.Path(place).write_text("x")
        print(place)
    except OSError as error:
        print(place, error.strerror)
os.unlink("gone.txt")
"""


def test_only_what_lies_below_the_working_directory_changes(
    sandglass: Cli, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away")
    (away / "kept").write_text("kept")
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "gone.txt").touch()
    (tmp_path / "away").symlink_to(away)
    (tmp_path / "a writer.py").write_text(WRITER)
    words = ["two words", "it's", '"', "$HOME", ""]
    done = sandglass("exec", "a writer.py", *words)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == [
        repr(words), "/root/sandglass-new", "/tmp/sandglass-new", "sub dir/a b",
        "away/new No such file or directory", "../new",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a writer.py", "away", "sub dir"]
    assert (tmp_path / "sub dir/a b").read_text() == "x"
    assert not (tmp_path.parent / "new").exists()
    assert [path.name for path in away.iterdir()] == ["kept"]
    for place in (Path.home(), Path("/tmp")):
        assert not (place / "sandglass-new").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("./none", "no file ./none"),
        ("./folder", "./folder is no program"),
        (".", ". is no program"),
        ("", "'' is no program"),
        ("./plain.sh", "./plain.sh is not executable"),
        ("./away.py", "./away.py is not below the working directory"),
    ],
)
def test_what_cannot_run_is_refused(sandglass: Cli, tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n")
    (tmp_path / "away.py").symlink_to(builds.ROOT / "examples/mininet/two_hosts.py")
    done = sandglass("exec", name)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"sandglass: {says}"


def test_a_script_that_cannot_be_read_says_where(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("print(\n")
    done = sandglass("exec", "broken.py")
    assert done.returncode == 1
    assert 'broken.py", line 1' in done.stdout
    assert "SyntaxError: '(' was never closed" in done.stdout


def test_an_interpreter_that_the_lab_lacks_is_told(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/usr/bin/none\n")
    (tmp_path / "script").chmod(0o755)
    done = sandglass("exec", "./script")
    assert done.returncode == 127
    assert done.stdout == "./script: the lab does not have what its first line names\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sh", ["sh", "-c", "while :; do :; done"]),
        ("python3", ["sh", "-c", "python3 -c 'while True: pass' & wait"]),
        (
            "python3",
            [
                "python3",
                "-c",
                "import threading\ndef loop():\n    while True: pass\n"
                "threading.Thread(target=loop).start()",
            ],
        ),
    ],
    ids=["of a shell", "of a child", "of a thread"],
)
def test_a_busy_loop_is_told_wherever_it_is(sandglass: Cli, name: str, words: list[str]) -> None:
    done = sandglass("exec", *words, SANDGLASS_WATCHDOG="10")
    assert done.returncode == 1
    assert f"The program {name} may wait in a busy loop" in done.stderr


def labs(mark: str) -> list[str]:
    """The processes of labs that have this on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            if path.read_text(errors="replace").replace("\0", " ").startswith(f"linux {mark} "):
                found.append(path.parent.name)
    return found


@pytest.mark.thorough
def test_ctrl_c_ends_all(tmp_path: Path) -> None:
    memory = "mem=777M"  # of no other lab
    words = ["exec", "--memory", "777", "--real-time", "sh", "-c", "sleep 1000 & touch up; wait"]
    with subprocess.Popen(
        command(builds.ROOT, *words),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        try:
            start = time.monotonic()
            while not (tmp_path / "up").exists():
                assert time.monotonic() - start < UP_WITHIN_S
                time.sleep(0.1)
            assert labs(memory)
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate()
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED
    assert said == ""
    start = time.monotonic()
    while left := labs(memory):
        assert time.monotonic() - start < ENDED_WITHIN_S, left
        time.sleep(0.1)
