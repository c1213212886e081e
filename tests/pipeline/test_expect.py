"""What a paper claims, as its files say it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.papers import claims, shelf

FIGURE = {"title": "A figure", "caption": "One flow.", "setup": {}}
CLAIM = {
    "id": "full",
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

Write = Callable[..., Path]


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write the files of a paper p, which has the figures fig1 and fig2."""
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    home = tmp_path / "p"
    home.mkdir()

    def write(**files: dict[str, Any]) -> Path:
        for name, content in files.items():
            (home / f"{name}.yaml").write_text(yaml.safe_dump(content))
        return home

    figures = {"fig1": FIGURE, "fig2": FIGURE}
    write(figures={"paper": "TR-1", "title": "A paper", "figures": figures})
    return write


def test_bounds_as_they_were(paper: Write) -> None:
    more = CHANGE | {"date": "2026-06-01", "outcomes": {"empty": "open", "full": "holds"}}
    paper(
        expect={"figures": {"fig1": [CLAIM, CLAIM | {"id": "empty"}], "fig2": [CLAIM]}},
        amended={"figures": {"fig1": [CHANGE, more]}},
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
        ({"fig1": [CHANGE | {"outcome": "fails"}]}, "amended.yaml: figures.fig1.0.outcome"),
        ({"fig1": [CHANGE | {"outcomes": {}}]}, "amended.yaml: figures.fig1.0.outcomes"),
    ],
)
def test_what_is_wrong_with_an_amendment(figures: dict[str, Any], says: str, paper: Write) -> None:
    paper(expect={"figures": {"fig1": [CLAIM]}}, amended={"figures": figures})
    with pytest.raises(UsageError) as raised:
        claims.claims("p", "fig1")
    assert says in raised.value.message
