"""docs/l4s.md: its tables are what the command beside them prints."""

import subprocess
import sys

import pytest

from sandglass.install import builds

DOCS = builds.ROOT / "docs"


@pytest.mark.lab
@pytest.mark.usefixtures("newer_kernel")
def test_what_two_ends_agree_on_is_as_the_page_says() -> None:
    command = [sys.executable, str(DOCS / "accecn.py")]
    said = subprocess.run(command, cwd=builds.ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() in (DOCS / "l4s.md").read_text()
