"""A claim holds, fails, is open, or is an error: it never holds for want of data."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.papers import ensemble, sentences, verdicts

TABLE = pl.DataFrame({"rtt_ms": [20, 320], "share": [0.98, 0.8]})


def least(table: pl.DataFrame, rtt_up_to_ms: float) -> float | None:
    return verdicts.scalar(table.filter(pl.col("rtt_ms") <= rtt_up_to_ms)["share"].min())


def least_point(table: pl.DataFrame) -> verdicts.Extreme | None:
    return verdicts.least(table.select("rtt_ms", "share"), "share")


def farthest_point(table: pl.DataFrame) -> verdicts.Extreme | None:
    return verdicts.farthest(table.select("rtt_ms", off=pl.col("share") - 0.9), "off")


def of_each(table: pl.DataFrame) -> list[float]:
    return table["share"].to_list()


def claim(**changes: Any) -> sentences.Claim:
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
    said = {key: value for key, value in (content | changes).items() if value is not None}
    return sentences.Claim.model_validate(said)


def judge(*sentences: sentences.Claim, table: pl.DataFrame = TABLE) -> list[verdicts.Verdict]:
    metrics: list[verdicts.Metric] = [least, least_point, farthest_point, of_each]
    return verdicts.judge(sentences, table, metrics, paper="TR-1", figure="fig03", profile="quick")


def test_holds() -> None:
    (verdict,) = judge(claim())
    assert (verdict.verdict, verdict.measured) == ("holds", 0.98)


def test_nothing_has_no_sign() -> None:
    (verdict,) = judge(claim())
    nothing = {"measured": -0.0, "low": -0.0, "high": 0.0, "n": 4}
    assert verdict.model_copy(update=nothing).result == "0 (0 to 0, n = 4)"
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


def test_what_is_open_says_what_would_decide_it() -> None:
    (verdict,) = judge(claim(), table=replicas(0.9, 1.0))
    assert (verdict.verdict, verdict.explanation) == ("open", "It is **empty**.")


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


@pytest.mark.parametrize(
    ("plotted", "n", "outcome", "quantile"),
    [
        (0.95, 39, "holds", 25.5 / 39),
        (0.9, 39, "holds", 0.5 / 39),
        (0.85, 39, "fails", 0),
        (1.0, 39, "fails", 1),
        (0.95, 38, "open", 25.5 / 38),
        (0.902, 79, "holds", 1.5 / 79),  # 79: the second least and largest
        (0.9, 79, "fails", 0.5 / 79),
    ],
)
def test_one_plotted_run(plotted: float, n: int, outcome: str, quantile: float) -> None:
    """The paper's number has to be like one more of ours; fewer than 39 of these cannot tell."""
    shares = [round(0.9 + 0.002 * i, 3) for i in range(n)]
    (verdict,) = judge(claim(bounds=None, plotted=plotted), table=replicas(*shares))
    assert (verdict.verdict, verdict.n) == (outcome, n)
    assert verdict.quantile == pytest.approx(quantile)
    assert f"{plotted:g} in one run" in verdict.expected


def test_an_ensemble_of_the_least_size_covers_95_percent() -> None:
    random = np.random.default_rng(1)
    drawn = random.normal(size=(20_000, verdicts.ENSEMBLE + 1))
    ours = drawn[:, 1:]
    inside = (ours.min(axis=1) <= drawn[:, 0]) & (drawn[:, 0] <= ours.max(axis=1))
    assert inside.mean() == pytest.approx(0.95, abs=0.005)


def test_an_extreme_is_of_the_points_means() -> None:
    """Each replica's own least would be 0.94, 0.96 and 0.97, which is 0.957 on average."""
    (verdict,) = judge(claim(metric="least_point", arguments={}), table=replicas(0.94, 0.96, 0.98))
    # Student's t for two degrees of freedom, 4.30265, times 0.02 / sqrt(3).
    assert (verdict.measured, verdict.low, verdict.high) == pytest.approx(
        (0.96, 0.96 - 0.049683, 0.97), abs=1e-6
    )
    assert (verdict.n, verdict.verdict) == (3, "open")


def test_the_farthest_is_so_either_way() -> None:
    off = claim(metric="farthest_point", arguments={}, bounds={"at_most": 0.1})
    (verdict,) = judge(off, table=replicas(0.759, 0.76, 0.761))
    assert verdict.measured == pytest.approx(0.14)
    assert verdict.verdict == "fails"


def test_one_run_s_extreme_has_no_interval() -> None:
    (verdict,) = judge(claim(metric="least_point", arguments={}))
    assert (verdict.measured, verdict.low, verdict.high) == (0.8, None, None)
    below = claim(metric="farthest_point", arguments={}, bounds={"at_most": 0.11})
    (verdict,) = judge(below)
    assert verdict.measured == pytest.approx(0.1)


def test_an_extreme_without_points_or_with_others_is_an_error() -> None:
    of_all = claim(metric="least_point", arguments={})
    with pytest.raises(SandglassError, match="has no value"):
        judge(of_all, table=TABLE.clear())
    both = pl.concat([TABLE.with_columns(replica=1), TABLE.head(1).with_columns(replica=2)])
    with pytest.raises(SandglassError, match="different points"):
        judge(of_all, table=both)
    with pytest.raises(SandglassError, match="share: two rows are the same point"):
        judge(of_all, table=pl.concat([TABLE, TABLE]))


def partial(*shares: float) -> pl.DataFrame:
    """Two whole replicas, 0.96 and 0.98 at 20 ms, and for each share one that has 20 ms alone."""
    points = enumerate(shares, 3)
    parts = [(number, TABLE.head(1).with_columns(share=pl.lit(share))) for number, share in points]
    wholes = [(1, replicas(0.96)), (2, replicas(0.98))]
    tables = [(number, table.drop("replica")) for number, table in wholes]
    return ensemble.together([*tables, *parts], [number for number, _ in parts])


def test_replicas_of_some_points_count_for_claims_that_ask_for_all() -> None:
    """The least share at 320 ms, which they do not have, is no number of theirs."""
    table = partial(0.96, 0.98)
    near, far = claim(), claim(arguments={"rtt_up_to_ms": 400}, bounds={"at_most": 0.98})
    assert [verdict.n for verdict in judge(near, far, table=table)] == [2, 2]
    (verdict,) = judge(claim(replicas="all"), table=table)
    half = 3.18245 * 0.02 / 12**0.5  # Student's t of three degrees of freedom
    assert (verdict.n, verdict.verdict) == (4, "holds")
    assert (verdict.low, verdict.high) == pytest.approx((0.97 - half, 0.97 + half), abs=1e-6)


def test_a_point_of_an_extreme_has_the_replicas_that_have_it() -> None:
    all_replicas = claim(metric="least_point", arguments={}, replicas="all")
    (verdict,) = judge(all_replicas, table=partial(0.80, 0.98, 0.80))
    assert verdict.n == 5
    assert verdict.measured == pytest.approx(0.904)
    (verdict,) = judge(claim(metric="least_point", arguments={}), table=partial(0.80, 0.98, 0.80))
    assert verdict.n == 2
    assert verdict.measured == pytest.approx(0.97)


def test_n_of_an_extreme_is_that_of_the_point_that_decides() -> None:
    """Three more replicas of 20 ms alone say nothing more of 320 ms, which is the least here."""
    all_replicas = claim(metric="least_point", arguments={}, replicas="all")
    table = partial(1.0, 1.0, 1.0).with_columns(
        share=pl.when(rtt_ms=20).then(pl.max_horizontal("share", 0.975)).otherwise("share")
    )
    (verdict,) = judge(all_replicas, table=table)
    assert table.group_by("rtt_ms").len().sort("rtt_ms")["len"].to_list() == [5, 2]
    assert (verdict.measured, verdict.n) == (0.97, 2)


def test_a_replica_without_the_points_of_a_claim_is_none_of_it() -> None:
    far = TABLE.tail(1)
    table = ensemble.together([(1, TABLE), (2, TABLE.reverse()), (3, far)], [3])
    (verdict,) = judge(claim(replicas="all"), table=table)
    assert verdict.n == 2


def test_a_table_may_have_several_runs_itself() -> None:
    """Each of their numbers is a replica's."""
    (verdict,) = judge(claim(metric="of_each", arguments={}, bounds={"at_least": 0}))
    half = 12.7062 * 0.09  # Student's t of one degree of freedom, standard error of 0.98 and 0.8
    assert (verdict.n, verdict.verdict) == (2, "open")
    assert (verdict.low, verdict.high) == pytest.approx((0.89 - half, 0.89 + half), abs=1e-5)
    many = pl.DataFrame({"share": [round(0.9 + 0.002 * i, 3) for i in range(39)]})
    of_one = claim(metric="of_each", arguments={}, bounds=None, plotted=0.95)
    (verdict,) = judge(of_one, table=many)
    assert (verdict.n, verdict.verdict) == (39, "holds")
    with pytest.raises(SandglassError, match="has no value"):
        judge(of_one, table=TABLE.clear())


def test_a_replica_without_rows_is_not_passed_over() -> None:
    with pytest.raises(SandglassError, match="replica 2 is empty"):
        ensemble.together([(1, TABLE), (2, TABLE.clear())])
    with pytest.raises(SandglassError, match="replica 2 has the columns rtt_ms, and replica 1"):
        ensemble.together([(1, TABLE), (2, TABLE.drop("share"))])
    both = ensemble.together([(1, TABLE), (2, TABLE.reverse())])
    first, second = ensemble.replicas(both)
    assert first.equals(TABLE)
    assert second.equals(TABLE.reverse())


def test_replicas_that_are_equal_are_one_run() -> None:
    both = ensemble.together([(1, TABLE), (2, TABLE)])
    (verdict,) = judge(claim(), table=both)
    assert (verdict.n, verdict.low, verdict.high) == (1, None, None)


def test_one_run_is_the_first_replica() -> None:
    assert ensemble.numbered(TABLE)["replica"].to_list() == [1, 1]
    both = ensemble.together([(1, TABLE), (2, TABLE)])
    assert ensemble.numbered(both).equals(both)


def test_measures_stand_below_each_other_in_the_order_of_their_names() -> None:
    table = pl.DataFrame(
        {"rtt_ms": [20, 80], "load": [0.5, None], "ended": [3.0, 4.0], "id": [1, 2]}
    )
    names = {"load": "Load", "ended": "End (s)"}
    long = ensemble.measures(table, names, ["rtt_ms"])
    assert long.columns == ["replica", "rtt_ms", "measure", "value"]
    assert long.rows() == [
        (1, 20, "Load", 0.5),
        (1, 80, "Load", None),
        (1, 20, "End (s)", 3.0),
        (1, 80, "End (s)", 4.0),
    ]
    # Not by the alphabet.
    assert long.sort("measure")["measure"].to_list() == ["Load", "Load", "End (s)", "End (s)"]


def test_the_band_of_replicas_is_the_interval_of_their_mean() -> None:
    table = pl.DataFrame(
        {
            "rtt_ms": [80, 20] * 3,
            "share": [0.9, 0.5, 0.8, None, 0.7, 0.5],
            "replica": [1, 1, 2, 2, 3, 3],
        }
    )
    means = ensemble.means(table, ["rtt_ms"], "share")
    assert means["rtt_ms"].to_list() == [80, 20]
    first, second = means.rows(named=True)
    # Student's t of two degrees of freedom: 4.3027 times 0.1 / sqrt(3).
    assert first["share"] == pytest.approx(0.8)
    assert first["low"] == pytest.approx(0.8 - 0.24841, abs=1e-5)
    assert first["high"] == pytest.approx(0.8 + 0.24841, abs=1e-5)
    assert (second["share"], second["low"], second["high"]) == (0.5, 0.5, 0.5)
    assert ensemble.band(means, "rtt_ms") is not None


def test_one_run_has_no_band() -> None:
    means = ensemble.means(TABLE, TABLE.columns[:1], "share")
    assert means["share"].to_list() == TABLE["share"].to_list()
    assert means["low"].null_count() == means.height
    assert ensemble.band(means, "fill") is None


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
    verdicts.Verdict.frame(found).write_csv(tmp_path / "verdicts.csv")
    assert verdicts.Verdict.read(tmp_path / "verdicts.csv") == found
    header = (tmp_path / "verdicts.csv").read_text().splitlines()[0]
    assert header == (
        "paper,figure,claim,sentence,kind,quote,where,expected,n,measured,low,high,verdict,"
        "explanation,quantile,amended,isolated"
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
