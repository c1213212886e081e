"""What a study of an experiment file measures fits all of its points, as they are run."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.results import series
from sandglass.studies import metric, reading
from sandglass.studies.study import Study
from tests.studies import recorded_runs

BULK = {"workload": "bulk", "from": "s1", "to": "d1"}
EXPERIMENT: dict[str, Any] = {
    "topology": "dumbbell",
    "rtt": "20ms",
    "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
    "flows": [BULK],
    "duration": "5s",
}
REPEATED = {"flows": [BULK | {"size": "20kB"}], "repeat": 20, "record": []}
QUEUE = ["goodput", "utilisation", "delay_p50", "delay_p95", "drops"]
COUNTED = ["goodput", "utilisation", "drops"]


def study(path: Path, change: dict[str, Any], *settings: str, vary: str = "rtt=20ms,40ms") -> Study:
    file = path / "e.yaml"
    file.write_text(yaml.safe_dump(EXPERIMENT | change))
    return reading.load(file, settings, [vary] if vary else [])


@pytest.mark.parametrize(
    ("change", "setting", "vary", "measured"),
    [
        ({}, "seed=3", "rtt=20ms,40ms", QUEUE),
        ({"record": []}, "seed=3", "rtt=20ms,40ms", COUNTED),
        ({}, "record=[]", "rtt=20ms,40ms", COUNTED),
        ({"record": []}, "record=[packets]", "rtt=20ms,40ms", QUEUE),
        ({}, "flows.0.ecn=true", "rtt=20ms,40ms", [*QUEUE, "marks"]),
        ({}, "seed=3", "flows.0.ecn=false,true", [*QUEUE, "marks"]),
        (REPEATED, "seed=3", "rtt=20ms,40ms", ["goodput", "fct"]),
        (REPEATED | {"repeat": 1}, "repeat=3", "rtt=20ms,40ms", ["goodput", "fct"]),
        (REPEATED | {"repeat": 1}, "seed=3", "repeat=1,3", ["goodput", "fct"]),
        (REPEATED, "repeat=1", "rtt=20ms,40ms", COUNTED),
    ],
)
def test_what_is_measured_is_chosen_of_what_is_run(
    tmp_path: Path, change: dict[str, Any], setting: str, vary: str, measured: list[str]
) -> None:
    assert list(study(tmp_path, change, setting, vary=vary).metrics) == measured


def test_the_title_is_the_one_that_is_set(tmp_path: Path) -> None:
    assert study(tmp_path, {"title": "One"}, "title=Two").title == "Two"


def test_nothing_is_drawn_without_an_axis(tmp_path: Path) -> None:
    assert not study(tmp_path, {}, vary="").plots
    assert len(study(tmp_path, {}).plots) == 2


@pytest.mark.parametrize(("limits", "drawn"), [(16, 2), (17, 0)])
def test_nothing_is_drawn_in_too_many_panels(tmp_path: Path, limits: int, drawn: int) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(yaml.safe_dump(EXPERIMENT))
    third = ",".join(str(limit) for limit in range(100, 100 + limits))
    varied = ["rtt=20ms,40ms", "bottleneck.rate=1mbit,2mbit", f"bottleneck.queue.limit={third}"]
    assert len(reading.load(file, (), varied).plots) == drawn


def test_of_repetitions_all_flows_are_measured(tmp_path: Path) -> None:
    run = recorded_runs.write(tmp_path / "run", 1)
    flows = {"seed": [1, 1, 2, 2], "goodput_mbit": [1.0, 2, 3, 4], "fct_s": [0.1, 0.2, 0.4, 0.9]}
    pl.DataFrame(flows).write_parquet(run / "flows.parquet")
    found = metric.values(study(tmp_path, REPEATED).metrics, series.load(run, {}))
    assert found == {"goodput": 5, "fct": pytest.approx(0.3)}
