"""The commands of docs/kselftest.md work as they stand there, on fewer tests."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from sandglass.selftests import known
from tests.kselftest import conftest

pytestmark = [pytest.mark.lab, pytest.mark.thorough]
packetdrill = conftest.packetdrill
PAGE = (ROOT / "docs" / "kselftest.md").read_text()
LINES = re.findall(r"^\./sandglass .*$", PAGE, re.M)
FEWER = {
    "net tc-testing": "net:netns-name.sh tc-testing:qdiscs/plug.json",
    "kselftest packetdrill": "kselftest --list packetdrill",
}


@pytest.mark.parametrize("line", LINES)
def test_a_command_does_what_is_shown(line: str, packetdrill: Path, tmp_path: Path) -> None:
    for whole, few in FEWER.items():
        line = line.replace(whole, few)
    shutil.make_archive(str(tmp_path / "packetdrill"), "gztar", packetdrill)
    words = shlex.split(line.replace("./sandglass", str(ROOT / "sandglass")))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("TAP version 14" in done.stdout) == ("kselftest" in line and "--list" not in line)


def test_the_list_is_written_as_shown(tmp_path: Path) -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M)[0]
    path = tmp_path / "list.yaml"
    path.write_text(shown)
    assert known.read("6.12", path).entries["net:so_incoming_cpu"].why.startswith("it wants two")
