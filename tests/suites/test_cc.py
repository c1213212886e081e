"""The suite of congestion controls: all of it can be run, and what must be equal is equal."""

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.results import series
from sandglass.studies import extension, metric
from sandglass.studies.study import Study
from sandglass.suites import cc, characterise, suite
from sandglass.suites.suite import Profile, Scenario
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell, flow, run

CC = suite.read(suite.SUITES / "cc")
SCENARIOS = CC.described.scenarios
GAIN, HARM = (extension.load(CC.folder / name) for name in ("gain.py", "harm.py"))


@pytest.fixture(autouse=True)
def _no_modules_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_KMODS", "")


@pytest.mark.parametrize("profile", ["quick", "full"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_has_all_contenders_on_its_axis(scenario: Scenario, profile: Profile) -> None:
    asked = characterise.wanted("cc", "abe_cubic", ["bbr"], {}, profile, [scenario.name], None)
    study = asked.studies[scenario.name]
    assert study.labels["cc"] == ["Reno", "abe_cubic", "bbr"]
    assert study.first >= 3
    # What a contender's flows run is the contender, and nothing else differs.
    for mine, other in zip(of(study, "abe_cubic"), of(study, "bbr"), strict=True):
        assert str(mine).replace("abe_cubic", "bbr") == str(other)
        assert mine != other


def test_every_study_of_the_folder_is_in_the_suite() -> None:
    files = {path.name for path in CC.folder.glob("*.yaml")} - {suite.FILE}
    assert files == {scenario.study for scenario in SCENARIOS}


def of(study: Study, label: str) -> list[Mapped]:
    """The experiments of one contender."""
    return [each.written() for each in study.runs() if each.labels["cc"] == label]


def test_all_that_always_use_ecn_are_told_to_ask_for_it() -> None:
    needing = {name for each in builds.described() for name in each.both_ends}
    assert all(CC.options(name) == {"ecn": True} for name in needing)


@pytest.mark.parametrize("name", ["dctcp", "lsaimd_dctcp"])
def test_what_always_uses_ecn_asks_for_it(name: str) -> None:
    asked = characterise.wanted("cc", name, ["cubic"], {}, "quick", ["fairness"], None)
    for experiment in of(asked.studies["fairness"], name):
        assert [(each["cc"], each.get("ecn")) for each in experiment["flows"]] == [(name, True)] * 2


def test_a_name_is_a_congestion_control_of_mainline_or_of_ours() -> None:
    assert [cc.found(name) for name in ("vegas", "abe_reno")] == ["vegas", "abe_reno"]
    with pytest.raises(
        UsageError, match="unknown congestion control 'cubik', did you mean 'cubic'"
    ):
        cc.found("cubik")


def test_a_path_is_a_module(tmp_path: Path) -> None:
    folder = tmp_path / "kmods" / "tcp_mine"
    folder.mkdir(parents=True)
    (folder / "Kbuild").write_text("obj-m += tcp_mine.o\n")
    (folder / "tcp_mine.c").write_text("tcp_register_congestion_control(&mine);\n")
    assert cc.found(str(folder)) == cc.found(str(tmp_path)) == "mine"
    assert os.environ["SANDGLASS_KMODS"] == str(tmp_path / "kmods")
    with pytest.raises(UsageError, match="has no module of a congestion control"):
        cc.found(str(folder.parent))


def test_a_module_that_registers_none_is_no_congestion_control() -> None:
    """It changes what senders do with any: cc: cut_at_once would load it and then fail."""
    with pytest.raises(UsageError, match="has no module of a congestion control"):
        cc.found(str(builds.ROOT / "kmods" / "tcp_cut_at_once"))


def rows(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_gain_and_loss_are_against_the_camp_of_the_standard() -> None:
    runs = rows(
        cc=["Reno", "new", "cubic"] * 2,
        standard=["reno"] * 3 + ["cubic"] * 3,
        load=["100 %"] * 6,
        replica=[1] * 6,
        own=[8.0, 12.0, 10.0, 6.0, 9.0, 9.0],
        theirs=[8.0, 4.0, 6.0, 12.0, 6.0, 8.0],
    )
    found = GAIN.gains(runs)
    assert found["gain"].to_list() == [1, 1.5, 1.25, 6 / 9, 1, 1]
    assert found["loss"].to_list() == [1, 0.5, 0.75, 1.5, 0.75, 1]


def competed(new: float, ref: float, alone: float, metric: str) -> pl.DataFrame:
    runs = rows(
        cc=["Reno", "new", "Reno", "new"],
        incumbent=["reno"] * 4,
        mix=["alone", "alone", "1 to 1", "1 to 1"],
        buffer=["1bdp"] * 4,
        replica=[1] * 4,
    )
    return runs.with_columns(pl.Series(metric, [alone, -1, ref, new]))


def test_harm_is_the_share_that_an_incumbent_loses() -> None:
    """And the bar is what its own kind does."""
    reno, new = HARM.harm(competed(2, 4, 8, "theirs"), "theirs").rows(named=True)
    assert (reno["new"], reno["ref"], reno["difference"]) == (0.5, 0.5, 0)
    assert (new["new"], new["ref"], new["difference"]) == (0.75, 0.5, 0.25)
    delay = "theirs_delay_p95"
    _, new = HARM.harm(competed(40, 20, 10, delay), delay).rows(named=True)
    assert (new["new"], new["ref"]) == (0.75, 0.5)
    _, new = HARM.harm(competed(0, 0, 0, "theirs_loss"), "theirs_loss").rows(named=True)
    assert (new["new"], new["ref"], new["difference"]) == (0, 0, 0)


def test_an_incumbent_that_is_no_contender_has_no_bar() -> None:
    runs = competed(2, 4, 8, "theirs").with_columns(incumbent=pl.lit("bbr"))
    assert HARM.harm(runs, "theirs").is_empty()


@pytest.mark.parametrize("name", ["impact", "harm"])
def test_reno_against_reno_is_the_same_experiment(name: str) -> None:
    """So that G = L = 1, and the harm that an incumbent does itself is the bar, exactly."""
    asked = characterise.wanted("cc", "reno", ["cubic"], {}, "quick", [name], None)
    study = asked.studies[name]
    assert study.labels["cc"] == ["Reno", "reno", "cubic"]
    assert of(study, "Reno") == of(study, "reno")
    assert of(study, "Reno") != of(study, "cubic")


@pytest.mark.lab
def test_a_run_gives_all_that_its_scenario_judges(lab: Lab) -> None:
    """Of impact, shortened: twice the same run, and so a gain and a loss of 1."""
    study = characterise.wanted("cc", "reno", [], {}, "quick", ["impact"], None).studies["impact"]
    found = []
    for label in ("Reno", "reno"):
        experiment = of(study, label)[0] | {"duration": "23s"}
        done = lab(experiment, experiment["seed"])
        measured = metric.values(study.metrics, series.load(done.path, {}))
        found.append({"cc": label, "standard": "reno", "load": "100 %", "replica": 1, **measured})
    gains = GAIN.gains(pl.DataFrame(found))
    assert gains["gain"].to_list() == gains["loss"].to_list() == [1, 1]


@pytest.mark.thorough
@pytest.mark.lab
def test_a_chance_each_millisecond_is_a_link_of_12_112_mbit(tmp_path: Path) -> None:
    """The shaper counts 14 bytes more of each packet than Mahimahi does; and played twice."""
    (tmp_path / "1").write_text("1\n")
    (tmp_path / "twice").write_text("".join(f"{ms}\n" for ms in range(1, 4001)))
    roomy = {"kind": "pfifo", "limit": 1000}
    sent = flow("udp", rate="20mbit")
    rates = [{"trace": "1"}, {"trace": "twice"}, "12112kbit"]
    carried = []
    for number, rate in enumerate(rates):
        done = run(dumbbell(sent, queue=roomy, rate=rate), tmp_path, name=f"run{number}")
        carried.append(done.content["flows"][0]["goodput_mbit"])
    assert carried == pytest.approx([carried[2]] * 3, rel=1e-3)


@pytest.mark.lab
def test_without_tcp_no_datagram_of_a_transient_is_lost(lab: Lab) -> None:
    """What transients.yaml counts is the flow's doing. 4 s of it, and datagrams alone."""
    study = characterise.wanted("cc", "cubic", [], {}, "quick", ["transients"], None)
    [experiment, *_] = of(study.studies["transients"], "Reno")
    datagrams = experiment["flows"][1] | {"start": "1s", "duration": "3s"}
    done = lab(experiment | {"flows": [datagrams], "duration": "4s"})
    [found] = done.content["flows"]
    assert found["datagrams_received"] == found["datagrams_sent"] > 7_400


@pytest.mark.lab
def test_several_bbr_flows_lose_more_than_cubic_in_half_a_bdp(lab: Lab) -> None:
    """The case that RFC 9743, 5.1.3, names."""
    half = {"kind": "pfifo", "limit": "0.5bdp"}
    lost = {}
    for name in ("bbr", "cubic"):
        done = lab(dumbbell(bulk(cc=name, count=4), queue=half, rate="32mbit", duration="20s"))
        data = done.packets().filter((pl.col("payload_bytes") > 0) & (pl.col("enqueue_ns") > 5e9))
        lost[name] = data["drop_ns"].count() / data.height
    assert lost["bbr"] > 3 * lost["cubic"]
