"""Runs beside each other: the numbers are those of their run.json, the picture repeats."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.results import comparison
from sandglass.run.runs import RUNS
from tests.lab.experiments import Lab, Run, bulk, dumbbell

pytestmark = pytest.mark.lab


@pytest.fixture
def runs(lab: Lab) -> list[Run]:
    """Two that differ in the seed, and so in when the flows start."""
    experiment = dumbbell(
        bulk(cc="cubic", start_within="1s"), queue={"kind": "codel"}, duration="4s"
    )
    return [lab(experiment, 1), lab(experiment, 2)]


def test_numbers_are_the_runs_own(runs: list[Run], tmp_path: Path) -> None:
    comparison.compare([run.path for run in runs], tmp_path / "both")
    rows = pl.read_csv(tmp_path / "both.csv")
    assert rows["goodput_mbit"].to_list() == [
        run.content["flows"][0]["goodput_mbit"] for run in runs
    ]
    waits = [run.content["bottleneck"]["queue_delay_ms"]["p99"] for run in runs]
    assert rows["delay_p99_ms"].to_list() == waits
    assert rows["run"].to_list() == [str(run.path) for run in runs]


def test_without_a_place_it_goes_to_the_checkout(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run does, wherever it was started."""
    assert comparison.COMPARISON.parent == RUNS.parent
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(comparison, "COMPARISON", tmp_path / "checkout" / "comparison")
    comparison.compare([runs[0].path], None)
    assert (tmp_path / "checkout" / "comparison.svg").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_runs_are_called_after_their_directories(runs: list[Run], tmp_path: Path) -> None:
    """By their paths where two have the same name."""
    named = tmp_path / "codel"
    shutil.copytree(runs[1].path, named)
    assert list(comparison.load([runs[0].path, named])) == ["run", "codel"]
    assert list(comparison.load([run.path for run in runs])) == [str(run.path) for run in runs]


def test_runs_that_differ_in_what_they_met_are_called_so(lab: Lab, runs: list[Run]) -> None:
    flows = bulk(cc="cubic", start_within="1s")
    other = lab(dumbbell(flows, queue={"kind": "pie"}, duration="4s"))
    alike = comparison.load([run.path for run in runs])
    assert [*comparison.called(alike).values()] == [*alike]
    both = comparison.load([runs[0].path, other.path])
    first, second = comparison.called(both).values()
    assert first.endswith(": bottleneck codel, 10mbit; RTT 40ms")
    assert second.endswith(": bottleneck pie, 10mbit; RTT 40ms")
    assert "pie, 10mbit" in comparison.origin("x", both[str(other.path)])


def test_what_is_drawn_is_what_left_the_queue(runs: list[Run]) -> None:
    """Throughput adds up to the bytes of the packets, delays end at the longest."""
    loaded = comparison.load([runs[0].path])
    drawn = comparison.curves("one", next(iter(loaded.values())))
    carried = drawn.filter(panel=comparison.THROUGHPUT)
    step_s = comparison.STEP_NS / 1e9
    late = (
        runs[0]
        .packets()
        .filter(pl.col("dequeue_ns").is_between(comparison.STEP_NS, 4_000_000_000, closed="left"))
    )
    assert sum(carried["y"]) * step_s == pytest.approx(8e-6 * sum(late["size_bytes"]))
    waits = drawn.filter(panel=comparison.WAIT)
    longest = runs[0].content["bottleneck"]["queue_delay_ms"]["max"]
    assert waits["x"].max() == pytest.approx(longest)


def test_the_picture_repeats(runs: list[Run], tmp_path: Path) -> None:
    for name in ("one", "again"):
        comparison.compare([run.path for run in runs], tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_run_twice_is_refused(runs: list[Run]) -> None:
    with pytest.raises(UsageError, match="given twice"):
        comparison.load([runs[0].path, runs[0].path, runs[0].path])
