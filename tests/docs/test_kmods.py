"""The session that docs/kmods.md shows: what its commands say is what stands there."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from tests.documents import edited

HOME = "/home/me/aqm"
SECTION = (ROOT / "docs" / "kmods.md").read_text().partition("\n## The author's loop\n")[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
# What another kernel release, compiler, gdb or process id changes. gdb 16 tells of a pending
# breakpoint without its condition.
VARIES = re.compile(
    r"0x[0-9a-f]+|(?<=digest )[0-9a-f]{64}|process \d+|and \d+ more|^#\d+ |^\[ *\d+ s\]"
    r"|\(.*\) pending\.$"
)


def common(lines: list[str]) -> list[str]:
    """Lines without what varies."""
    return [VARIES.sub("…", line).rstrip() for line in lines if line.strip()]


def shown(block: str) -> list[tuple[str, list[str], list[str]]]:
    """Of each command in a block: itself, what gdb is told, and the lines that stand below it."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        typed = [line.removeprefix("(gdb) ") for line in lines if line.startswith("(gdb) ")]
        found.append((command, typed, [line for line in lines if not line.startswith("(gdb) ")]))
    return found


def carried_out(command: str, typed: list[str], place: Path) -> list[str]:
    """What a command says."""
    told = [word for line in typed if line != "quit" for word in ("-ex", line)]
    done = subprocess.run(
        f"{command} -- -batch {shlex.join(told)}" if typed else command,
        shell=True,
        cwd=ROOT,
        env=os.environ | {"SANDGLASS_KMODS": str(place / "kmods")},
        capture_output=True,
        text=True,
        check=False,
    )
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.mark.thorough
@pytest.mark.lab
def test_the_session_is_as_shown(tmp_path: Path) -> None:
    """All runs that end well have one digest: messages and a debugger change nothing."""
    module = tmp_path / "kmods" / "sch_first"
    module.mkdir(parents=True)
    (module / "Kbuild").write_text("obj-m := sch_first.o\n")
    source = edit = ""
    digests = set()
    for kind, block in BLOCKS:
        if kind == "c":
            source = block
        elif kind == "yaml":
            (tmp_path / "first.yaml").write_text(block)
        elif kind == "diff":
            edit = block
        else:
            (module / "sch_first.c").write_text(edited(source, edit) if edit else source)
            edit = ""  # each is of the source as it was at first
            for command, typed, expected in shown(block.replace(HOME, str(tmp_path))):
                said = carried_out(command, typed, tmp_path)
                digests |= {line for line in said if line.startswith("digest ")}
                left = iter(common(said))
                missing = [line for line in common(expected) if line not in left]
                assert missing == [], (command, said)
    assert len(digests) == 1
