"""What a terminal gets: nothing that acts on it, commands that work where one is, whole numbers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandglass import terminal
from sandglass.install import builds
from sandglass.results.export.whole import whole_file
from tests.cli.conftest import Cli
from tests.cli.test_show import RUN

FULL = Path("/dev/full")
EVIL = "\x1b[2J\x1b]0;mine\x07[/b][red]:smile: 5 [ms] \u202eabc"


def test_what_would_act_is_shown() -> None:
    assert terminal.harmless("\x1b[2J\x9b\x07\r\u202e\ud800") == r"\x1b[2J\x9b\x07\r\u202e\ud800"
    assert terminal.harmless("two\r\nlines\tähm ─ 5 µs") == "two\nlines\tähm ─ 5 µs"


def test_titles_and_warnings_of_a_run_are_told_as_they_are(sandglass: Cli, tmp_path: Path) -> None:
    flow = RUN["flows"][0] | {EVIL: EVIL, "cc": EVIL}  # type: ignore[index]
    content = RUN | {"title": EVIL, "warnings": [EVIL], "flows": [flow]}
    (tmp_path / "run.json").write_text(json.dumps(content))
    done = sandglass("show", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\x1b[2J\x1b]0;mine\x07[/b][red]:smile: 5 [ms] \u202eabc" in done.stdout
    assert "\x1b" not in done.stdout


def test_what_a_file_is_called_is_harmless_in_a_message(sandglass: Cli) -> None:
    done = sandglass("run", "\x1b[31mred.yaml")
    assert done.returncode == 2
    assert r"\x1b[31mred.yaml: no such file" in done.stderr


def test_what_a_file_says_is_harmless_where_it_is_listed(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "experiments").mkdir(parents=True)
    (tmp_path / "theirs" / "experiments" / "one.yaml").write_text("# An \x1b[31mexperiment.\n")
    assert r"An \x1b[31mexperiment" in sandglass("list", "theirs").stdout


def test_a_narrow_terminal_cuts_no_digit(sandglass: Cli, tmp_path: Path) -> None:
    os.environ["COLUMNS"] = "40"
    try:
        (tmp_path / "run.json").write_text(json.dumps(RUN))
        told = sandglass("show", str(tmp_path)).stdout
    finally:
        del os.environ["COLUMNS"]
    assert "…" not in told
    for whole in ("18.765", "148000", "98.7", "55.25", "d1" * 32):
        assert whole in told


def test_commands_are_as_one_types_them_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(builds.ROOT)
    assert terminal.from_here("do: ./sandglass check a") == "do: ./sandglass check a"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert terminal.from_here("do: ./sandglass list") == f"do: {builds.ROOT}/sandglass list"
    monkeypatch.setenv("PATH", f"/usr/bin:{builds.ROOT}")
    assert terminal.from_here("do: ./sandglass list") == "do: sandglass list"
    assert terminal.shown(tmp_path / "a b.yaml") == "'a b.yaml'"
    assert terminal.shown(Path("/elsewhere/e.yaml")) == "/elsewhere/e.yaml"


def test_a_command_to_go_on_with_works_as_it_stands(sandglass: Cli, tmp_path: Path) -> None:
    """From a directory that is not the checkout, of a file whose name has a space."""
    done = sandglass("list", "examples", "codel")
    told = next(line for line in done.stdout.splitlines() if line.startswith("look at it: "))
    program, command, path = told.removeprefix("look at it: ").split()
    assert (command, Path(path)) == ("check", builds.ROOT / "examples" / "codel.yaml")
    assert shutil.which(program)


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with whole_file(tmp_path / "a"), FULL.open("wb", buffering=0) as full:
            full.write(b"1")

    with pytest.raises(OSError, match="No space") as failure:
        fill()
    assert failure.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=-1) as reader:
        with whole_file(tmp_path / "pipe") as file:
            file.write(b"through")
        assert reader.communicate()[0] == b"through"
    assert (tmp_path / "pipe").is_fifo()


def test_output_that_cannot_be_written_is_a_failure() -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "sandglass", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("sandglass: a disk is full")
    assert "Exception" not in done.stderr


@pytest.mark.lab
def test_an_interrupted_run_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    codel = builds.ROOT / "examples" / "codel.yaml"
    long = ["--set", "duration=2h", "--set", "flows.0.duration=2h", "--record", "none"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "sandglass", "run", codel, *long, "--out", out],
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not list(tmp_path.glob(".run.partial-*/console.log")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said == "sandglass: interrupted: nothing of this run is kept\n"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_it_starts_is_no_traceback() -> None:
    """Python's own start has one all the same, of which only the package's first lines are ours."""
    interrupted = (
        "import os, signal, sys, runpy\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'sandglass.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "runpy.run_module('sandglass', run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", interrupted],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
