"""A claim passes, fails, or is an error: it never passes for want of data."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.errors import SandglassError, UsageError
from sandglass.papers import shelf, verdicts

TABLE = pl.DataFrame({"rtt_ms": [20, 320], "share": [0.98, 0.8]})


def least(table: pl.DataFrame, rtt_up_to_ms: float) -> float | None:
    return verdicts.scalar(table.filter(pl.col("rtt_ms") <= rtt_up_to_ms)["share"].min())


def claim(**changes: Any) -> verdicts.Claim:
    content = {
        "id": "full",
        "quote": "the link is full",
        "where": "Abstract",
        "kind": "derived",
        "statement": "least share",
        "metric": "least",
        "arguments": {"rtt_up_to_ms": 60},
        "bounds": {"at_least": 0.95},
        "explanation": "It is **empty**.",
    }
    return verdicts.Claim.model_validate(content | changes)


def judge(*claims: verdicts.Claim, table: pl.DataFrame = TABLE) -> list[verdicts.Verdict]:
    return verdicts.judge(claims, table, [least], paper="TR-1", figure="fig03", profile="quick")


def test_pass() -> None:
    (verdict,) = judge(claim())
    assert (verdict.verdict, verdict.measured) == ("pass", 0.98)
    assert verdict.expected == "least share: at least 0.95"
    assert verdict.explanation == ""


def test_the_order_in_which_was_summed_does_not_show() -> None:
    sums = [(0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)]
    assert len(set(sums)) == 2
    tables = [TABLE.with_columns(share=pl.lit(value)) for value in sums]
    assert {judge(claim(), table=table)[0].measured for table in tables} == {0.6}


def test_fail_with_its_explanation() -> None:
    (verdict,) = judge(claim(arguments={"rtt_up_to_ms": 400}))
    assert (verdict.verdict, verdict.measured) == ("fail", 0.8)
    assert verdict.explanation == "It is **empty**."


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        ({"at_least": 0.98}, "pass"),
        ({"above": 0.98}, "fail"),
        ({"at_most": 0.98}, "pass"),
        ({"below": 0.98}, "fail"),
        ({"at_least": 0.9, "below": 0.99}, "pass"),
        ({"at_least": 0.9, "below": 0.95}, "fail"),
    ],
)
def test_ends_of_bounds(bounds: dict[str, float], outcome: str) -> None:
    assert judge(claim(bounds=bounds))[0].verdict == outcome


def test_a_profile_that_cannot_judge_says_so() -> None:
    (verdict,) = judge(claim(profiles=["paper"]))
    assert (verdict.verdict, verdict.measured) == ("not judged", None)


@pytest.mark.parametrize(
    ("changes", "table", "says"),
    [
        ({"metric": "most"}, TABLE, "no metric most; the figure has least"),
        ({"metric": "most", "profiles": ["paper"]}, TABLE, "no metric most"),
        ({"arguments": {"rtt": 60}}, TABLE, "missing a required argument|unexpected"),
        ({"arguments": {"rtt_up_to_ms": 10}}, TABLE, "no value"),
        ({}, TABLE.clear(), "no value"),
        ({}, TABLE.with_columns(share=pl.lit(None, pl.Float64)), "no value"),
        ({}, TABLE.with_columns(share=pl.lit(float("nan"))), "no value"),
        ({}, TABLE.with_columns(share=pl.lit(float("inf"))), "no value"),
        ({}, TABLE.drop("share"), "share"),
    ],
)
def test_what_cannot_be_measured_is_an_error(
    changes: dict[str, Any], table: pl.DataFrame, says: str
) -> None:
    with pytest.raises(SandglassError, match=says) as raised:
        judge(claim(**changes), table=table)
    assert "fig03: claim full" in raised.value.message


def test_all_errors_are_told_at_once() -> None:
    with pytest.raises(SandglassError, match=r"claim one.*\n.*claim two"):
        judge(claim(id="one", metric="most"), claim(), claim(id="two", metric="most"))


@pytest.mark.parametrize(
    "changes",
    [
        {"bounds": {}},
        {"bounds": {"minimum": 1}},
        {"kind": "guessed"},
        {"profile": ["quick"]},
    ],
)
def test_a_malformed_claim(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        claim(**changes)


def test_csv_round_trip(tmp_path: Path) -> None:
    found = judge(claim(), claim(id="later", profiles=["paper"]), claim(bounds={"below": 0.5}))
    verdicts.frame(found).write_csv(tmp_path / "verdicts.csv")
    assert verdicts.read(tmp_path / "verdicts.csv") == found
    header = (tmp_path / "verdicts.csv").read_text().splitlines()[0]
    assert header == "paper,figure,claim,quote,kind,expected,measured,verdict,explanation"


def test_summary() -> None:
    found = judge(claim(), claim(id="empty", arguments={"rtt_up_to_ms": 400}))
    assert verdicts.summary(found).splitlines() == [
        "fig03: 1 pass, 1 fail",
        "  fail: empty: least share: at least 0.95; measured 0.8",
    ]


def test_a_figure_without_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "figures.yaml").touch()
    whole = claim().model_dump(exclude_none=True)
    content = {"figures": {"fig03": [whole], "fig04": [whole, whole]}}
    (tmp_path / "p" / "expect.yaml").write_text(yaml.safe_dump(content))
    assert verdicts.claims("p", "fig03") == [claim()]
    with pytest.raises(UsageError, match="fig05 has no claim"):
        verdicts.claims("p", "fig05")
    with pytest.raises(UsageError, match="two claims called full"):
        verdicts.claims("p", "fig04")
