"""docs/guide.md names every page, and each page that it names is there."""

import re

from sandglass.install.builds import ROOT

GUIDE = ROOT / "docs" / "guide.md"
BESIDE = ("CONTRIBUTING.md", "CHANGES.md")
"""Pages that lie at the top."""


def test_every_page_is_named_and_there() -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", GUIDE.read_text())
    named = {(GUIDE.parent / target).resolve() for target in targets}
    pages = {path for path in (ROOT / "docs").glob("*.md") if path != GUIDE}
    pages |= {ROOT / name for name in BESIDE}
    assert pages - named == set()
    assert [path for path in named if not path.exists()] == []
