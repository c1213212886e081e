"""What `check` tells of a study: first what it takes, also where replicas may follow."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.run import kept
from sandglass.studies import preview, reading
from sandglass.studies.preview import StudyPreview

pytestmark = pytest.mark.lab  # whose root has Mininet

STUDY: dict[str, Any] = {
    "title": "Two queues",
    "experiment": {
        "topology": "dumbbell",
        "rtt": "20ms",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
        "flows": [{"workload": "bulk", "from": "s1", "to": "d1"}],
        "duration": "1000s",
        "seed": 3,
    },
    "vary": {"on": {"key": "bottleneck.queue.ecn", "values": [True, False]}},
    "metrics": {"goodput": "flows.0.goodput_mbit"},
}


def previewed(place: Path, **changes: Any) -> StudyPreview:
    file = place / "study.yaml"
    file.write_text(yaml.safe_dump(STUDY | changes, sort_keys=False))
    return preview.study_preview(reading.load(file))


def told(found: StudyPreview) -> dict[str, str]:
    """What is said before the first point, by its name, in the order in which it is."""
    parts: dict[str, str] = {}
    for line in list(found.told())[2:]:
        for each in line.splitlines():
            if not each:
                return parts
            name = each[:14].strip() or list(parts)[-1]
            parts[name] = f"{parts.get(name, '')} {each[14:].strip()}".strip()
    return parts


def seconds(said: str) -> list[float]:
    """The times that are told, in seconds."""
    factors = {"s": 1, "min": 60, "h": 3600}
    return [float(n) * factors[unit] for n, unit in re.findall(r"([\d.]+) (s|min|h)\b", said)]


def test_what_it_takes_is_told_first(tmp_path: Path) -> None:
    found = told(previewed(tmp_path, replicas=3))
    assert list(found)[:3] == ["runs", "time", "memory"]
    assert found["runs"] == "6, of which 0 are in the cache"
    assert found["replicas"] == "3 of each of 2 points, with seeds 3 to 5"
    assert found["varies"] == "on: true, false"


def test_replicas_that_may_follow_are_counted(tmp_path: Path) -> None:
    rule = {"of": "goodput", "within": "5%", "most": 30}
    found = previewed(tmp_path, replicas=rule)
    said = told(found)
    assert said["runs"] == "10 to 60; of the first 10, 0 are in the cache"
    assert found.labs_s is not None
    assert found.left_s is not None
    assert found.left_s == pytest.approx((found.labs_s, 6 * found.labs_s))
    least, most = seconds(said["time"])[:2]
    assert most > 3 * least
    assert "within 5% of its mean, 30 at most" in said["replicas"]
    assert found.as_json()["most_runs"] == 60


def test_what_is_in_the_cache_takes_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"long": {"duration": "1000s"}, "short": {"duration": "10s"}}
    vary = {"lasts": {"values": long}}
    whole = previewed(tmp_path, vary=vary)
    first = whole.runs[0].preview
    there = kept.key(first.experiment, first.plan)
    monkeypatch.setenv("SANDGLASS_RUNS_LIMIT", "1GB")
    monkeypatch.setattr(kept, "names", lambda: {there})
    found = previewed(tmp_path, vary=vary)
    assert told(found)["runs"] == "2, of which 1 are in the cache"
    assert found.left_s is not None
    assert whole.labs_s is not None
    assert found.left_s[0] < whole.labs_s / 10


def test_points_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert list(previewed(tmp_path).points) == ["on=true", "on=false"]


@pytest.mark.parametrize(
    ("changes", "seeds"),
    [
        ({}, "1 of each of 2 points, with seed 3"),
        ({"vary": {}}, "1 of the point, with seed 3"),
        ({"replicas": 4, "repeat": 20}, "4 of each of 2 points, with seeds 3, 23, 43, …"),
    ],
)
def test_seeds(tmp_path: Path, changes: dict[str, Any], seeds: str) -> None:
    if repeat := changes.pop("repeat", None):
        flows = [STUDY["experiment"]["flows"][0] | {"size": "20kB"}]
        more = {"repeat": repeat, "record": [], "flows": flows}
        changes = changes | {"experiment": STUDY["experiment"] | more}
    assert told(previewed(tmp_path, **changes))["replicas"] == seeds


def test_axes_in_step_are_told_together(tmp_path: Path) -> None:
    vary = {
        "zip": {"rtt": ["20ms", "40ms"], "duration": ["5s", "9s"]},
        "bottleneck.rate": ["1mbit"],
    }
    found = told(previewed(tmp_path, vary=vary))
    assert found["varies"] == "rtt, duration: (20ms, 5s), (40ms, 9s) bottleneck.rate: 1mbit"


def test_a_warning_of_all_points_names_none(tmp_path: Path) -> None:
    experiment = STUDY["experiment"] | {"record": []}
    assert told(previewed(tmp_path, experiment=experiment))["warning"].endswith("(at all points)")
