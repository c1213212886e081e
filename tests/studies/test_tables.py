"""The tables of a study have its labels as they are, whatever these look like."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment.document import Value
from sandglass.studies import drawing, reading, statistics, tables, targets
from sandglass.studies.jobs import Task
from sandglass.studies.layout import Results
from sandglass.studies.plot import Points
from sandglass.studies.study import Study
from tests.studies import recorded_runs


def study(path: Path, axis: dict[str, Any], **more: Any) -> Study:
    content = {
        "experiment": {
            "topology": "dumbbell",
            "rtt": "20ms",
            "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
            "flows": [{"workload": "bulk", "from": "s1", "to": "d1"}],
            "duration": "5s",
        },
        "vary": {"load": axis},
        "replicas": 2,
        "metrics": {"delay": "virtual_s"},
    }
    path.write_text(yaml.safe_dump(content | more, sort_keys=False))
    return reading.resolved(path)


def axis(labels: list[Value]) -> dict[str, Any]:
    """Texts are labels of values, numbers are values themselves."""
    if all(isinstance(label, str) for label in labels):
        values = {label: f"{number}ms" for number, label in enumerate(labels, 10)}
        return {"key": "rtt", "values": values}
    return {"key": "rtt", "values": labels}


@pytest.mark.parametrize(
    ("labels", "there"),
    [
        (["10", "20"], ["10", "20"]),
        (["010", "20"], ["010", "20"]),
        (["1e3", "2e3"], ["1e3", "2e3"]),
        (["true", "false"], ["true", "false"]),
        ([True, False], ["true", "false"]),
        ([3, "many"], ["3", "many"]),
        ([10, 2.5], [10.0, 2.5]),
        ([0.123456789012, 0.523456789012], [0.123456789012, 0.523456789012]),
    ],
)
def test_a_label_is_read_back_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: list[Value], there: list[Value]
) -> None:
    monkeypatch.chdir(tmp_path)
    of = study(tmp_path / "study.yaml", axis(labels))
    rows = [
        {"load": run.labels["load"], "replica": run.replica, "seed": run.seed}
        | {"delay": 1 / (3 + index), "digest": f"{index}0", "virtual_s": 5.0, "wall_s": 0.1}
        | {"directory": str(index)}
        for index, run in enumerate(of.runs())
    ]
    tables.write(tables.frame(rows, of), of, targets.RUNS)
    runs = tables.read(targets.RUNS, of)
    assert runs["load"].unique(maintain_order=True).to_list() == there
    assert runs["digest"].to_list() == ["00", "10", "20", "30"]

    tables.write(statistics.summary(runs, of.axes, ["delay"]), of, targets.SUMMARY)
    summary = tables.read(targets.SUMMARY, of)
    compared = statistics.differences(runs, of.axes, ["delay"], "load", str(labels[0]).lower())
    tables.write(compared, of, targets.DIFFERENCES)
    (row,) = tables.read(targets.DIFFERENCES, of).to_dicts()
    assert (row["load"], row["against"]) == (there[1], str(labels[0]).lower())

    results = Results({"load": there}, runs, summary, tmp_path, {"delay": "ms"})
    drawn = drawing.draw(Points(x="load", y="delay"), results)
    assert isinstance(drawn.data, pl.DataFrame)
    assert drawn.data["x"].n_unique() == 2


def test_numbers_that_are_equal_are_one_label(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"study\.yaml:\d+: vary\.load: has 1 twice"):
        study(tmp_path / "study.yaml", axis([1, 1.0]))


@pytest.mark.parametrize("name", ["load", "seed", "gain", "length"])
def test_what_a_module_measures_has_a_name_of_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.py").write_text(f"def metrics(run):\n    return {{'{name}': 1}}\n")
    metrics = {"length": "virtual_s"}
    of = study(tmp_path / "study.yaml", axis([1, 2]), module="mine.py", metrics=metrics)
    run = recorded_runs.write(tmp_path / "run", 1)
    task = Task(str(run), "study.yaml", seed=1, labels={"load": 1}, replica=1)
    with pytest.raises(SandglassError, match=f"mine.py measures {name}, and a column is called so"):
        tables.measured(of, task)


@pytest.mark.parametrize(
    "part",
    [
        {"replicas": {"of": "lenght", "within": "5%"}},
        {"plots": [{"x": "load", "y": "lenght"}]},
        {"expect": [{"claim": "long", "metric": "lenght", "bounds": {"above": 1}}]},
    ],
)
def test_a_metric_that_a_module_has_not_is_missed_after_the_first_run(
    tmp_path: Path, part: dict[str, Any]
) -> None:
    (tmp_path / "mine.py").write_text("def metrics(run):\n    return {'length': 1}\n")
    of = study(tmp_path / "study.yaml", axis([1, 2]), module="mine.py", **part)
    run = recorded_runs.write(tmp_path / "run", 1)
    task = Task(str(run), "study.yaml", seed=1, labels={"load": 1}, replica=1)
    with pytest.raises(SandglassError, match="there is no metric 'lenght', did you mean 'length'"):
        tables.measured(of, task)
