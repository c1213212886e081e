"""What has to come out whatever the algorithm: if it does not, the suite is wrong."""

from pathlib import Path

import polars as pl
import pytest
import yaml

from sandglass.results import series
from sandglass.studies import recorded
from sandglass.suites import characterise, report, suite
from sandglass.suites.report import Asked

SHORT = {
    "unresponsive": {"replicas": 2, "only": {"load": ["0.9", "2.0"]}, "set": {"duration": "20s"}},
    "friendly": {"replicas": 2, "only": {"rtt": ["100ms"]}, "set": {"duration": "30s"}},
}
"""Of the two scenarios that are run, what the profile is."""

pytestmark = [pytest.mark.lab, pytest.mark.thorough]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Drop-tail through two short scenarios, against itself."""
    home = tmp_path_factory.mktemp("suites")
    (home / "qdisc").mkdir()
    for path in (suite.SUITES / "qdisc").glob("*.yaml"):
        (home / "qdisc" / path.name).write_text(path.read_text())
    file = home / "qdisc" / suite.FILE
    data = yaml.safe_load(file.read_text())
    for scenario in data["scenarios"]:
        scenario["quick"] = SHORT.get(Path(scenario["study"]).stem, {})
    file.write_text(yaml.safe_dump(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "SUITES", home)
        asked = characterise.wanted(
            "qdisc", "pfifo", ["pfifo"], {}, "quick", list(SHORT), home / "out"
        )
        assert characterise.characterise(asked, None, None) == 0
    return asked


def runs(done: Asked, scenario: str) -> pl.DataFrame:
    return pl.read_csv(done.home / scenario / "runs.csv", schema_overrides={"load": pl.String})


@pytest.mark.thorough
def test_drop_tail_against_itself_is_equal_everywhere(done: Asked) -> None:
    words = pl.read_csv(done.home / report.WORDS_CSV)
    assert words.height == 3 + 2 * 2
    assert set(words["against"]) == {"drop-tail"}
    for name in ("difference", "low", "high", "margins"):
        assert set(words[name]) == {0}
    assert set(words["word"]) == {"equal"}


def test_drop_tail_drops_half_of_twice_the_rate(done: Asked) -> None:
    loads = runs(done, "unresponsive")
    twice = loads.filter(pl.col("load") == "2.0")
    assert twice["loss"].to_list() == pytest.approx([0.5] * 4, abs=0.001)
    # 83 packets of 1514 bytes at 10 Mb/s.
    assert twice["delay"].to_list() == pytest.approx([100.5] * 4, rel=0.01)
    below = loads.filter(pl.col("load") == "0.9")
    assert (below["loss"].max(), below["drops"].max()) == (0, 0)
    assert below["queue_packets"].max() <= 1  # type: ignore[operator]


def test_one_reno_fills_a_link_whose_buffer_is_a_bdp(done: Asked) -> None:
    """1448 bytes of payload in 1514 on the wire, at 20 Mb/s."""
    goodputs = runs(done, "friendly")["goodput"].to_list()
    assert goodputs == pytest.approx([20 * 1448 / 1514] * 4, rel=0.002)


def test_drops_by_place_add_up(done: Asked) -> None:
    loads = runs(done, "unresponsive")
    places = ("dropped_at_tail", "dropped_on_arrival", "dropped_from_queue")
    assert (
        loads.select(pl.sum_horizontal(places))
        .to_series()
        .equals(loads["drops"].cast(pl.Float64), check_names=False)
    )
    assert loads["drops"].max() > 8_000  # type: ignore[operator]


def test_goodput_is_the_mean_of_its_bins(done: Asked) -> None:
    for row in runs(done, "friendly").to_dicts():
        run = series.load(done.home / "friendly" / row["directory"], {})
        bins = recorded.distributed(run, "goodput", 20 * 10**9).known
        assert bins.size == 10
        assert bins.mean() == pytest.approx(row["goodput"])


def test_the_report_is_whole(done: Asked) -> None:
    page = (done.home / report.INDEX).read_text()
    assert "pfifo: characterisation after RFC 7928" in page
    for name in (report.JSON, report.MEANS_CSV, report.RUNS, "summary.svg", "summary.png"):
        assert (done.home / name).stat().st_size
    table = pl.read_parquet(done.home / report.RUNS)
    assert set(table["scenario"]) == set(SHORT)
    assert set(table["label"]) == {"drop-tail", "pfifo"}
