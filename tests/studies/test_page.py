"""The page of a study says what was found, and can be read without its colours and its scripts."""

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.results import series
from sandglass.results.pages import number
from sandglass.studies import claims, metric, statistics
from sandglass.studies.layout import Results
from sandglass.studies.origin import origin
from sandglass.studies.page import Picture, page
from sandglass.studies.points import Setting
from sandglass.studies.statistics import Rule
from sandglass.studies.study import Compare, Study
from tests.studies import recorded_runs

RTTS = ["20ms", "100ms"]
QUEUES = ["PIE", "<b>CoDel</b>"]
DELAYS = {"PIE": 20.0, "<b>CoDel</b>": 5.0}
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def factor(axis: str, labels: list[str]) -> list[Setting]:
    return [Setting({axis: label}, {axis: label}, ("vary", axis)) for label in labels]


def study(**changes: Any) -> Study:
    content: dict[str, Any] = {
        "path": Path("study.yaml"),
        "title": "Queues & calls",
        "experiment": {},
        "source": Path("study.yaml"),
        "factors": [factor("queue", QUEUES), factor("rtt", RTTS)],
        "replicas": 2,
        "metrics": {"delay": metric.expression("bottleneck.queue_delay_ms.p95")},
        "compare": Compare(axis="queue", against="PIE"),
        "plots": [],
        "expects": [],
        "module": None,
        "memory_mb": 1,
        "data": {"title": "Queues & calls"},
    }
    return Study(**(content | changes))


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    for seed in (1, 2):
        recorded_runs.write(place / f"runs/{seed}", 1, seed)
    return place


def content(
    home: Path, bounds: dict[str, float], of: Study | None = None, apart: float = 0.1, **rule: Any
) -> tuple[Any, ...]:
    """Of a page with one claim and one picture."""
    of = of or study()
    runs = pl.DataFrame(
        [
            {"queue": queue, "rtt": rtt, "replica": replica, "seed": replica}
            | {"delay": DELAYS[queue] + replica * apart, "digest": "a" * 64}
            | {"virtual_s": 10.0, "wall_s": 0.5, "directory": f"runs/{replica}"}
            for queue in QUEUES
            for rtt in RTTS
            for replica in (1, 2)
        ]
    )
    axes = ["queue", "rtt"]
    expect = claims.Expect.model_validate({"claim": "short", "metric": "delay", "bounds": bounds})
    results = Results(
        {"queue": QUEUES, "rtt": RTTS},
        runs,
        statistics.summary(runs, axes, ["delay"], **rule),
        home,
        {"delay": "ms"},
    )
    return (
        of,
        results,
        origin([series.load(home / f"runs/{seed}", {}) for seed in (1, 2)], of.title),
        [Picture("plot1", "Delay against RTT.", SVG)],
        statistics.differences(runs, axes, ["delay"], "queue", "PIE"),
        claims.judge(runs, axes, [expect]),
    )


def shown(home: Path, bounds: dict[str, float], *more: Any, **rule: Any) -> Reader:
    """What is on the page."""
    return Reader(page(*content(home, bounds, *more, **rule)))


def test_it_says_what_was_found(home: Path) -> None:
    found = shown(home, {"below": 30})
    for words in (
        "4 points by queue and RTT, 2 runs of 10s (seeds 1 to 2); measured: delay.",
        "✓ holds",
        "Delay (ms)",
        "\u221215 (\u221215 to \u221215)",
        "Linux 6.12.0",
        "bb22",
        "20 s simulated in 1 s of one core: 20 times real time",
        "bottleneck.queue_delay_ms.p95",
        "2 a point; number r has the same seed at every point",
    ):
        assert words in found.text


@pytest.mark.parametrize(
    ("bounds", "sign"),
    [({"below": 30}, "✓ 1 holds"), ({"below": 9}, "✗ 1 fails"), ({"below": 20.3}, "? 1 open")],
)
def test_an_outcome_is_more_than_a_colour(home: Path, bounds: dict[str, float], sign: str) -> None:
    assert sign in shown(home, bounds).text


def test_it_stands_alone(home: Path) -> None:
    found = shown(home, {"below": 30})
    (policy,) = (each["content"] for each in found.all("meta") if "http-equiv" in each)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert not found.all("link")
    assert all("src" not in each for each in found.all("script"))
    assert all(str(each["src"]).startswith("data:") for each in found.all("img"))
    names = [str(each["href"]) for each in found.all("a")]
    assert not [name for name in names if ":" in name or name.startswith("/")]


def test_it_can_be_read_by_all(home: Path) -> None:
    found = shown(home, {"below": 30})
    levels = [int(tag[1]) for tag, _ in found.tags if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    assert [each["alt"] for each in found.all("img")] == ["Delay against RTT."]
    assert len(found.all("caption")) == len(found.all("table"))
    assert all(each.get("scope") == "col" for each in found.all("th"))
    assert found.all("html") == [{"lang": "en"}]
    ids = Counter(each["id"] for _, each in found.tags if "id" in each)
    assert max(ids.values()) == 1
    inside = [str(each["href"])[1:] for each in found.all("a") if str(each["href"])[0] == "#"]
    assert inside
    assert set(inside) <= set(ids)
    assert {each["for"] for each in found.all("label")} <= set(ids)


def test_differences_are_read_without_scrolling_and_exponents(home: Path) -> None:
    of, results, source, pictures, differences, found = content(home, {"below": 30})
    far = differences.with_columns(mean=-4073.4, low=-5594.0, high=-2552.0)
    told = Reader(page(of, results, source, pictures, far, found))
    assert "\u22124073 (\u22125594 to \u22122552)" in told.text
    heads = told.text[told.text.index("Differences to PIE") :].split()
    assert heads.index("word") < heads.index("difference") < heads.index("correlation")


def test_what_it_says_of_doing_it_again_is_not_refused(home: Path) -> None:
    assert "./sandglass study study.yaml --out again" in shown(home, {"below": 30}).text


def test_labels_are_no_markup(home: Path) -> None:
    found = shown(home, {"below": 30})
    assert "<b>CoDel</b>" in found.text


def test_quantities_are_sorted_by_their_size(home: Path) -> None:
    found = shown(home, {"below": 30})
    values = {each["data-value"] for each in found.all("td") if "data-value" in each}
    assert {"20.0", "100.0"} <= values


def test_a_run_with_a_page_is_linked(home: Path) -> None:
    (home / "runs/1/view.html").touch()
    try:
        found = shown(home, {"below": 30})
    finally:
        (home / "runs/1/view.html").unlink()
    names = [each["href"] for each in found.all("a")]
    assert "runs/1/view.html" in names
    assert "runs/2/run.json" in names


def test_a_rule_that_is_not_reached_is_said_with_the_width(home: Path) -> None:
    rule = Rule.model_validate({"of": "delay", "within": "3.5%", "most": 2})
    found = shown(home, {"below": 30}, study(replicas=rule), rule=rule)
    assert "not reached: ± 12 %" in found.text
    assert "yes" in found.text
    assert (
        "until half the 95 % interval of delay is within 3.5% of the mean, at most 2" in found.text
    )


def test_replicas_that_are_alike_are_said(home: Path) -> None:
    words = "All replicas of a point are equal"
    found = shown(home, {"below": 30}, apart=0).text
    assert words in found
    assert "one run, no interval" in found
    assert "n = 2" not in found
    assert words not in shown(home, {"below": 30}).text


def test_a_claim_of_ones_own_says_so_and_one_is_one(home: Path) -> None:
    found = shown(home, {"below": 30}).text
    assert "1 claim, each" in found
    assert "own" in found.split()
    assert "re-design" not in found


@pytest.mark.parametrize(
    ("news", "word"),
    [
        ([1.0, 2, 3], "equal"),
        ([0.0, 2, 4], "undecided"),  # -1, 0 and 1 more
        ([2.0, 3, 4], "more"),
        ([0.0, 1, 2], "less"),
        ([1.0], "equal"),
        ([2.0], "undecided"),
    ],
)
def test_the_word_of_a_difference(home: Path, news: list[float], word: str) -> None:
    values = {"PIE": [1.0, 2, 3][: len(news)], "<b>CoDel</b>": news}
    runs = pl.DataFrame(
        [
            {"queue": queue, "replica": replica, "delay": delay}
            for queue, own in values.items()
            for replica, delay in enumerate(own)
        ]
    )
    of, results, source, pictures, _, found = content(home, {"below": 30})
    differences = statistics.differences(runs, ["queue"], ["delay"], "queue", "PIE")
    differences = differences.with_columns(rtt=pl.lit("20ms"))
    text = page(of, results, source, pictures, differences, found)
    (cell,) = (
        each["data-value"]
        for each in Reader(text).all("td")
        if each.get("data-value") in ("equal", "undecided", "more", "less")
    )
    assert cell == word


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.0, "0"),
        (12.3456, "12.35"),
        (-3.0, "\u22123"),
        (12345.6, "12\u2009346"),
        (-1234567.0, "\u22121\u2009234\u2009567"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text
