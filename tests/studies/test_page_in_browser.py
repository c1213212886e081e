"""The page of a study in a browser: its tables sort and filter, and it fits a telephone."""

import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from sandglass.studies.page import page
from tests.studies.test_page import content, home  # noqa: F401
from tests.view.browser import PROGRAM, Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"Debian's package {PROGRAM} is not here")
    with Browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, home: Path, tmp_path: Path) -> Browser:  # noqa: F811
    """The page, open on a telephone."""
    file = tmp_path / "index.html"
    file.write_text(page(*content(home, {"below": 30})))
    browser.events.clear()
    browser.size(360, 740, touch=True)
    browser.call("Page.navigate", url=file.as_uri())
    browser.until(f"location.href === '{file.as_uri()}' && document.readyState === 'complete'")
    return browser


def column(browser: Browser, table: str, number: int) -> list[str]:
    """What the rows of a table that are shown have in a column."""
    found: list[str] = browser.run(
        f"[...document.querySelectorAll('#{table} tbody tr:not([hidden])')]"
        f".map(row => row.cells[{number}].textContent)"
    )
    return found


def press(browser: Browser, table: str, number: int) -> str | None:
    """Press the head of a column; gives how it is sorted then."""
    head = f"document.querySelectorAll('#{table} th')[{number}]"
    browser.run(f"{head}.querySelector('button').click()")
    sort: str | None = browser.run(f"{head}.getAttribute('aria-sort')")
    return sort


def test_a_table_sorts_by_what_its_values_mean(opened: Browser) -> None:
    assert column(opened, "summary-table", 1) == ["20ms", "100ms"] * 2
    assert press(opened, "summary-table", 1) == "ascending"
    assert column(opened, "summary-table", 1) == ["20ms", "20ms", "100ms", "100ms"]
    assert press(opened, "summary-table", 1) == "descending"
    assert column(opened, "summary-table", 1) == ["100ms", "100ms", "20ms", "20ms"]
    assert press(opened, "summary-table", 4) == "ascending"
    assert column(opened, "summary-table", 4) == ["5.15", "5.15", "20.15", "20.15"]


def test_words_choose_rows(opened: Browser) -> None:
    assert len(column(opened, "runs-table", 1)) == 8
    box = "document.getElementById('runs-table-filter')"
    opened.run(f"{box}.value = 'PIE 20ms'; {box}.dispatchEvent(new Event('input'))")
    assert column(opened, "runs-table", 0) == ["PIE", "PIE"]
    assert opened.run(f"{box}.parentElement.querySelector('output').textContent") == "2 of 8"


def test_it_fits_a_telephone_and_complains_of_nothing(opened: Browser) -> None:
    assert opened.run("document.documentElement.scrollWidth") == 360
    assert [each for each in opened.complaints() if not each.startswith("data:")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_against_its_being_accessible(opened: Browser, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.call("Emulation.setEmulatedMedia", features=features)
    opened.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    opened.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text() + ";0")
    found = "found => found.violations.map(({id, nodes}) => [id, nodes.map(n => n.html)])"
    assert opened.run(f"axe.run().then({found})") == []
