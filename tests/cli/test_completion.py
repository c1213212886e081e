"""What bash and zsh complete, asked as they ask; and without a set-up nothing is set up."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds
from tests.terminal import at_a_terminal


def asked(*words: str, folder: Path = builds.ROOT) -> list[str]:
    """What the last word may become."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sandglass"],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": str(builds.ROOT / "src"),
            "_SANDGLASS_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["sandglass", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def yes_or_no(key: str) -> list[str]:
    return [f"{key}=true", f"{key}=false"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["repr"], ["reproduce"]),
        (["reproduce", "ab"], ["abe/"]),
        (
            ["reproduce", "abe/fig1"],
            [*(f"abe/fig{number}" for number in range(10, 20)), "abe/fig19_short"],
        ),
        (["reproduce", "--str"], ["--strict"]),
        (["run", "examples/co"], ["examples/codel.yaml"]),
        (["run", "./examples/co"], ["./examples/codel.yaml"]),
        (["run", "exam"], None),
        (["list", "q"], ["qdiscs"]),
        (["list", "qdiscs", "fq"], ["fq", "fq_codel", "fq_pie"]),
        (["list", "papers", "ls"], ["ls_aimd/"]),
        (["new", "x.yaml", "--queue", "pi"], ["pie", "pi2", "pie_draft"]),
        (["new", "x.yaml", "--from", "cod"], ["codel"]),
        (["trace", "w"], ["wifi"]),
        (["lab", "exp"], ["export"]),
        (["study", "examples/studies/qu"], ["examples/studies/queues.yaml"]),
        (
            ["run", "x", "--set", "bottleneck.queue.kind=pi"],
            [f"bottleneck.queue.kind={kind}" for kind in ("pie", "pi2", "pie_draft")],
        ),
        (
            ["run", "x", "--set", "bottleneck.queue.bytemode="],
            yes_or_no("bottleneck.queue.bytemode"),
        ),
        (
            ["run", "x", "--set", "bottleneck.queue.standing="],
            yes_or_no("bottleneck.queue.standing"),
        ),
        (["run", "x", "--set", "bottleneck.queue.target="], []),
        (["check", "x", "--set", "hosts.s1.pacing="], yes_or_no("hosts.s1.pacing")),
        (
            ["check", "x", "--set", "flows.0.cc=abe_"],
            ["flows.0.cc=abe_cubic", "flows.0.cc=abe_reno"],
        ),
        (["check", "x", "--set", "flows.0.family="], ["flows.0.family=4", "flows.0.family=6"]),
        (["check", "x", "--set", "rtt"], []),
        (["study", "x", "--vary", "topology=dumb"], ["topology=dumbbell", "topology=dumbbell_ovs"]),
        (["study", "x", "--vary", "flows.0.ecn=true,"], ["flows.0.ecn=true,false"]),
    ],
)
def test_what_a_word_may_become(words: list[str], found: list[str] | None) -> None:
    told = asked(*words)
    if found is None:
        assert "examples/codel.yaml" in told
    else:
        assert told == found


def test_files_and_runs_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "mine.txt").touch()
    (tmp_path / "minerals").mkdir()
    assert asked("run", "mine", folder=tmp_path) == ["mine.yaml", "minerals/"]
    assert asked("show", "mine", folder=tmp_path) == ["minerals/"]


def test_it_asks_for_nothing_heavy() -> None:
    """What takes long to import is not."""
    code = (
        "import sys; from sandglass.cli import completion;"
        "completion.papers('abe/f'); completion.of_kind('qdiscs')('');"
        "completion.experiments(''); completion.runs(''); completion.settings('flows.0.ecn=');"
        "print(sorted({'polars', 'numpy', 'snakemake', 'rich'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("terminals")
@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("typed", "become"),
    [
        ("list qd", "list qdiscs"),
        ("run x --set bottleneck.queue.kind=cod", "run x --set bottleneck.queue.kind=codel"),
        ("study x --vary flows.0.cc=reno,cub", "study x --vary flows.0.cc=reno,cubic"),
        ("show READ", "show README.md"),
    ],
)
def test_a_shell(tmp_path: Path, shell: str, typed: str, become: str) -> None:
    """What has no names is completed as files are."""
    if shutil.which(shell) is None:
        pytest.skip(f"the Debian package {shell} is not installed")
    (tmp_path / ".zshrc").write_text(f"PS1='type: '\n. <({builds.ROOT}/sandglass completion)\n")
    started = {"bash": ["bash", "--rcfile", str(tmp_path / ".zshrc")], "zsh": ["zsh"]}[shell]
    keys = f"./sandglass {typed}\t\x01echo \nexit\n".encode()  # control-A: to the line's start
    environment = os.environ | {"ZDOTDIR": str(tmp_path), "EDITOR": "", "VISUAL": ""}
    _, seen = at_a_terminal(builds.ROOT, started, environment, "type: ", keys)
    assert re.search(rf"[\r\n]\./sandglass {become}\r\n", seen)


def test_where_nothing_is_set_up_nothing_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [builds.ROOT / "sandglass"],
        env=os.environ
        | {"SANDGLASS_CACHE": str(tmp_path / "cache"), "_SANDGLASS_COMPLETE": "complete_bash"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "cache").exists()
