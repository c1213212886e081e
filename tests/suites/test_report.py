"""What the report says of cells, in which order, and how much depends on each option."""

import math

import polars as pl
import pytest

from sandglass.suites import report, sensitivity, suite
from sandglass.suites.judging import Cell, Side


def cell(side: Side, p_holm: float = 0.0, p: float = 0.0) -> Cell:
    return Cell(
        scenario="s",
        point={},
        metric="m",
        against="a",
        n=3,
        mean=1,
        other=2,
        difference=-1,
        low=-1.1,
        high=-0.9,
        margin=0.1,
        side=side,
        p=p,
        pooled=False,
        p_holm=p_holm,
    )


BETTER, WORSE, EQUAL = cell("better"), cell("worse"), cell("equal")


@pytest.mark.parametrize(
    ("cells", "text", "classes"),
    [
        ([BETTER, BETTER], "▲ better", "holds"),
        ([BETTER, cell("better", 0.3, 0.06)], "▲ 1, ? 1", "holds"),
        ([BETTER, cell("better", 0.06)], "▲ 1, △ 1", "holds"),
        ([cell("better"), cell("worse", 0.06)], "▲ 1, ▽ 1", "open"),
        # Better here and worse there is neither.
        (
            [cell("better"), cell("worse"), cell("equal")],
            "▲ 1, ▼ 1, = 1",
            "open",
        ),
        ([], "", "muted"),
    ],
)
def test_a_cell_of_the_summary_has_the_words_of_all_points(
    cells: list[Cell], text: str, classes: str
) -> None:
    assert report.said(cells) == report.Said(text, classes)


def test_sections_come_in_the_order_of_the_document() -> None:
    whole = suite.read(suite.SUITES / "qdisc").described
    sections = [each.section for each in whole.scenarios]
    sections += [each.section for each in whole.prompts]
    assert sorted(set(sections), key=report.in_order) == [
        *("4.4", "4.5", "4.6", "5.1.1", "5.1.2", "5.2", "5.3a", "5.3b", "5.4", "6.2", "7.2"),
        *("8.2.2", "8.2.5", "8.2.6a", "8.2.6b", "8.3", "9.1", "9.2", "10.2", "11", "12", "L4S"),
    ]


def test_an_elasticity_is_the_slope_of_logarithms() -> None:
    """A delay that goes with the target has 1, a goodput that does not 0, one that is 0 none."""
    rows = [
        {"queue": label, "replica": n, "delay": n * delay, "goodput": 9.5, "loss": 0.0}
        for label, delay in (("mine", 10.0), ("target half", 5.0), ("target double", 20.0))
        for n in (1, 2, 3)
    ]
    found = list(
        sensitivity.elasticities(
            pl.DataFrame(rows), ["queue"], "queue", ["delay", "goodput", "loss"]
        )
    )
    assert [(each.option, each.metric, each.n) for each in found] == [
        ("target", "delay", 3),
        ("target", "goodput", 3),
        ("target", "loss", 3),
    ]
    delay, goodput, loss = (each.value for each in found)
    assert delay is not None
    assert goodput is not None
    assert delay.mean == pytest.approx(1)
    assert goodput.mean == 0
    assert loss is None
    assert [each.word for each in found] == ["sensitive", "insensitive", "a value is 0"]
    assert math.isfinite(delay.half_width)
