"""docs/play.md: its commands serve pages, and what it says of the gallery is so."""

import re
import shlex
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from sandglass.install.builds import ROOT
from sandglass.play import gallery

TEXT = (ROOT / "docs" / "play.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```\n(.*?)^```$", TEXT, re.S | re.M)
    for line in block.splitlines()
]


@pytest.mark.lab
@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_serve_a_page(command: str, clone: Path) -> None:
    words = [*shlex.split(command), "--no-open"]
    with subprocess.Popen(words, cwd=clone, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        address = process.stdout.readline().removeprefix("play: ").strip()
        with urlopen(address) as page:
            assert "<title>Sandglass: play</title>" in page.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_its_cards_are_those_of_the_gallery() -> None:
    told = TEXT.partition("| card |")[2].partition("\n\n")[0]
    names = re.findall(r"^\| ([^|]+?) \|", told, re.M)
    assert names == [card.title for card in gallery.cards()]
    assert {card.file.parent for card in gallery.cards()} == {
        ROOT / "examples",
        ROOT / "examples" / "play",
    }


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[)#]", TEXT):
        assert (ROOT / "docs" / target).exists(), target
