"""`study` of a paper's figure."""

import pytest
import typer

from sandglass.cli import studies
from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.papers import reproduce

FIGURE = builds.ROOT / "pipelines" / "abe" / "fig05.yaml"


def test_it_is_reproduced(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def take(*words: object, strict: bool) -> int:
        asked.append(words)
        return 3

    monkeypatch.setattr(reproduce, "reproduce", take)
    with pytest.raises(typer.Exit) as ended:
        studies.study(FIGURE, cores=1)
    assert ended.value.exit_code == 3
    assert asked == [(["abe/fig05"], "quick", 1)]


def test_it_is_not_varied() -> None:
    with pytest.raises(UsageError, match="is a figure of a paper, whose runs are what its file"):
        studies.study(FIGURE, vary=["rtt=20ms,40ms"])
