"""docs/characterise.md: its commands, which tests/reference calls, and its table of scenarios."""

import re

from sandglass.install.builds import ROOT
from sandglass.suites import suite

DOCUMENT = (ROOT / "docs" / "characterise.md").read_text()
COMMANDS = re.findall(r"^\./sandglass characterise .*$", DOCUMENT, re.MULTILINE)


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 3


def test_the_table_has_every_scenario() -> None:
    whole = suite.read(suite.SUITES / "qdisc")
    for each in whole.described.scenarios:
        row = f"| {each.section} | [{each.title}](../suites/qdisc/{each.study}), {each.words} |"
        assert row in DOCUMENT
