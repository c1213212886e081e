"""The numbers that a source prints, beside ours."""

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.papers import published
from sandglass.papers.published import Pair
from sandglass.papers.shelf import Published
from sandglass.results import style
from tests.pipeline.test_rulings import judged, ruling

TABLE = pl.DataFrame(
    {
        "case": ["1", "1", "2", "2", "3", "3"],
        "replica": [1, 2, 1, 2, 1, 2],
        "thesis_us": [100.0, 100.0, None, None, 50.0, 50.0],
        "ours_us": [90.0, 120.0, 1.0, 1.0, 70.0, 74.0],
    }
)
COLUMNS = Published(theirs="thesis_us", ours="ours_us", by=["case"], unit="us")


def test_ours_is_the_mean_over_replicas() -> None:
    pairs = [*published.of_table("delays", TABLE, COLUMNS)]
    assert pairs == [Pair("delays", "1", "us", 100.0, 105.0), Pair("delays", "3", "us", 50.0, 72.0)]
    assert [each.near for each in pairs] == [True, False]
    assert published.said(pairs) == "Ours is within a fifth of 1 of the 2 printed numbers"


def test_claims_have_theirs() -> None:
    found = ruling(
        judged("holds", 12.0, 11, 13),
        judged("not judged"),
        judged("holds", 1.0, bounds={"above": 0}),
    )
    assert [*published.of_claims([found])] == [Pair("fig07", "gain", "%", 13.0, 12.0)]


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(SandglassError, match="delays: published: the table has no column p95"):
        list(published.of_table("delays", TABLE, COLUMNS.model_copy(update={"ours": "p95"})))


def test_only_what_a_logarithm_has_is_drawn() -> None:
    pairs = [
        Pair("f", "a", "", 10.0, 11.0),
        Pair("f", "b", "", 0.0, 0.0),
        Pair("f", "c", "", 5.0, 1e-13),
    ]
    plot = published.plot(pairs)
    assert plot is not None
    assert len(plot.data) == 1  # type: ignore[arg-type]
    assert "2 where either is zero or negative are not drawn" in str(plot.labels.caption)
    assert style.drawn(plot, "svg") == style.drawn(plot, "svg")
    assert published.plot(pairs[1:]) is None
