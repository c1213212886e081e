"""What is varied keeps its labels and its files wherever the study goes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.experiment.topology import TOPOLOGIES
from sandglass.studies import reading
from sandglass.studies.study import Study

EXPERIMENT: dict[str, Any] = {
    "topology": "dumbbell",
    "rtt": "20ms",
    "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
    "flows": [{"workload": "bulk", "from": "s1", "to": "d1"}],
    "duration": "5s",
}
ENTRIES: list[dict[str, Any]] = [
    {"topology": ["dumbbell", "mine.py"]},
    {"topology": {"values": ["mine.py"]}},
    {"net": {"key": "topology", "values": {"1": "dumbbell", "own": "mine.py"}}},
    {"way": {"values": {"own": {"topology": "mine.py", "bottleneck.rate": {"trace": "my.up"}}}}},
    {"rate": {"key": "bottleneck.rate", "values": {"link": {"trace": "my.up"}, "fast": "1gbit"}}},
    {"zip": {"topology": ["dumbbell", "mine.py"], "rtt": ["10ms", "30ms"]}},
    {"cases": [{"topology": "mine.py", "rtt": "10ms"}, {"topology": "mine.py", "rtt": "30ms"}]},
    {"rtt": ["10ms", "30ms"], "pairs": [1, 2]},
]


def files(home: Path) -> Path:
    home.mkdir()
    (home / "mine.py").write_text((TOPOLOGIES / "dumbbell.py").read_text())
    (home / "my.up").write_text("1\n3\n9\n")
    return home


def runs(study: Study) -> list[tuple[dict[str, Any], Any]]:
    """The runs' labels and experiments."""
    return [(run.labels, run.load().filled()) for run in study.runs()]


@pytest.mark.parametrize("vary", ENTRIES, ids=lambda vary: next(iter(vary)))
@pytest.mark.parametrize("apart", [False, True], ids=["in the study", "in another folder"])
def test_files_are_found_from_anywhere(tmp_path: Path, vary: dict[str, Any], apart: bool) -> None:
    home = files(tmp_path / "study")
    content: dict[str, Any] = {"experiment": EXPERIMENT, "vary": vary}
    content["metrics"] = {"time": "virtual_s"}
    if apart:
        (tmp_path / "e.yaml").write_text(yaml.safe_dump(EXPERIMENT))
        content["experiment"] = "../e.yaml"
    (home / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    first = reading.load(home / "study.yaml")

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "study.yaml").write_text(yaml.safe_dump(dict(first.data), sort_keys=False))
    again = reading.load(elsewhere / "study.yaml")
    assert [each[0] for each in runs(again)] == [each[0] for each in runs(first)]
    assert again.labels == first.labels
    assert (again.types, again.data) == (first.types, first.data)
    for (_, one), (_, other) in zip(runs(first), runs(again), strict=True):
        assert Path(home / one["topology"]).name == Path(other["topology"]).name
        assert one["rtt"] == other["rtt"]


def test_a_case_may_have_labels(tmp_path: Path) -> None:
    queue = {"key": "bottleneck.queue", "values": {"CoDel": {"kind": "codel"}}}
    vary = {"cases": [{"queue": queue, "rtt": "10ms"}, {"queue": queue, "rtt": "30ms"}]}
    content = {"experiment": EXPERIMENT, "vary": vary, "metrics": {"time": "virtual_s"}}
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(content))
    assert reading.load(path).labels == {"queue": ["CoDel"], "rtt": ["10ms", "30ms"]}
    queue["values"]["PIE"] = {"kind": "pie"}  # type: ignore[index]
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError, match=r"vary\.cases\[0\]\.queue: has several values"):
        reading.load(path)
