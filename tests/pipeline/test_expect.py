"""What a paper's files say of its figures: a sentence once, and its claims for each cell."""

import itertools
import math
import operator
import re
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import UsageError
from sandglass.experiment.part import Part
from sandglass.papers import claims, code, sentences, shelf, strict

FIGURE = {
    "title": "A figure",
    "caption": "One flow.",
    "setup": {},
    "runs": [{"experiment": ["one"]}],
}
SENTENCE = {
    "quote": "the link is full",
    "where": "Abstract",
    "kind": "stated",
    "statement": "least share",
    "metric": "least",
    "bounds": {"at_least": 0.95},
}
CHANGE = {
    "date": "2026-05-01",
    "was": "at least 0.5",
    "outcomes": {"full": "fails"},
    "reason": "Section II says 0.95",
}
AGREEMENT = {"percent": 20, "least": {"ms": 2.4, "%": 5}}

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write sentences of figures of a paper p, which has fig1 and fig2, and its amendments."""
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "paper.yaml").write_text("paper: TR-1\ntitle: A paper\n")

    def files(amended: dict[str, Any] | None = None, **figures: list[dict[str, Any]]) -> None:
        for name, told in figures.items():
            content = FIGURE | {"sentences": told}
            (tmp_path / "p" / f"{name}.yaml").write_text(yaml.safe_dump(content))
        if amended:
            (tmp_path / "p" / "amended.yaml").write_text(yaml.safe_dump({"figures": amended}))

    files(fig1=[sentence()], fig2=[sentence()])
    return files


def sentence(*entries: dict[str, Any], **shared: Any) -> dict[str, Any]:
    return SENTENCE | shared | {"claims": [{"id": "full"} | entry for entry in entries or [{}]]}


def expanded(*entries: dict[str, Any], **shared: Any) -> list[sentences.Claim]:
    """The claims of one sentence."""
    terms = sentences.Terms.model_validate({"agreement": AGREEMENT})
    return list(terms.claims([sentences.Quoted.model_validate(sentence(*entries, **shared))]))


axes = st.dictionaries(
    st.sampled_from(["queue", "rtt", "beta"]),
    st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True),
    max_size=3,
)
"""Of numbers, which ids and statements have as they are."""


def template(keys: dict[str, Any]) -> str:
    return "-".join(["cell", *(f"{{{key}}}" for key in keys)])


def combinations(axes: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


@given(axes)
def test_a_claim_for_each_cell_the_first_key_slowest(axes: dict[str, list[int]]) -> None:
    found = expanded({"for": axes, "id": template(axes), "statement": template(axes)})
    assert [claim.arguments for claim in found] == list(combinations(axes))
    texts = ["-".join(["cell", *map(str, each.values())]) for each in combinations(axes)]
    assert [claim.id for claim in found] == [claim.statement for claim in found] == texts


@given(axes, st.integers(0, 3), st.integers(1, 3))
def test_a_sentence_has_all_its_claims_for_each_of_its_cells(
    axes: dict[str, list[int]], first: int, number: int
) -> None:
    """A key of the sentence's is slower than any of a claim's; the cells are the same."""
    outer = dict(itertools.islice(axes.items(), first))
    inner = dict(itertools.islice(axes.items(), first, None))
    entries = [{"for": inner, "id": f"{each}-{template(axes)}"} for each in range(number)]
    found = expanded(*entries, **{"for": outer})
    assert [(claim.id[0], claim.arguments) for claim in found] == [
        (str(each), slow | quick)
        for slow in combinations(outer)
        for each in range(number)
        for quick in combinations(inner)
    ]
    assert len(found) == number * math.prod(map(len, axes.values()))


said = st.fixed_dictionaries(
    {},
    optional={
        "sentence": st.sampled_from(["claim", "check", "finding"]),
        "where": st.sampled_from(["Abstract", "Section I"]),
        "kind": st.sampled_from(["stated", "derived"]),
        "statement": st.sampled_from(["least share", "share"]),
        "metric": st.sampled_from(["least", "most"]),
        "arguments": st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)),
        "bounds": st.sampled_from([{"below": 1}, {"at_least": 0}]),
        "unit": st.sampled_from(["ms", "%"]),
        "replicas": st.sampled_from(["whole", "all"]),
        "profiles": st.sampled_from([["quick"], ["paper"]]),
        "explanation": st.sampled_from(["", "It is **empty**."]),
    },
)


@given(said, said, said)
def test_who_says_a_thing_last_decides(
    shared: dict[str, Any], entry: dict[str, Any], cell: dict[str, Any]
) -> None:
    """The sentence first, then the claim, then what is otherwise in a cell of it."""
    (found,) = expanded(entry | {"but": {"full": cell}}, **shared)
    parts = [SENTENCE, shared, entry, cell]
    arguments = reduce(operator.or_, (part.get("arguments", {}) for part in parts))
    together = reduce(operator.or_, parts) | {"id": "full", "arguments": arguments}
    assert found == sentences.Claim.model_validate(together)


def test_what_decides_is_in_place_of_what_is_said_above() -> None:
    found = expanded({"id": "a", "plotted": 3}, {"id": "b", "agrees": 10}, {"id": "c"})
    assert [each.plotted for each in found] == [3, None, None]
    expected = ["None", "at least 8, at most 12", "at least 0.95"]
    assert [str(each.bounds) for each in found] == expected


def test_names_are_for_ids_and_words_for_statements() -> None:
    queues = {"for": {"queue": ["FQ-CoDel", "PIE"]}}
    percentiles = {"percentile": {"median": 50, "p90": 90}}
    found = expanded(
        {
            "id": "{queue}-{percentile}",
            "for": percentiles,
            "words": {"percentile": ["median", "90th percentile"], "number": [1, 2.5, 3, 4]},
            "statement": "{queue}: {percentile}, {number} ms",
        },
        **queues,
    )
    assert [each.id for each in found] == [
        *("fq-codel-median", "fq-codel-p90"),
        *("pie-median", "pie-p90"),
    ]
    assert [each.statement for each in found] == [
        *("FQ-CoDel: median, 1 ms", "FQ-CoDel: 90th percentile, 2.5 ms"),
        *("PIE: median, 3 ms", "PIE: 90th percentile, 4 ms"),
    ]
    assert [each.arguments["percentile"] for each in found] == [50, 90, 50, 90]


def test_lines_of_a_table() -> None:
    """A list of the sentence's is of its cells, one of a claim's of all that the claim has."""
    found = expanded(
        {"id": "a-{row}-{sd}", "for": {"sd": [1, 2]}, "agrees": [10, 20, 30, 40]},
        {"id": "b-{row}", "plotted": [5, 6]},
        **{"for": {"row": [1, 2]}, "quote": ["1 | 10", "2 | 30"]},
    )
    assert [(each.id, each.quote) for each in found] == [
        *(("a-1-1", "1 | 10"), ("a-1-2", "1 | 10"), ("b-1", "1 | 10")),
        *(("a-2-1", "2 | 30"), ("a-2-2", "2 | 30"), ("b-2", "2 | 30")),
    ]
    bounds = [each.bounds.at_least for each in found if each.bounds]
    assert (bounds, [each.plotted for each in found][2::3]) == ([8, 16, 24, 32], [5, 6])


@given(st.integers(-(10**6), 10**6), st.integers(1, 200), st.integers(0, 10**4))
def test_a_number_agrees_with_itself_and_never_with_its_opposite(
    hundredths: int, percent: int, least: int
) -> None:
    number = hundredths / 100
    units = {"ms": least / 100} if least else {}
    agreement = sentences.Agreement(percent=percent, least=units)
    bounds = agreement.bounds(number, "ms")
    assert bounds.hold(number)
    if number:
        assert not bounds.hold(-number)
        assert not bounds.hold(0)
    far = max(abs(number) * percent / 100, least / 100) * 1.001 + 1e-9
    assert not bounds.hold(number + far)
    assert not bounds.hold(number - far)
    assert agreement.bounds(number, "%") == sentences.Agreement(percent=percent).bounds(number, "%")


@pytest.mark.parametrize(
    ("number", "unit", "bounds"),
    [
        (13, "%", "at least 8, at most 18"),
        (31, "%", "at least 24.8, at most 37.2"),
        (5, "%", "above 0, at most 10"),
        (-5, "%", "at least -10, below 0"),
        (1, "ms", "above 0, at most 3.4"),
        (0.37, "", "at least 0.296, at most 0.444"),
        (0, "ms", "at least -2.4, at most 2.4"),
    ],
)
def test_bounds_of_a_number_are_as_people_reckon(number: float, unit: str, bounds: str) -> None:
    assert str(sentences.Agreement.model_validate(AGREEMENT).bounds(number, unit)) == bounds


def test_profiles_of_a_file() -> None:
    both = sentence({"id": "a"}, {"id": "b", "profiles": ["paper"]})
    terms = sentences.Terms(profiles=["quick"])
    found = terms.claims([sentences.Quoted.model_validate(both)])
    assert [each.profiles for each in found] == [["quick"], ["paper"]]


QUEUES = {"queue": ["CoDel", "PIE"]}


@pytest.mark.parametrize(
    ("entry", "shared", "says"),
    [
        ({"metrc": "most"}, {}, "sentences[0].claims[0].metrc: unknown key"),
        ({}, {"axes": QUEUES}, "sentences[0].axes: unknown key"),
        ({"bounds": {"minimum": 1}}, {}, "sentences[0].claims[0].bounds.minimum: unknown key"),
        (
            {"but": {"full": {"for": QUEUES}}},
            {},
            "sentences[0].claims[0].but.full.for: unknown key",
        ),
        ({"for": {"queue": []}}, {}, "sentences[0].claims[0].for.queue"),
        ({"statement": "{queue}"}, {}, "full: statement: nothing is called {queue}."),
        (
            {"for": QUEUES, "id": "{queue}-full", "statement": "{queu}: share"},
            {},
            "{queue}-full: statement: nothing is called {queu}, did you mean 'queue'?",
        ),
        ({"id": "{beta}", "for": QUEUES}, {}, "{beta}: id: nothing is called {beta}."),
        ({"for": QUEUES}, {}, "two claims are called full"),
        (
            {"id": "{queue}", "for": QUEUES, "agrees": [1, 2, 3]},
            {},
            "{queue}: agrees: has 3 entries, not one for each of 2 cells",
        ),
        (
            {"id": "{queue}", "for": QUEUES, "quote": ["a"]},
            {},
            "{queue}: quote: has 1 entries, not one for each of 2 cells",
        ),
        (
            {"id": "{queue}"},
            {"for": QUEUES, "where": ["a", "b", "c"]},
            "{queue}: where: has 3 entries, not one for each of 2 cells",
        ),
        (
            {"id": "{queue}", "for": QUEUES, "words": {"queue": ["a"]}, "statement": "{queue}"},
            {},
            "{queue}: words: queue: has 1 entries, not one for each of 2 values",
        ),
        (
            {"id": "{queue}", "for": QUEUES, "words": {"word": ["a"]}, "statement": "{word}"},
            {},
            "{queue}: words: word: has 1 entries, not one for each of 2 cells",
        ),
        (
            {"id": "{queue}", "for": QUEUES, "words": {"queu": ["a", "b"]}},
            {},
            "{queue}: words: the statement has no {queu}",
        ),
        (
            {"id": "{queue}", "for": QUEUES, "but": {"pi": {"unit": "ms"}}},
            {},
            "{queue}: but: no claim is called pi, did you mean 'pie'?",
        ),
        (
            {"id": "{queue}", "for": QUEUES},
            {"for": QUEUES},
            "{queue}: for: its sentence is for each queue already",
        ),
        ({"agrees": 10}, {}, "full: agrees: the paper has no agreement"),
        ({"plotted": 1, "bounds": {"below": 1}}, {}, "full: needs bounds, or"),
        ({"isolated": "fig9"}, {}, "full: isolated: no figure fig9"),
        ({"flips": "fig9/full"}, {}, "full: flips: no claim fig9/full"),
        ({"flips": "fig1/ful"}, {}, "full: flips: no claim fig1/ful, did you mean 'fig1/full'?"),
    ],
)
def test_what_is_wrong_with_a_sentence(
    entry: dict[str, Any], shared: dict[str, Any], says: str, write: Write
) -> None:
    write(fig1=[sentence(entry, **shared)])
    with pytest.raises(UsageError) as raised:
        claims.claims("p", "fig1")
    place = r"fig1\.yaml(:\d+: (sentences\[0\]\.claims\[0\]: )?|: )"
    assert re.search(place + re.escape(says), raised.value.message)


@pytest.mark.parametrize("key", ["quote", "where", "kind", "statement", "metric", "bounds"])
def test_what_a_claim_needs(key: str, write: Write) -> None:
    content = sentence()
    del content[key]
    write(fig1=[content])
    with pytest.raises(
        UsageError, match=rf"fig1\.yaml:\d+: sentences\[0\]\.claims\[0\]: full: .*{key}"
    ):
        claims.claims("p", "fig1")


def test_a_figure_without_claims(write: Write) -> None:
    write(fig1=[], fig2=[sentence(), sentence()])
    with pytest.raises(UsageError, match=r"fig2\.yaml: two claims are called full"):
        claims.claims("p", "fig2")
    with pytest.raises(UsageError, match=r"fig1\.yaml:5: sentences: is empty: give at least one"):
        claims.claims("p", "fig1")


def test_bounds_as_they_were(write: Write) -> None:
    later = CHANGE | {"date": "2026-06-01", "outcomes": {"empty": "open", "full": "holds"}}
    both = sentence({}, {"id": "empty"})
    write(
        fig1=[both],
        amended={"fig1": [CHANGE, later]},
    )
    full, empty = claims.claims("p", "fig1")
    assert [str(each.date) for each in full.amended] == ["2026-05-01", "2026-06-01"]
    assert [each.outcome for each in full.amended] == ["fails", "holds"]
    assert [each.outcome for each in empty.amended] == ["open"]
    assert claims.claims("p", "fig2")[0].amended == []


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        (
            {"fig1": [CHANGE | {"outcomes": {"ful": "fails"}}]},
            "amended.yaml: fig1: no claim is called ful, did you mean 'full'?",
        ),
        ({"fig11": [CHANGE]}, "amended.yaml: there is no figure fig11, did you mean 'fig1'?"),
        (
            {"fig1": [CHANGE | {"outcome": "fails"}]},
            "amended.yaml:4: figures.fig1[0].outcome: ",
        ),
        ({"fig1": [CHANGE | {"outcomes": {}}]}, "amended.yaml:4: figures.fig1[0].outcomes"),
    ],
)
def test_what_is_wrong_with_an_amendment(figures: dict[str, Any], says: str, write: Write) -> None:
    write(amended=figures)
    with pytest.raises(UsageError) as raised:
        claims.claims("p", "fig1")
    assert says in raised.value.message


def test_all_that_is_wrong_with_a_file_is_told_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "fig1.yaml"
    file.write_text("where:\n- Abstract\n- 3\nqoute: the link is full\n")

    class Said(Part):
        quote: str
        where: str | list[str]

    with pytest.raises(UsageError) as raised:
        strict.parse(file, Said)
    assert raised.value.message.splitlines() == [
        f"{file}:1: quote: is missing",
        f"{file}:3: where[1]: 3 is not text: put it in quotes",
        f"{file}:4: qoute: unknown key, did you mean 'quote'? Keys here: quote, where",
    ]
    file.write_text("where: [\n")
    with pytest.raises(UsageError, match=r"fig1\.yaml:2, column 1: .*did not find expected node"):
        strict.parse(file, Said)
    file.write_text("quote: one\nwhere: Abstract\nquote: another\n")
    twice = r"fig1\.yaml:3, column 1: the key 'quote' stands there twice, first in line 1"
    with pytest.raises(UsageError, match=twice):
        strict.parse(file, Said)


def test_code_without_metrics_says_so(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(fig1=[sentence({})])
    (tmp_path / "p" / "fig1.py").touch()
    for name in ("pipelines", "pipelines.p", "pipelines.p.fig1"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(UsageError, match=r"fig1.py has no table, plot"):
        code.module("p", "fig1")
