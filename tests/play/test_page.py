"""The page of `play`, in a browser: knobs turn real runs, and what is shown is what was run."""

import json
import random
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import reading
from sandglass.play import gallery
from sandglass.run import runs
from tests.play.conftest import Server, arrived, complaints, set_knob
from tests.view.browser import Browser

pytestmark = pytest.mark.lab
Open = Callable[..., Browser]
TURNS = 25
"""Knobs turned at random, some while a run is under way."""
RATE = "[data-key='bottleneck.rate'] input[type=range]"


def text(browser: Browser, place: str) -> str:
    """What an element says."""
    found: str = browser.run(f"document.querySelector({json.dumps(place)}).textContent")
    return found


def hidden(browser: Browser, name: str) -> bool:
    found: bool = browser.run(f"byId('{name}').hidden")
    return found


def numbers(browser: Browser) -> dict[str, list[str]]:
    """The table of what it came to: cells by the names of rows."""
    rows = browser.run(
        "[...document.querySelectorAll('#numbers tbody tr')].map(row =>"
        " [...row.children].map(cell => cell.textContent))"
    )
    return {name: cells for name, *cells in rows}


def values(browser: Browser) -> dict[str, Any]:
    """What differs from the file."""
    found: dict[str, Any] = browser.run("at.values")
    return found


def digest(file: Path, settings: list[str], out: Path) -> str:
    found: str = runs.run(reading.load(file, settings), file, out).content["digest"]
    return found


def test_a_key_turns_a_knob_and_real_linux_answers(
    opened: Open, server: Server, quick: Path, tmp_path: Path
) -> None:
    browser = opened()
    assert text(browser, "#digest") == digest(quick, [], tmp_path / "file")
    assert text(browser, "#picture").startswith("r1 ── s1, s2")
    before = browser.run("all.find(({lines}) => lines.some(({bound}) => bound)).id")
    browser.run(f'document.querySelector("{RATE}").focus()')
    browser.press("ArrowRight")
    arrived(browser, 2)
    assert values(browser) == {"bottleneck.rate": "15mbit"}
    assert text(browser, "#picture").splitlines()[1] == "║ bottleneck 15mbit codel"
    assert text(browser, "#digest") == digest(quick, ["bottleneck.rate=15mbit"], tmp_path / "turn")
    assert "--set bottleneck.rate=15mbit" in text(browser, "#command")
    bound = (
        f"all.find(({{id}}) => id === {json.dumps(before)}).lines"
        ".find(({bound}) => bound).series.value[0] * 8e-6"
    )
    browser.run(f"byId({json.dumps(before)}).scrollIntoView()")
    browser.until(f"all.find(({{id}}) => id === {json.dumps(before)}).loaded")
    assert browser.run(bound) == pytest.approx(15)
    assert browser.run("document.activeElement.type") == "range"
    assert complaints(browser, server) == []


def test_all_can_be_reached_by_keys(opened: Open) -> None:
    """From the first knob on each is reached, in the order in which they stand."""
    browser = opened()
    shown = "[...document.querySelectorAll('#knobs :is(input, select, summary)')]"
    many = browser.run(f"{shown}.filter(each => each.checkVisibility()).length")
    browser.run(f"{shown}[0].focus()")
    reached = 1
    while reached < many:
        browser.press("Tab")
        if browser.run("document.activeElement.matches('#knobs :is(input, select, summary)')"):
            reached += 1
        else:
            assert browser.run("document.activeElement.closest('#knobs') !== null"), reached
    assert browser.run("document.activeElement.textContent") == "More"


def test_a_queue_keeps_what_another_kind_knows(opened: Open) -> None:
    browser = opened()
    set_knob(browser, "bottleneck.queue", "pie", "select")
    arrived(browser, 2)
    assert values(browser) == {"bottleneck.queue": {"kind": "pie", "ecn": True}}
    assert "'bottleneck.queue={kind: pie, ecn: true}'" in text(browser, "#command")
    set_knob(browser, "bottleneck.queue.target", "30ms")
    arrived(browser, 3)
    assert values(browser)["bottleneck.queue"]["target"] == "30ms"
    set_knob(browser, "bottleneck.queue.target", "")
    arrived(browser, 4)
    set_knob(browser, "bottleneck.queue", "pfifo", "select")
    arrived(browser, 5)
    assert values(browser) == {"bottleneck.queue": {"kind": "pfifo"}}
    assert "pfifo does not mark" in text(browser, "#doubts")
    set_knob(browser, "bottleneck.queue", "codel", "select")
    arrived(browser, 6)
    assert values(browser) == {}
    set_knob(browser, "bottleneck.queue.interval", "50ms")
    arrived(browser, 7)
    assert text(browser, "#command").endswith("--set bottleneck.queue.interval=50ms")


def test_what_check_refuses_is_said_and_the_curves_stay(opened: Open, quick: Path) -> None:
    browser = opened()
    before = text(browser, "#digest")
    set_knob(browser, "rtt", "30 parsecs")
    browser.until("!byId('refused').hidden")
    with pytest.raises(UsageError) as found:
        reading.load(quick, ["rtt=30 parsecs"])
    assert text(browser, "#refused") == found.value.message.replace(str(quick), quick.name)
    assert browser.run("byId('panels').classList.contains('old')")
    set_knob(browser, "rtt", "30ms")
    arrived(browser, 2)
    assert hidden(browser, "refused")
    assert not browser.run("byId('panels').classList.contains('old')")
    assert text(browser, "#digest") != before


def test_two_settings_stand_beside_each_other(opened: Open, server: Server) -> None:
    browser = opened()
    alone = text(browser, "#digest")
    browser.run("byId('keep').click()")
    set_knob(browser, "bottleneck.queue", "pfifo", "select")
    arrived(browser, 2)
    head = "[...document.querySelectorAll('#numbers thead th')].map(th => th.textContent)"
    assert browser.run(head) == ["A: pfifo", "B: codel"]
    assert numbers(browser)["digest"] == [text(browser, "#digest")[:12], alone[:12]]
    assert browser.run("runs.map(({name}) => name)") == ["A", "B"]
    lines = browser.run("all[0].lines.map(({run}) => run)")
    assert set(lines) == {0, 1}
    assert browser.run("state.colourBy") == "run"
    marks = numbers(browser)["marks"]
    assert marks[0] == "0"
    assert int(marks[1]) > 0
    browser.run("byId('swap').click()")
    browser.settle()
    assert values(browser) == {}
    assert text(browser, "#digest") == alone
    assert numbers(browser)["marks"] == marks[::-1]
    browser.run("byId('drop').click()")
    browser.settle()
    assert browser.run("runs.length") == 1
    assert browser.run(head) == []
    assert complaints(browser, server) == []


def test_a_link_is_a_state(opened: Open) -> None:
    """Opened anew it shows the same, both sides of it."""
    browser = opened()
    browser.run("byId('keep').click()")
    set_knob(browser, "bottleneck.queue", "fq_codel", "select")
    set_knob(browser, "flows.0.count", "3")
    arrived(browser, 2)
    link = browser.run("location.hash")
    before = numbers(browser)
    opened(link)
    browser.until("last.a && last.b")
    browser.settle()
    assert numbers(browser) == before
    assert values(browser) == {
        "bottleneck.queue": {"kind": "fq_codel", "ecn": True},
        "flows.0.count": 3,
    }


@pytest.mark.parametrize(
    "link",
    [
        "#open=file&a=nonsense",
        "#open=file&a=[1]",
        '#open=file&a={"topology":"x.py","nothing":1}',
        '#open=file&a={"rtt":"../x"}&b={"rtt":{"a":{"b":1}}}',
        '#open=file&a={"__proto__":{"x":1},"rtt":"40ms"}',
        "#open=file&open=file",
    ],
)
def test_a_link_that_nobody_made_opens_what_it_can(opened: Open, server: Server, link: str) -> None:
    browser = opened(link)
    assert values(browser) == ({"rtt": "40ms"} if "40ms" in link else {})
    assert complaints(browser, server) == []


def test_a_link_to_nothing_leads_to_the_gallery(browser: Browser, server: Server) -> None:
    for link in ("#open=nothing", "#open=../../etc/passwd"):
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=server.address + link)
        browser.until("document.readyState === 'complete' && !byId('trouble').hidden")
        assert "no such one" in text(browser, "#trouble")
        assert not hidden(browser, "gallery")


def test_it_is_saved_as_a_file(opened: Open, tmp_path: Path) -> None:
    """Whose run is the one that is shown."""
    browser = opened()
    set_knob(browser, "bottleneck.queue", "cake", "select")
    arrived(browser, 2)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.run("byId('save').click()")
    saved = tmp_path / "file.yaml"
    browser.until("true")
    for _ in range(200):
        if saved.exists() and saved.stat().st_size:
            break
        browser.run("new Promise(done => setTimeout(done, 50))")
    assert digest(saved, [], tmp_path / "run") == text(browser, "#digest")
    assert saved.read_text().startswith("# Made by: ")


def test_the_gallery_has_a_card_for_each(browser: Browser, server: Server) -> None:
    browser.size(1400, 900)
    browser.call("Page.navigate", url="about:blank")
    browser.events.clear()
    browser.call("Page.navigate", url=server.address + "#")
    browser.until("document.readyState === 'complete'")
    browser.run("location.hash = ''")
    browser.until("!byId('gallery').hidden")
    browser.run("latencies.length = 0")
    found = browser.run(
        "[...document.querySelectorAll('.card')]"
        ".map(card => [card.querySelector('h2').textContent, card.hash])"
    )
    assert found[0] == ["quick.yaml", "#open=file"]
    cards = gallery.cards()
    assert [link for _, link in found[1:]] == [f"#open={card.name}" for card in cards]
    assert browser.run("document.documentElement.scrollWidth") <= 1400
    browser.run("document.querySelectorAll('.card')[1].click()")
    arrived(browser, 1)
    first = browser.run("document.querySelector('#knobs fieldset').innerText")
    assert first.startswith("Turn this\nQueue")
    assert text(browser, "#hint") == cards[0].text
    browser.run("byId('home').click()")
    browser.until("!byId('gallery').hidden")
    assert complaints(browser, server) == []


@pytest.mark.parametrize("width", [390, 820, 1400])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int) -> None:
    browser = opened('#open=file&b={"bottleneck.queue":{"kind":"pie"}}', width=width)
    browser.until("last.a && last.b")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.settle()
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_axe_finds_nothing_against_its_being_accessible(
    opened: Open, width: int, theme: str
) -> None:
    """Neither in the page, all of it unfolded, nor in its help, nor in the gallery."""
    browser = opened('#open=file&b={"bottleneck.queue":{"kind":"pie"}}', width=width)
    browser.until("last.a && last.b")
    scheme = [{"name": "prefers-color-scheme", "value": theme}]
    browser.call("Emulation.setEmulatedMedia", features=scheme)
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.settle()
    browser.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text() + ";0")
    found = "r => r.violations.map(v => [v.id, v.impact, v.nodes.map(n => n.html)])"
    assert browser.run(f"axe.run().then({found})") == []
    browser.run("byId('keys').click()")
    assert browser.run(f"axe.run('#help').then({found})") == []
    browser.run("document.querySelector('#help button').click()")
    set_knob(browser, "rtt", "no")
    browser.until("!byId('refused').hidden")
    assert browser.run(f"axe.run('#refused').then({found})") == []
    browser.run("byId('home').click()")
    browser.until("!byId('gallery').hidden")
    assert browser.run(f"axe.run().then({found})") == []
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_knob_is_swept_while_nothing_else_runs(opened: Open, server: Server) -> None:
    """Each step is a run of its own; a turn meanwhile comes first, and does not change them."""
    browser = opened()
    browser.run("byId('sweep').open = true; byId('sweep-knob').value = 'flows.0.count'")
    browser.run("byId('sweep-go').click()")
    browser.until("sweep.found.size === 2")
    set_knob(browser, "seed", "7")
    arrived(browser, 2)
    browser.until("byId('sweep-status').textContent === '7 runs'")
    cells = browser.run(
        "[...document.querySelectorAll('#sweep-table tr')].map(row =>"
        " [row.children[0].textContent, row.children[1].textContent])"
    )
    assert [name for name, _ in cells] == ["1", "2", "3", "4", "5", "7", "10"]
    assert browser.run("byId('sweep-number').value").startswith("pings of")
    for name in ("2", "10"):
        found = browser.run(f"sweep.found.get('{name}')")
        again = server.run([f"flows.0.count={name}"], page="anotherpage")
        assert found == again["done"]["numbers"]
    assert text(browser, "#sweep-command").endswith(
        " study quick.yaml --vary flows.0.count=1,2,3,4,5,7,10"
    )
    browser.run("byId('sweep-knob').value = 'bottleneck.queue'; byId('sweep-go').click()")
    browser.until("byId('sweep-status').textContent === '5 runs'")
    assert browser.run("[...sweep.found.keys()]") == ["pfifo", "codel", "fq_codel", "pie", "cake"]
    assert not hidden(browser, "sweep-go")
    assert complaints(browser, server) == []


def test_random_turns_do_it_no_harm(opened: Open, server: Server) -> None:
    """No error, no lab that stays, and the last one is what is shown."""
    browser = opened()
    chance = random.Random(1)
    kinds = ["pfifo", "codel", "fq_codel", "pie", "cake"]
    turns: list[Callable[[], None]] = [
        lambda: set_knob(browser, "bottleneck.queue", chance.choice(kinds), "select"),
        lambda: set_knob(browser, "bottleneck.rate", f"{chance.randrange(1, 30)}mbit"),
        lambda: set_knob(browser, "rtt", f"{chance.randrange(1, 100)}ms"),
        lambda: set_knob(browser, "flows.0.count", str(chance.randrange(1, 5))),
        lambda: set_knob(browser, "flows.0.cc", chance.choice(["cubic", "reno", "bbr"])),
        lambda: set_knob(browser, "seed", str(chance.randrange(1, 100))),
        lambda: browser.run("byId(byId('keep').hidden ? 'drop' : 'keep').click()"),
    ]
    for _ in range(TURNS):
        chance.choice(turns)()
        if chance.random() < 0.5:
            browser.until("!under.a")
        else:
            browser.run(f"new Promise(done => setTimeout(done, {chance.randrange(300)}))")
    browser.until("!under.a && !under.b")
    set_knob(browser, "seed", "1000")
    browser.until("!under.a && last.a?.result.seed === 1000")
    browser.settle()
    assert hidden(browser, "refused")
    wanted = browser.run("settings(opened.knobs, at.values)")
    assert text(browser, "#digest") == server.run(wanted, page="anotherpage")["done"]["digest"]
    assert complaints(browser, server) == []
    assert not [line for line in server.children() if line.startswith("linux ")]
