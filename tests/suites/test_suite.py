"""Suites: that of the checkout is whole, and what is wrong in one is told."""

from pathlib import Path

import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.suites import characterise, suite
from sandglass.suites.suite import Profile, Scenario

QDISC = suite.read(suite.SUITES / "qdisc")
SCENARIOS = QDISC.described.scenarios
MUSTS = [
    *("4.5", "5.1.1", "5.1.2", "5.2", "5.3a", "5.3b"),
    *("6.2", "7.2", "8.2.2", "8.2.5", "8.2.6a", "8.2.6b"),
]


@pytest.mark.parametrize("profile", ["quick", "full"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_has_all_contenders_on_its_axis(scenario: Scenario, profile: Profile) -> None:
    rivals = ["red", "cake"]
    asked = characterise.wanted("qdisc", "hred", rivals, {}, profile, [scenario.name], None)
    study = asked.studies[scenario.name]
    expected = ["hred"] if scenario.tuned else ["drop-tail", "hred", "red", "cake"]
    assert study.labels["queue"] == expected
    assert study.first >= 3
    assert scenario.section in study.title or scenario.section[:-1] in study.title


def test_the_order_is_that_of_figure_4_and_must_is_not_left_out() -> None:
    weights = {each.section: each.weight for each in SCENARIOS}
    assert [section for section, weight in weights.items() if weight == "must"] == MUSTS


def test_options_of_name_are_set_and_go_before_those_of_the_suite() -> None:
    asked = characterise.wanted(
        "qdisc", "hred", ["codel"], {"rtt": "50ms", "ecn": True}, "quick", ["5.1.1"], None
    )
    own = asked.studies["friendly"].runs()[6].experiment["bottleneck"]["queue"]
    assert own == {"kind": "hred", "limit": "1bdp", "rate": "20mbit", "rtt": "50ms", "ecn": True}


def test_sensitivity_is_of_each_number_halved_and_doubled() -> None:
    asked = characterise.wanted("qdisc", "codel", ["pie"], {}, "quick", ["8.3"], None)
    assert asked.studies["sensitivity"].labels["queue"] == [
        *("codel", "target half", "target double", "interval half", "interval double"),
    ]


def test_all_run_in_the_lab_that_one_of_them_needs() -> None:
    """DualPI2 needs Linux 7.2: its rivals run there too."""
    asked = characterise.wanted("qdisc", "dualpi2", ["codel"], {}, "quick", ["5.2", "8.3"], None)
    assert {each.experiment["lab"] for each in asked.studies.values()} == {"7.2"}
    asked = characterise.wanted("qdisc", "codel", ["pie"], {}, "quick", ["5.2"], None)
    assert "lab" not in asked.studies["aggressive"].experiment


def test_a_section_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no scenario 3\.14"):
        characterise.wanted("qdisc", "codel", [], {}, "quick", ["3.14", "5.2"], None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("study: friendly.yaml", "study: frendly.yaml", "5.1.1: there is no study frendly.yaml"),
        ("weight: may", "weight: might", "weight"),
        ("jain: fairness", "jain: fairnes", "unknown margin fairnes, did you mean 'fairness'?"),
        ("better: more", "better: bigger", "margins.goodput.better"),
        ("within: 2%", "within: 2", "margins.goodput.within"),
        ("title: Aggressive", "titel: Aggressive", "unknown key, did you mean 'title'?"),
    ],
)
def test_what_is_wrong_in_a_suite_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    for path in QDISC.folder.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    file = tmp_path / suite.FILE
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as refused:
        suite.read(tmp_path)
    assert said in refused.value.message


def test_a_judged_metric_that_the_study_has_not_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "qdisc"
    home.mkdir()
    for path in QDISC.folder.glob("*.yaml"):
        (home / path.name).write_text(path.read_text())
    file = home / suite.FILE
    file.write_text(file.read_text().replace("{plt: fct, segment", "{ptl: fct, segment"))
    monkeypatch.setattr(suite, "SUITES", tmp_path)
    with pytest.raises(SandglassError, match="has no metric ptl, did you mean 'plt'"):
        characterise.wanted("qdisc", "codel", [], {}, "quick", ["9.1"], None)
