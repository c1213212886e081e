"""Metrics: what expressions and aggregates give, and when they give nothing."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.results.series import Run
from sandglass.studies import metric
from sandglass.studies.metric import Aggregate

DOCUMENT: dict[str, Any] = {
    "flows": [
        {"id": 1, "goodput_mbit": 6.0, "fct_s": None, "cc": "cubic", "ecn": True},
        {"id": 2, "goodput_mbit": 2.0, "fct_s": 0.5, "cc": "reno", "ecn": False, "plt_s": 4.0},
    ],
    "bottleneck": {"utilisation": 0.8, "queue_delay_ms": {"p95": 12.5}},
    "bottlenecks": {"hop-1": {"drops": 3}, "hop-2": {"drops": 5}},
    "virtual_s": 10.0,
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    pl.DataFrame({"flow": [1, 1, 2, 2], "sojourn_ns": [1.0, 3.0, 10.0, 20.0]}).write_parquet(
        tmp_path / "packets.parquet"
    )
    return Run(tmp_path, {}, DOCUMENT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flows.0.goodput_mbit", 6),
        ("virtual_s", 10),
        ("bottleneck.queue_delay_ms.p95*2", 25),
        ("-bottleneck.utilisation + 1", 0.2),
        ("sum(flows.*.goodput_mbit)", 8),
        ("sum(flows.*.goodput_mbit)/virtual_s", 0.8),
        ("max(flows.*.goodput_mbit) - min(flows.*.goodput_mbit)", 4),
        ("jain(flows.*.goodput_mbit)", 64 / 80),
        ("quantile(flows.*.goodput_mbit, 0.25)", 3),
        ("p50(flows.*.goodput_mbit)", 4),
        ("mean(present(flows.*.fct_s))", 0.5),
        ("count(flows.*.goodput_mbit)", 2),
        ("mean(flows.*.plt_s)", 4),
        ("mean(flows.*.ecn)", 0.5),
        ("sum(bottlenecks.*.drops)", 8),
        ('bottlenecks."hop-1".drops', 3),
        ("abs(1 - 1e1)", 9),
        ("2 ** 3 + sqrt(16) + log(1)", 12),
    ],
)
def test_an_expression_gives_its_number(run: Run, text: str, value: float) -> None:
    assert metric.expression(text).value(run) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flows.0.goodput", "run.json has no flows.0.goodput"),
        ("flows.2.goodput_mbit", "run.json has no flows.2.goodput_mbit"),
        ("flows.0.fct_s", "flows.0.fct_s is null in run.json"),
        ("flows.0.cc", "flows.0.cc is no number but 'cubic'"),
        ("flows.0", "flows.0 is no number"),
        ("flows.*.goodput_mbit", "a list stands where one number should"),
        ("mean(flows.*.fct_s)", "1 of 2 values are null"),
        ("mean(virtual_s)", "this function is of a list"),
        ("sum(present(flows.*.nothing))", "run.json has no flows.*.nothing"),
        ("1 / (virtual_s - 10)", "division by zero"),
        ("10 ** 400", "range error"),
        ("log(0)", "math domain error"),
        ("quantile(flows.*.goodput_mbit, 95)", "write a share from 0 to 1"),
    ],
)
def test_a_value_that_is_missing_is_never_a_number(run: Run, text: str, said: str) -> None:
    with pytest.raises(SandglassError) as caught:
        metric.values({"m": metric.expression(text)}, run)
    assert caught.value.message.startswith(f"{run.directory}: metric m has no value: ")
    assert said in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 +", "a b", "__import__('os')", "().__class__", "[x for x in seed]", "'a'", "True"),
        *("lambda: 1", "seed if 1 else 2", "seed.real()", "sum(*seed)", "sum(x=seed)", "1j"),
        *("é", "é + seed", "seed + é", "\uff3f0 + seed", "seed é"),
        *("f'{seed}'", "seed[0]", "1 < 2", "eval(seed)", "sum", "9" * 2000, "(" * 900 + "1"),
    ],
)
def test_nothing_else_is_an_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        metric.expression(text)


def test_an_aggregate_gives_its_number(run: Run) -> None:
    assert Aggregate("packets", "max(sojourn_ns)").value(run) == 20
    assert Aggregate("packets", "AVG(sojourn_ns) / 2", "flow = 1").value(run) == 1
    assert Aggregate("packets", "QUANTILE_CONT(sojourn_ns, 0.5)").value(run) == 6.5
    assert Aggregate("packets", "COUNT(*)", "flow = 2").value(run) == 2
    assert Aggregate("packets", "1.0 * COUNT(*)", "flow = 2").value(run) == 2


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        (Aggregate("acks", "max(time_ns)"), "acks.parquet is missing"),
        (Aggregate("packets", "max(sojourn)"), 'unable to find column "sojourn"'),
        (Aggregate("packets", "sojourn_ns"), "is no aggregate"),
        (Aggregate("packets", "max(sojourn_ns)", "flow = 3"), "is None: no number"),
        (Aggregate("packets", "max(sojourn_ns) / 0"), "it is inf"),
    ],
)
def test_an_aggregate_without_a_value_says_why(run: Run, aggregate: Aggregate, said: str) -> None:
    with pytest.raises(SandglassError, match="metric m has no value") as caught:
        metric.values({"m": aggregate}, run)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("flows.0.goodput_mbit", "Mb/s"),  # as figures have the rates of axes and series
        ("sum(present(flows.*.goodput_mbit))", "Mb/s"),
        ("bottleneck.queue_delay_ms.p95", "ms"),
        ("max(flows.*.fct_s)", "s"),
        ("bottleneck.utilisation", ""),
        ("flows.0.goodput_mbit / 20", ""),
    ],
)
def test_a_field_has_its_unit(text: str, unit: str) -> None:
    assert metric.expression(text).unit == unit
