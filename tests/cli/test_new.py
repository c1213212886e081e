"""new: an experiment by answers, by options or from an example; never over another file."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.experiment import qdiscs, reading
from sandglass.experiment.document import EXAMPLES
from sandglass.guide import draft
from sandglass.install import builds
from sandglass.run.plan import resolve

pytestmark = pytest.mark.lab  # whose root has Mininet
COMMAND = [sys.executable, "-P", "-m", "sandglass", "new"]
DEFAULTS = {name: question.default for name, question in draft.QUESTIONS.items()}


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(builds.ROOT / "src")}


def new(folder: Path, *words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        cwd=folder, env=environment(), input=answers, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_answers_through_a_pipe(tmp_path: Path) -> None:
    done = new(tmp_path, "my.yaml", answers="\n10mbit\n\npie\n3\ncubic,bbr\n")
    assert done.returncode == 0, done.stderr
    assert "/sandglass run my.yaml" in done.stdout
    assert "Rate of the bottleneck [20mbit]: 10mbit" in done.stderr
    found = reading.load(tmp_path / "my.yaml")
    assert (found.topology, found.rtt, found.duration) == ("dumbbell", 50_000_000, 30 * 10**9)
    assert found.bottleneck is not None
    assert (found.bottleneck.rate, found.bottleneck.queue.kind) == (10_000_000, "pie")
    assert [flow.congestion_control for flow in found.flows] == ["cubic", "bbr", "cubic"]
    assert [(flow.src, flow.dst) for flow in found.flows] == [
        ("s1", "d1"), ("s2", "d2"), ("s3", "d3"),
    ]  # fmt: skip


def test_options_are_not_asked_for(tmp_path: Path) -> None:
    options = [word for name, value in DEFAULTS.items() for word in (f"--{name}", value)]
    done = new(tmp_path, "my.yaml", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "my.yaml").read_text() == draft.written(DEFAULTS, tmp_path / "my.yaml")


@pytest.mark.parametrize("name", ["codel", "examples/codel.yaml"])
def test_from_an_example(tmp_path: Path, name: str) -> None:
    done = new(tmp_path, "my.yaml", "--from", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "my.yaml").read_text() == (EXAMPLES / "codel.yaml").read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("mine")
    done = new(tmp_path, "my.yaml", "--from", "codel")
    assert done.returncode == 2
    assert "my.yaml is there already" in done.stderr
    assert (tmp_path / "my.yaml").read_text() == "mine"


def test_a_folder_that_is_missing_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    done = new(tmp_path, "mine/my.yaml")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "sandglass: there is no folder mine",
        "  Make it first: mkdir mine",
    ]


@pytest.mark.parametrize(
    ("words", "answers", "said"),
    [
        (["--rate", "20mbps"], "", "rate: 20mbps may be bits or bytes per second"),
        ([], "dumbell\n", "unknown topology dumbell, did you mean 'dumbbell'?"),
        (["--topology", "fat_tree"], "", "fat_tree names no bottleneck"),
        (["--flows", "0"], "", "write 1 to 50"),
        (["--cc", "cubic,coobic"], "", "unknown congestion control 'coobic'"),
        (["--from", "coedl"], "", "there is no example coedl, did you mean 'codel'?"),
        (["--from", "codel", "--cc", "reno"], "", "leave out --cc"),
    ],
)
def test_what_cannot_be(tmp_path: Path, words: list[str], answers: str, said: str) -> None:
    done = new(tmp_path, "my.yaml", *words, answers=answers)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "my.yaml").exists()


@pytest.mark.usefixtures("terminals")
def test_at_a_terminal_it_asks_again(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execvpe(COMMAND[0], [*COMMAND, "my.yaml"], environment())
    os.write(terminal, b"nonsense\ndumbbell\n\n\n\n\n\n\n")
    seen = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            seen += os.read(terminal, 4096)
        except OSError:
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    os.close(terminal)
    assert b"unknown topology nonsense" in seen
    assert reading.load(tmp_path / "my.yaml").topology == "dumbbell"


def test_every_example_can_be_begun_with(tmp_path: Path) -> None:
    for path in EXAMPLES.glob("*.yaml"):
        (tmp_path / path.name).write_text(draft.example(path.stem, tmp_path / path.name))
        copied, original = reading.load(tmp_path / path.name), reading.load(path)
        assert resolve(copied, copied.facts) == resolve(original, original.facts)


@pytest.mark.parametrize("kind", [*sorted(qdiscs.KINDS), "pi2"])
def test_with_every_queue(tmp_path: Path, kind: str) -> None:
    text = draft.written(DEFAULTS | {"queue": kind, "cc": "dctcp"}, tmp_path / "x.yaml")
    assert f"kind: {kind}" in text


@pytest.mark.parametrize("name", ["dumbbell", "dumbbell_ovs", "parking_lot", "star"])
@pytest.mark.parametrize("flows", ["1", "4"])
def test_with_every_topology(tmp_path: Path, name: str, flows: str) -> None:
    (tmp_path / "x.yaml").write_text(
        draft.written(DEFAULTS | {"topology": name, "flows": flows}, tmp_path / "x.yaml")
    )
    found = reading.load(tmp_path / "x.yaml")
    assert len(found.flows) == int(flows)
    assert len({flow.src for flow in found.flows}) == int(flows)
