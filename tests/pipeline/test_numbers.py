"""Numbers in explanations and abstracts: from a figure's table, and none typed that a table has."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.papers import claims, numbers, shelf
from sandglass.results import compact
from tests.pipeline import bare

TABLE = pl.DataFrame(
    {
        "queue": ["CoDel", "CoDel", "PIE", "PIE"] * 2,
        "rtt_ms": [20.0, 40.0] * 4,
        "delay_ms": [1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 5.0, 8.0],
        "replica": [1] * 4 + [2] * 4,
    }
)
MODULE = """
import polars as pl

def longest(table, queue):
    return table.filter(queue=queue)["delay_ms"].max()

table = plot = None
METRICS = (longest,)
"""
FIGURE = """
title: Fig. 1
caption: Queues.
setup: {stated: [10 Mb/s]}
axes: {rtt: rtt}
runs: [{experiment: [one], rtt: [20ms, 40ms]}]
sentences:
  - quote: PIE waits less than 50 ms
    where: Abstract
    kind: stated
    claims:
      - {id: pie, statement: longest, metric: longest, arguments: {queue: PIE}, bounds: {below: 5}}
"""


@pytest.fixture(autouse=True)
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper q with fig1, which was made, and fig2, which was not."""
    home = tmp_path / "q"
    (home / "experiments").mkdir(parents=True)
    (home / "experiments" / "one.yaml").write_text("duration: 90s\n")
    (home / "paper.yaml").write_text("paper: TR-1\ntitle: A paper\n")
    for name in ("fig1", "fig2"):
        (home / f"{name}.yaml").write_text(FIGURE)
        (home / f"{name}.py").write_text(MODULE)
    (tmp_path / "results" / "q").mkdir(parents=True)
    TABLE.write_csv(tmp_path / "results" / "q" / "fig1.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SANDGLASS_PAPERS", str(home))
    numbers.table.cache_clear()
    numbers.rendered.cache_clear()
    return home


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{{ claim("pie"):.1f }} ms', "6.0 ms"),
        ('{{ longest(queue="PIE") }}', "6"),
        ('{{ longest(queue="CoDel") / 2:.2f }}', "1.25"),
        ('{{ 100 * longest(queue="PIE"):.0f }} %', "600 %"),
        ('{{ fig1.rows(queue="CoDel").mean("delay_ms"):.1f }}', "2.0"),
        ('{{ rows("delay_ms > 4").mean("delay_ms"):.1f }}', "6.5"),
        ('{{ rows(queue="PIE").least("delay_ms", by="rtt_ms"):.1f }}', "4.0"),
        ('{{ rows().largest("delay_ms", by=["queue", "rtt_ms"]):.1f }}', "6.0"),
        ('{{ rows().span("delay_ms", by=["queue", "rtt_ms"]):.0f }}', "2 to 6"),
        ('{{ rows(rtt_ms=[20, 40]).median("delay_ms", by=["queue", "rtt_ms"]):.0f }}', "3"),
        ('{{ span(longest(queue="PIE"), longest(queue="CoDel")):.1f }}', "2.5 to 6.0"),
        ('{{ span(longest(queue="PIE"), 6.01):.1f }}', "6.0"),
        ('{{ rows(queue="PIE").count }}', "2"),
        ('{{ rows(queue="PIE").count:d }}', "2"),
        ("{{ 0.9 }} {{ 12345 }} {{ 2 * 0.45 }} {{ 24690 / 2 }}", "0.9 12345 0.900 12345"),
        ('{{ fig2.claim("pie"):.1f }}', "(fig2 is not made yet)"),
        ('{{ rows(queue="RED").mean("delay_ms") }}', "(not in these results)"),
        ('{{ longest(queue="RED") }}', "(not in these results)"),
    ],
)
def test_what_is_written(text: str, read: str) -> None:
    assert numbers.rendered(text, "q", "fig1") == read


def test_an_interval() -> None:
    found = numbers.value('claim("pie")', "q", "fig1")
    assert (float(found), found.n) == (6, 2)
    assert found.low < 6 < found.high
    shown = numbers.rendered('{{ claim("pie").interval:.1f }}', "q", "fig1")
    assert shown == f"{found.low:.1f} to {found.high:.1f}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{{ claim("pi") }}', "fig1 has no claim pi, did you mean 'pie'?"),
        ('{{ longst(queue="PIE") }}', "no metric longst; the figure has longest"),
        ("{{ longest() }}", "metric longest: missing a required argument"),
        ('{{ rows(que="PIE").count }}', "the table has no column que, did you mean 'queue'?"),
        ('{{ rows().least("delay_ms") }}', "say which columns tell points apart"),
        ('{{ rows("delay >").count }}', "delay >"),
        ("{{ 1 + }}", "1 +"),
        ("{{ longest.__globals__ }}", "__globals__"),
        ('{{ longest(queue="PIE"):.1q }}', "1q"),
    ],
)
def test_what_is_wrong_with_an_expression(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as raised:
        numbers.rendered(text, "q", "fig1")
    assert "fig1.yaml" in raised.value.message


def test_what_a_reference_lacks_is_wrong(paper: Path) -> None:
    (paper / "reference").mkdir()
    (paper / "reference" / "fig1.parquet").write_bytes(compact.packed(TABLE, "{}"))
    for text in ('{{ rows(queue="RED").mean("delay_ms") }}', '{{ fig2.claim("pie") }}'):
        with pytest.raises(UsageError, match=r"there is no such row|fig2 is not made yet"):
            numbers.rendered(text, "q", "fig1")


def test_an_abstract_names_its_figures() -> None:
    assert numbers.rendered('{{ fig1.claim("pie"):.0f }}', "q") == "6"
    with pytest.raises(UsageError, match=r"abstract\.md: .*there is no figure fig3"):
        numbers.rendered('{{ fig3.claim("pie"):.0f }}', "q")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("At 20ms and 40 ms of 10 Mb/s for 90 s, below 5 and 50: settings", []),
        ("It waits {{ claim('pie'):.1f }} ms in 3 cases", []),
        ("Fig. 12, Section 12.3, RFC 8033, since 2014, `tcp 77`, [x](#fig88), why_17", []),
        ("It waits 6.0 ms in 77 cases, 0.5 of it", ["6.0", "77", "0.5"]),
    ],
)
def test_a_bare_number(text: str, found: list[str]) -> None:
    assert bare.bare(text, "q", ["fig1"]) == found


def texts(paper: str) -> Iterator[tuple[str | None, str]]:
    """The abstract of a paper, and the explanations with their figures."""
    about = shelf.paper(paper)
    yield None, about.abstract
    for figure in about.figures:
        yield from {(figure, each.explanation) for each in claims.claims(paper, figure)}


@pytest.mark.parametrize("paper", shelf.ours())
def test_no_number_is_typed_that_a_table_has(paper: str) -> None:
    typed = {
        f"{paper}/{figure or shelf.ABSTRACT}: {' '.join(found)}"
        for figure, text in texts(paper)
        if (found := bare.bare(text, paper, [figure] if figure else []))
    }
    assert not typed


@pytest.mark.parametrize("paper", shelf.ours())
def test_every_text_reads(paper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANDGLASS_PAPERS", raising=False)
    for figure, text in texts(paper):
        assert "not made yet" not in numbers.rendered(text, paper, figure)
