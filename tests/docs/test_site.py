"""The site: it is made without a network, has all that there is, and can be searched and read."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import sandglass
from docs.site import examples, figures, gallery, links, python, reference, text
from sandglass.cli import app
from sandglass.errors import UsageError
from sandglass.experiment import reading
from sandglass.install import upkeep
from sandglass.install.builds import ROOT
from sandglass.papers import shelf
from tests.conftest import one_at_a_time
from tests.view.browser import PROGRAM, Browser

NO_NETWORK = ["unshare", "--user", "--net"]
FOUND = {
    "bufferbloat": "docs/tutorial/3-bufferbloat.html",
    "fq_codel": "reference/qdiscs.html",
    "initcwnd": "reference/experiment.html",
    "playout_delay": "reference/workloads.html",
    "parking_lot": "reference/topologies.html",
    "--cached": "reference/commands.html",
    "sojourn_ns": "docs/data-format.html",
    "HRED": "kmods/sch_hred/index.html",
    "Incast": "gallery/index.html",
    "iperf3": "docs/limits.html",
}
"""What a user would look for, and a page that has it."""


@pytest.fixture(scope="session")
def site(shared: Path) -> Path:
    """The site with blank pictures, made once; without a network where that can be taken away."""
    allowed = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False)
    before = NO_NETWORK if allowed.returncode == 0 else []
    out = str(shared / "site")
    with one_at_a_time(shared / "site.lock"):
        if not (shared / "site").exists():
            command = [*before, str(ROOT / "sandglass"), "docs", "--pictures", "none", "--out", out]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert f"open {out}/index.html" in done.stdout
    return shared / "site"


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="is there, and no site of ours"):
        upkeep.site(tmp_path, upkeep.Pictures.NONE)
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.thorough
def test_a_link_that_leads_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pages = gallery.pages()
    pages[gallery.PAGE] += "[page](../nowhere.md) [anchor](../docs/lab.md#nowhere)\n"
    monkeypatch.setenv("SANDGLASS_SITE_PICTURES", "none")
    monkeypatch.setattr(gallery, "pages", lambda: pages)
    settings = str(ROOT / "docs" / "site" / "mkdocs.yml")
    with pytest.raises(Abort, match="Aborted with 2 warnings in strict mode"):
        build(load_config(settings, site_dir=str(tmp_path), strict=True))
    assert "'../nowhere.md', but the target 'nowhere.md' is not found" in caplog.text
    assert "'docs/lab.md' does not contain an anchor '#nowhere'" in caplog.text


@pytest.mark.lab
def test_every_example_and_every_figure_is_in_the_gallery(site: Path) -> None:
    page = (site / "gallery" / "index.html").read_text()
    cards = re.findall(r'<article class="sg-card".*?</article>', page, re.DOTALL)
    commands = [f"./sandglass study {path.relative_to(ROOT)}" for path in examples.studies()]
    commands += [f"./sandglass run {path.relative_to(ROOT)}" for path in examples.single()]
    for paper in gallery.papers():
        commands += [f"./sandglass reproduce {paper}/{name}" for name in shelf.paper(paper).figures]
    shown = [re.findall(r"<code>(\./sandglass .*?)</code>", card) for card in cards]
    assert shown == [[command] for command in commands]
    for card in cards:
        (picture,) = re.findall(r'src="(.*?)"', card)
        assert b"<svg" in (site / "gallery" / picture).read_bytes()
        assert len(re.findall(r'alt="(.+?)"', card)) == 1
        links = set(re.findall(r'href="([^"#].*?)"', card))
        assert len(links) == 1
        assert (site / "gallery" / links.pop()).is_file()


@pytest.mark.thorough
@pytest.mark.lab
def test_an_example_is_run_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole site is made by a job of CI; here one example of it."""
    monkeypatch.setattr(examples, "studies", lambda: [])
    monkeypatch.setattr(examples, "single", lambda: [ROOT / "examples" / "codel.yaml"])
    drawn = examples.drawn()
    assert drawn.keys() == examples.blank().keys()
    assert b"<path" in drawn["examples/codel.svg"]
    assert len(drawn["examples/codel.run.html"]) > 100_000


def test_a_figure_is_drawn_from_its_table(tmp_path: Path) -> None:
    """That of the README, which alone is kept as a picture."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | {"SANDGLASS_CACHE": str(tmp_path), "PYTHONPATH": paths}
    # In a process of its own: what helps its processes stays until it ends.
    program = "from docs.site import figures; figures.drawn([('abe', 'fig11')])"
    times = set()
    for _ in range(2):  # the second time it is there
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        (kept,) = (tmp_path / "pictures").iterdir()
        times.add(kept.stat().st_mtime_ns)
    assert len(times) == 1
    assert kept.read_bytes() == (ROOT / figures.picture_of("abe", "fig11")).read_bytes()


STUDY = """
title: Two rates
experiment:
  topology: dumbbell
  rtt: 10ms
  bottleneck: {rate: 1mbit, queue: {kind: pfifo}}
  flows: [{workload: bulk, from: s1, to: d1}]
  duration: 1s
vary: {bottleneck.rate: [1mbit, 2mbit]}
metrics: {goodput: flows.0.goodput_mbit}
plots: [{x: bottleneck.rate, y: goodput}]
"""


@pytest.mark.thorough
@pytest.mark.lab
def test_a_study_has_all_that_its_page_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "examples" / "studies" / "rates.yaml"
    study.parent.mkdir(parents=True)
    study.write_text(STUDY)
    monkeypatch.setattr(examples, "ROOT", tmp_path)
    monkeypatch.setattr(examples, "STUDIES", study.parent)
    monkeypatch.setattr(examples, "single", lambda: [])
    drawn = examples.drawn()
    assert drawn.keys() >= examples.blank().keys()
    look = examples.look_of(study)
    led = {str(Path(look).parent / each) for each in links.beside(drawn[look].decode())}
    assert led == drawn.keys() - {look}
    assert {Path(each).name for each in led} >= {"runs.csv", "study.yaml", "run.json", "plot1.png"}


@pytest.mark.lab
def test_no_link_leads_nowhere(site: Path) -> None:
    """Also those that mkdocs does not look at: of its theme, and of pages that are not its own.

    A server shows 404.html at any place, so that its links begin at the site's root.
    """
    pages = sorted(site.rglob("*.html"))
    dead = {
        f"{page.relative_to(site)}: {link}"
        for page in pages
        for link in links.beside(page.read_text())
        if not ((site if page.name == "404.html" else page.parent) / link.lstrip("/")).exists()
    }
    assert len(pages) > 100
    assert dead == set()


@pytest.mark.lab
def test_every_example_can_be_looked_into(site: Path) -> None:
    for example in [*examples.studies(), *examples.single()]:
        page = site / f"{examples.page_of(example)[:-3]}.html"
        looked = site / examples.look_of(example)
        assert f'href="{looked.relative_to(page.parent)}"' in page.read_text()
        assert "</html>" in looked.read_text()


def test_every_key_is_in_the_reference() -> None:
    pages = "".join(reference.pages().values())
    schema = reading.schema()
    parts = [schema, *(part for part in schema["$defs"].values() if "properties" in part)]
    keys = {key for part in parts for key in part["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in pages} == set()


def test_every_command_is_in_the_reference_with_its_options() -> None:
    page = reference.pages()[reference.COMMANDS]
    for name, command in typer.main.get_group(app).commands.items():
        assert f"./sandglass {name}" in page
        for option in getattr(command, "params", []):
            assert option.param_type_name != "option" or option.opts[0] in page


def test_all_that_python_is_offered_is_in_the_reference() -> None:
    page = python.page()
    assert set(re.findall(r"^## (\w+)$", page, re.M)) == {*sandglass.OFFERED}
    assert "### Run.packets" in page
    assert "| `cached` | take the run from the cache" in page


@pytest.mark.lab
def test_what_one_looks_for_is_found(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    for words, page in FOUND.items():
        said = [entry for entry in entries if words in entry["title"] + entry["text"]]
        assert page in {entry["location"].partition("#")[0] for entry in said}, words


@pytest.fixture
def browser(tmp_path: Path) -> Any:
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"Debian's package {PROGRAM} is not here")
    with Browser(tmp_path / "chromium") as found:
        yield found


def opened(browser: Browser, page: Path) -> None:
    browser.events.clear()
    browser.call("Page.navigate", url=page.as_uri())
    browser.until("document.readyState === 'complete'")


@pytest.mark.lab
@pytest.mark.parametrize("page", ["index.html", "gallery/index.html", "examples/codel.yaml.html"])
def test_a_page_from_the_disk_loads_nothing_else(site: Path, browser: Browser, page: str) -> None:
    opened(browser, site / page)
    loaded = [each for each in browser.complaints() if not each.startswith("data:image/")]
    assert loaded
    assert [each for each in loaded if not each.startswith(site.as_uri())] == []


@pytest.mark.lab
def test_the_search_works_from_the_disk(site: Path, browser: Browser) -> None:
    opened(browser, site / "index.html")
    browser.run("document.querySelector('.md-search__input').focus()")
    browser.call("Input.insertText", text="bufferbloat")
    browser.until("document.querySelector('.md-search-result__link') !== null")
    assert browser.run(
        "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
        ".some(link => link.includes('3-bufferbloat.html'))"
    )


@pytest.mark.lab
def test_the_gallery_is_filtered(site: Path, browser: Browser) -> None:
    opened(browser, site / "gallery" / "index.html")
    shown = "[...document.querySelectorAll('.sg-card:not([hidden]) code')].map(c => c.textContent)"
    everything = browser.run(shown)
    browser.run("form.queue.value = 'HRED'; form.dispatchEvent(new Event('input'))")
    some = browser.run(shown)
    assert 0 < len(some) < len(everything)
    assert all("flow_startup/" in command for command in some)
    browser.run("form.words.value = 'no such thing'; form.dispatchEvent(new Event('input'))")
    assert browser.run(shown) == []


# What Python-Markdown reads otherwise than the forge.


def test_what_is_in_a_list_is_as_far_to_the_right_as_its_level() -> None:
    assert text.indented("Then\n- a\n  b\n  1. c\n\n     ```\n     d\n     ```\n") == (
        "Then\n\n- a\n    b\n    1. c\n\n        ```\n        d\n        ```\n"
    )


def test_code_that_looks_like_a_link_is_left_alone() -> None:
    page = "[a](../b.md#c) [d](https://example.org)\n```\n[a](../b.md)\n```\n[e](#f)\n"
    led = text.relinked(page, "docs/x.md", {"b.md": "docs/y/z.md"}.__getitem__)
    assert led == page.replace("(../b.md#c)", "(y/z.md#c)")
    assert text.linked(page, "docs/x.md") == ["b.md"]
