"""A claim holds, fails, is open, or is an error: it never holds for want of data."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError, UsageError
from sandglass.papers import claims, ensemble, shelf, verdicts

TABLE = pl.DataFrame({"rtt_ms": [20, 320], "share": [0.98, 0.8]})


def least(table: pl.DataFrame, rtt_up_to_ms: float) -> float | None:
    return verdicts.scalar(table.filter(pl.col("rtt_ms") <= rtt_up_to_ms)["share"].min())


def claim(**changes: Any) -> claims.Claim:
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
    return claims.Claim.model_validate(content | changes)


def judge(*sentences: claims.Claim, table: pl.DataFrame = TABLE) -> list[verdicts.Verdict]:
    return verdicts.judge(sentences, table, [least], paper="TR-1", figure="fig03", profile="quick")


def test_holds() -> None:
    (verdict,) = judge(claim())
    assert (verdict.verdict, verdict.measured) == ("holds", 0.98)
    assert verdict.expected == "least share: at least 0.95"
    assert verdict.explanation == ""


def test_the_order_in_which_was_summed_does_not_show() -> None:
    sums = [(0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)]
    assert len(set(sums)) == 2
    tables = [TABLE.with_columns(share=pl.lit(value)) for value in sums]
    assert {judge(claim(), table=table)[0].measured for table in tables} == {0.6}


def test_fails_with_its_explanation() -> None:
    (verdict,) = judge(claim(arguments={"rtt_up_to_ms": 400}))
    assert (verdict.verdict, verdict.measured) == ("fails", 0.8)
    assert verdict.explanation == "It is **empty**."


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        ({"at_least": 0.98}, "holds"),
        ({"above": 0.98}, "fails"),
        ({"at_most": 0.98}, "holds"),
        ({"below": 0.98}, "fails"),
        ({"at_least": 0.9, "below": 0.99}, "holds"),
        ({"at_least": 0.9, "below": 0.95}, "fails"),
    ],
)
def test_ends_of_bounds(bounds: dict[str, float], outcome: str) -> None:
    assert judge(claim(bounds=bounds))[0].verdict == outcome


def replicas(*shares: float) -> pl.DataFrame:
    """A table with a replica for each share at 20 ms; at 320 ms all have 0.97."""
    return pl.concat(
        TABLE.with_columns(share=pl.Series([share, 0.97]), replica=pl.lit(number))
        for number, share in enumerate(shares, 1)
    )


@pytest.mark.parametrize(
    ("shares", "outcome"),
    [
        ((0.96, 0.97, 0.98), "open"),  # the mean's interval is from 0.945
        ((0.969, 0.970, 0.971), "holds"),
        ((0.90, 0.91, 0.92), "fails"),
        ((0.96, 0.96, 0.96), "holds"),
    ],
)
def test_replicas_are_judged_by_the_whole_interval(shares: tuple[float, ...], outcome: str) -> None:
    (verdict,) = judge(claim(), table=replicas(*shares))
    assert (verdict.verdict, verdict.n) == (outcome, 3)
    assert verdict.measured == pytest.approx(sum(shares) / 3)
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.measured is not None
    assert verdict.low <= verdict.measured <= verdict.high


def test_the_least_of_means_is_not_the_mean_of_the_least() -> None:
    """Replicas that are low at one point or the other are not low in the mean."""
    table = pl.concat(
        TABLE.with_columns(share=pl.Series(shares), replica=pl.lit(number))
        for number, shares in enumerate([(0.9, 1.0), (1.0, 0.9), (0.94, 0.99), (0.99, 0.94)], 1)
    )
    everywhere = {"arguments": {"rtt_up_to_ms": 400}, "bounds": {"at_least": 0.94}}
    (each,) = judge(claim(**everywhere), table=table)
    (mean,) = judge(claim(over="means", **everywhere), table=table)
    assert each.measured == pytest.approx(0.92)
    assert mean.measured is not None
    assert mean.measured > 0.95


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_pseudo_values_of_a_linear_metric_are_the_replicas(shares: list[float]) -> None:
    tables = ensemble.replicas(replicas(*shares))
    found = ensemble.pseudo_values(lambda table: float(table["share"][0]), tables)
    assert found == pytest.approx(shares, abs=1e-9)


def test_replicas_of_other_lengths_have_no_mean() -> None:
    with pytest.raises(SandglassError, match="from 1 to 2 rows"):
        judge(claim(over="means"), table=replicas(0.96, 0.97).head(3))


def test_one_plotted_run() -> None:
    """The paper's number has to be like one of ours; fewer than 20 of these say nothing."""
    many = [0.9 + 0.002 * i for i in range(40)]
    for plotted, shares, outcome in (
        (0.95, many, "holds"),
        (0.85, many, "fails"),
        (0.95, many[:19], "open"),
    ):
        (verdict,) = judge(claim(bounds=None, plotted=plotted), table=replicas(*shares))
        assert verdict.verdict == outcome
    (verdict,) = judge(claim(bounds=None, plotted=0.9399), table=replicas(*many))
    assert verdict.quantile == 0.5
    assert "0.94 in one run" in verdict.expected.replace("0.9399", "0.94")


def test_what_a_bound_was_is_told() -> None:
    before = {"date": "2026-05-01", "was": "at most 5", "outcome": "fails", "reason": "Sec. II"}
    (verdict,) = judge(claim(amended=[before]))
    assert verdict.amended == "2026-05-01: was at most 5, fails; Sec. II"


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
        {"plotted": 0.9},
        {"bounds": None},
        {"sentence": "guess"},
        {"amended": [{"date": "2026-05-01", "was": "at most 5", "outcome": "fails"}]},
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
    assert header == (
        "paper,figure,claim,sentence,kind,quote,where,expected,n,measured,low,high,quantile,"
        "verdict,amended,explanation,isolated"
    )


def test_summary() -> None:
    far = {"rtt_up_to_ms": 400}
    found = judge(
        claim(), claim(id="empty", arguments=far), claim(id="code", sentence="check", arguments=far)
    )
    assert verdicts.summary(found).splitlines() == [
        "fig03: 1 holds, 1 fails; checks: 1 fails",
        "  fails: empty: least share: at least 0.95; measured 0.8",
        "  fails: code: least share: at least 0.95; measured 0.8",
    ]


def test_a_figure_without_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    (tmp_path / "p").mkdir()
    figure = {"title": "Fig. 3", "caption": "One flow.", "setup": {}}
    about = {"paper": "TR-1", "title": "A paper", "figures": {"fig03": figure}}
    (tmp_path / "p" / "figures.yaml").write_text(yaml.safe_dump(about))
    whole = claim().model_dump(exclude_none=True)
    elsewhere = whole | {"isolated": "fig07"}
    content = {"figures": {"fig03": [whole], "fig04": [whole, whole], "fig06": [elsewhere]}}
    (tmp_path / "p" / "expect.yaml").write_text(yaml.safe_dump(content))
    assert claims.claims("p", "fig03") == [claim()]
    with pytest.raises(UsageError, match="fig05 has no claim"):
        claims.claims("p", "fig05")
    with pytest.raises(UsageError, match="two claims called full"):
        claims.claims("p", "fig04")
    with pytest.raises(UsageError, match="full: isolated: no figure fig07"):
        claims.claims("p", "fig06")
