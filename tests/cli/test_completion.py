"""What bash and zsh complete, asked as they ask; and without a set-up nothing is set up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.install import builds

INTERACTIVE = """
. <({root}/sandglass completion)
cd {root}
"""
BASH = """
COMP_WORDS=({words}) COMP_CWORD={last}
_sandglass_complete {root}/sandglass
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p sandglass
"""
ZSH = """
_files() { echo files }
compadd() { shift $(( ${@[(i)--]} )); print -l -- "$@" }
words=(%s) CURRENT=%d
_sandglass_complete
"""


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


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["repr"], ["reproduce"]),
        (["reproduce", "ab"], ["abe/"]),
        (["reproduce", "abe/fig1"], [f"abe/fig{number}" for number in range(10, 20)]),
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
        "completion.experiments(''); completion.runs('');"
        "print(sorted({'polars', 'numpy', 'snakemake', 'rich'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_bash() -> None:
    words = [f"{builds.ROOT}/sandglass", "list", "qd"]
    script = INTERACTIVE + BASH.replace("{words}", " ".join(words)).replace("{last}", "2")
    done = subprocess.run(
        ["bash", "-c", script.format(root=builds.ROOT).replace("{{", "{").replace("}}", "}")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "qdiscs",
        "complete -o default -F _sandglass_complete sandglass",
    ]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="the Debian package zsh is not installed")
def test_zsh() -> None:
    words = f"{builds.ROOT}/sandglass list qd"
    script = INTERACTIVE.format(root=builds.ROOT) + ZSH % (words, 3)
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["qdiscs"]


def test_where_nothing_is_set_up_nothing_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [builds.ROOT / "sandglass"],
        env=os.environ
        | {"SANDGLASS_CACHE": str(tmp_path / "cache"), "_SANDGLASS_COMPLETE": "complete_bash"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "cache").exists()
