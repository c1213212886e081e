"""How a work of many steps is shown: by small Snakefiles, without a lab."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from sandglass.install import builds
from sandglass.terminal import INTERRUPTED
from sandglass.workflow import snakemake
from sandglass.workflow.display import clock, parts
from sandglass.workflow.events import Event, Reader, What, tell
from sandglass.workflow.state import State
from tests.terminal import at_a_terminal

WORK = """
import sys
from pathlib import Path
from sandglass.terminal import guarded
from sandglass.workflow.snakemake import Work, snakemake
work = Work("a study", [], Path.cwd(), Path("logs/snakemake.log"), 2, 1000, {parts})
guarded(lambda: sys.exit(snakemake(work)))
"""
THREE_RUNS = """
rule all:
    input: expand("out/{n}", n=range(3)), "table"
rule run:
    output: "out/{n}"
    log: "logs/{n}.log"
    message: "Run number {wildcards.n}"
    shell: "(COMMAND) >{log} 2>&1"
rule table:
    input: expand("out/{n}", n=range(3))
    output: "table"
    shell: "cat {input} > {output}"
"""


def prepared(folder: Path, command: str) -> list[str]:
    """The command that does three runs and a table in `folder`."""
    (folder / "Snakefile").write_text(THREE_RUNS.replace("COMMAND", command))
    return [sys.executable, "-c", WORK.format(parts={})]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(builds.ROOT / "src")}


def do(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Without a terminal."""
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


def test_plain_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    done = do(tmp_path, prepared(tmp_path, "echo {wildcards.n} | tee {output}"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    first, *between, last = done.stderr.splitlines()
    assert first.startswith("a study: ")
    assert "of 3 runs" in first
    assert all(line.startswith("a study: ") for line in between)  # one now and then
    assert last == "a study: 5 of 5 done"
    assert "Run number 2" in (tmp_path / "logs/snakemake.log").read_text()
    assert (tmp_path / "table").read_text() == "0\n1\n2\n"


def test_nothing_to_do_says_nothing(tmp_path: Path) -> None:
    command = prepared(tmp_path, "touch {output}")
    do(tmp_path, command)
    again = do(tmp_path, command)
    assert (again.returncode, again.stderr) == (0, "")


def test_a_failure_shows_its_name_its_last_words_and_its_log(tmp_path: Path) -> None:
    command = "test {wildcards.n} != 1 || {{ echo no memory; exit 3; }}; touch {output}"
    done = do(tmp_path, prepared(tmp_path, command))
    assert done.returncode == 1
    assert "failed: Run number 1\n    no memory\n  see logs/1.log\n" in done.stderr
    assert "1 failed, 2 of 5 are done" in done.stderr
    assert str(tmp_path / "logs/snakemake.log") in done.stderr
    assert (tmp_path / "out/2").exists()
    assert not (tmp_path / "table").exists()


def test_what_snakemake_cannot_do_is_said(tmp_path: Path) -> None:
    command = prepared(tmp_path, "true")
    (tmp_path / "Snakefile").write_text('rule all:\n    input: "nowhere"\n')
    done = do(tmp_path, command)
    assert done.returncode == 1
    assert "Snakemake could not do it" in done.stderr
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_at_once_in_a_folder_are_refused(tmp_path: Path) -> None:
    command = prepared(tmp_path, "until test -e go; do sleep 0.05; done; touch {output}")
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=-1) as first:
        while not list(tmp_path.glob("logs/[012].log")):  # two of them wait for `go`
            assert first.poll() is None, first.communicate()
            time.sleep(0.05)
        second = do(tmp_path, command)
        (tmp_path / "go").touch()
        _, said = first.communicate()
        assert first.returncode == 0, (
            f"{said.decode()}\n{(tmp_path / 'logs/snakemake.log').read_text()}"
        )
    assert second.returncode == 1
    assert "another one is at work" in second.stderr


@pytest.mark.usefixtures("terminals")
def test_one_live_display_at_a_terminal(tmp_path: Path) -> None:
    command = prepared(tmp_path, "test {wildcards.n} != 1 && touch {output}")
    status, seen = at_a_terminal(tmp_path, command, environment(), "", b"")
    assert status == 1
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert "failed: Run number 1" in plain
    assert re.search(r"a study .*2 of 3 runs, 0 of 2 other steps, 1 failed", plain)


@pytest.mark.usefixtures("terminals")
def test_an_interrupt_ends_in_good_order(tmp_path: Path) -> None:
    command = prepared(tmp_path, "test -e go || sleep 1000; touch {output}")
    status, seen = at_a_terminal(tmp_path, command, environment(), "Run number", b"\x03")
    assert status == INTERRUPTED
    assert "sandglass: interrupted" in seen
    (tmp_path / "go").touch()
    assert do(tmp_path, command).returncode == 0


class Interrupted:
    """A display during which somebody presses Ctrl-C, and a reader that tells of killed jobs."""

    def __init__(self) -> None:
        self.shown = 0

    def show(self) -> None:
        self.shown += 1
        if self.shown == 2:
            raise KeyboardInterrupt

    def new(self) -> Iterator[Event]:
        if self.shown > 1:
            yield Event(What.FAILED, "1", "a run", "run", logs=["run.log"])


def test_an_interrupt_that_gets_lost_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python loses one in a destructor. And what is ended by it is no failure."""
    monkeypatch.setattr(snakemake, "AGAIN_S", 0.2)
    deaf = "trap 'trap - INT' INT; echo ready; while :; do sleep 0.1; done"
    state, both = State({}), Interrupted()
    with subprocess.Popen(["bash", "-c", deaf], stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout
        process.stdout.readline()
        assert snakemake._watch(process, state, cast(Reader, both), both) == INTERRUPTED
    assert process.returncode == -signal.SIGINT
    assert state.failures == []


def test_the_last_words_of_a_failure_are_harmless(tmp_path: Path) -> None:
    command = r"printf 'no \\033[2J memory\n'; exit 3; touch {output}"
    done = do(tmp_path, prepared(tmp_path, command))
    assert r"no \x1b[2J memory" in done.stderr
    assert "\x1b" not in done.stderr


NAMED = "test -e go || {{ echo $BASHPID > pid.{wildcards.n}; exec sleep 1000; }}; touch {output}"
WAITS = "echo $$ > pid.{wildcards.n}; while ! test -e go; do sleep 0.1; done; touch {output}"


def jobs(folder: Path) -> list[int]:
    """The processes of the two jobs that wait, once there are both."""
    for _ in range(600):
        found = [path.read_text().strip() for path in folder.glob("pid.*")]
        if len(found) == 2 and all(found):
            return [int(text) for text in found]
        time.sleep(0.1)
    raise TimeoutError


def states(processes: list[int]) -> set[str]:
    """What /proc says of them: R, S, D, T where they are stopped; - where they have ended."""
    found = set()
    for number in processes:
        try:
            found.add(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0])
        except FileNotFoundError:
            found.add("-")
    return found


def until(processes: list[int], wanted: set[str]) -> bool:
    for _ in range(100):
        if states(processes) <= wanted:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_ends_it_alone_ends_its_jobs(tmp_path: Path, number: signal.Signals) -> None:
    """As kill and timeout do, where Ctrl-C is for all that a terminal has."""
    # Tests that nohup has started hand down that a closed terminal is ignored.
    command = ["env", "--default-signal=HUP", *prepared(tmp_path, NAMED)]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        running = jobs(tmp_path)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "sandglass: interrupted" in said
    assert until(running, {"-"})
    (tmp_path / "go").touch()
    assert do(tmp_path, command).returncode == 0


def test_suspended_it_suspends_its_jobs(tmp_path: Path) -> None:
    command = prepared(tmp_path, WAITS)
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL
    ) as process:
        running = jobs(tmp_path)
        process.send_signal(signal.SIGTSTP)
        assert until([*running, process.pid], {"T"})
        process.send_signal(signal.SIGCONT)
        assert until([*running, process.pid], {"R", "S", "D"})
        (tmp_path / "go").touch()
        assert process.wait(60) == 0


def test_parts_count_instead_of_the_job_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_EVENTS", str(tmp_path / "events"))
    (tmp_path / "events").touch()
    tell(Event(What.PLANNED, jobs={"batch": 2, "table": 1}))
    tell(Event(What.BEGAN, "1", "Runs 1 to 10", "batch"))
    tell(Event(What.BEGAN, "a", "rtt=20ms", "run", "batch"))
    tell(Event(What.BEGAN, "b", "rtt=40ms", "run", "batch"))
    tell(Event(What.ENDED, "a", job="batch"))
    tell(Event(What.FAILED, "b", job="batch", logs=["b.log"]))
    tell(Event(What.FAILED, "1", rule="batch", logs=["batch.log"]))
    reader, state = Reader(tmp_path / "events"), State({"batch": 20})
    for event in reader.new():
        state.take(event)
    assert list(reader.new()) == []
    assert (state.runs.done, state.runs.of, state.steps.of) == (1, 20, 1)
    assert [failure.name for failure in state.failures] == ["rtt=40ms"]
    assert list(parts(state))[:3] == ["1 of 20 runs", "0 of 1 other steps", "1 failed"]


def test_a_job_whose_parts_cannot_tell_counts_when_it_ends() -> None:
    state = State({"batch_0": 20, "batch_1": 5})
    state.take(Event(What.PLANNED, jobs={"batch_0": 1, "batch_1": 1}))
    state.take(Event(What.BEGAN, "1", "Runs", "batch_0"))
    state.take(Event(What.BEGAN, "2", "Runs", "batch_1"))
    state.take(Event(What.ENDED, "1"))
    state.take(Event(What.FAILED, "2", rule="batch_1", logs=["batch.log"]))
    assert (state.runs.done, state.runs.of) == (20, 25)
    assert [failure.name for failure in state.failures] == ["batch_1"]


def test_nothing_is_told_where_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (tmp_path / "events", tmp_path / "gone" / "events"):
        monkeypatch.setenv("SANDGLASS_EVENTS", str(place))
        tell(Event(What.ENDED, "a"))
    assert list(tmp_path.iterdir()) == []


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    place = tmp_path / "events"
    place.write_text('{"what": "ended", "id": "1"}\n{"what": "en')
    reader = Reader(place)
    assert [event.id for event in reader.new()] == ["1"]
    with place.open("a") as file:
        file.write('ded", "id": "2"}\n')
    assert [event.id for event in reader.new()] == ["2"]


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (65, "1:05"), (3725, "1:02:05")])
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown
