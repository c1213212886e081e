"""Knobs: any experiment has them, and each of their steps is something that a file may have."""

import re
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import document, reading, units
from sandglass.experiment.queue import Queue
from sandglass.install import builds
from sandglass.play import gallery, knobs, steps
from sandglass.run.plan import resolve
from tests.lab.experiments import bulk, dumbbell, flow, written

pytestmark = pytest.mark.lab
EXAMPLES = sorted(
    path for folder in ("", "play") for path in (builds.ROOT / "examples" / folder).glob("*.yaml")
)


def of(file: Path) -> list[knobs.Knob]:
    return knobs.of(document.read(file).data, file.parent)


def test_each_card_of_the_gallery_is_an_example() -> None:
    assert {card.file for card in gallery.cards()} <= set(EXAMPLES)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_any_experiment_has_knobs_that_can_be_set(file: Path) -> None:
    """To what the file has, which changes nothing, and to each other step of a slider."""
    found = of(file)
    assert {"duration", "seed"} <= {knob.key for knob in found}
    plain = [knob for knob in found if knob.form != "queue"]
    same = [f"{knob.key}={_written(knob.value)}" for knob in plain]
    assert knobs.allowed(same, found) == same
    in_file = [f"{knob.key}={_written(knob.value)}" for knob in plain if _has(file, knob.key)]
    before, after = (
        resolve(each, each.facts) for each in (reading.load(file), reading.load(file, in_file))
    )
    assert {**after, "title": ""} == {**before, "title": ""}
    for knob in plain:
        if knob.steps:
            assert knob.value in knob.steps
        for step in (*knob.steps[:1], *knob.steps[-1:]):
            texts = [f"{key}={_written(step)}" for key in (knob.key, *knob.also)]
            knobs.allowed(texts, found)
            message = ""
            try:
                reading.load(file, texts)
            except UsageError as error:  # such as a flow that would end after the experiment
                message = error.message
            assert not re.search(r"is not an? |unknown", message), message


def _has(file: Path, key: str) -> bool:
    place = key.partition(".sysctls.")[0]
    try:
        document.at(document.read(file).data, place)
    except UsageError:
        return False
    return True


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("kind", knobs.catalogue())
def test_a_kind_of_queue_is_one_as_it_is_chosen(kind: str) -> None:
    """But for those of modules that want to be told something, which they say."""
    told = knobs.catalogue()[kind]
    wanted = [o["name"] for o in told["options"] if str(o["default"]).startswith("needed")]
    if set(wanted) <= told["needed"].keys():
        Queue.model_validate({"kind": kind, **told["needed"]})
    for option in told["options"]:
        for value in (*option["steps"][:1], *option["steps"][-1:]):
            Queue.model_validate({"kind": kind, **told["needed"], option["name"]: value})


def test_flows_that_are_alike_are_turned_together(tmp_path: Path) -> None:
    two = dumbbell(
        bulk(cc="reno"), flow("ping", "s1", "d1"), bulk("s2", "d2", cc="reno"),
        queue={"kind": "codel"}, pairs=2,
    )  # fmt: skip
    found = {knob.key: knob for knob in of(written(two, tmp_path / "two.yaml"))}
    assert found["flows.0.cc"].also == ["flows.2.cc"]
    assert found["flows.0.cc"].group == "1: bulk s1 … s2 → d1 … d2"
    assert "flows.2.cc" not in found
    assert "flows.1.cc" not in found


def test_flows_that_last_as_long_follow_the_duration(tmp_path: Path) -> None:
    one = dumbbell(
        bulk(duration="4s"), bulk("s2", "d2", start="1s", duration="3s"),
        queue={"kind": "codel"}, pairs=2, duration="4s",
    )  # fmt: skip
    found = {knob.key: knob for knob in of(written(one, tmp_path / "one.yaml"))}
    assert found["duration"].also == ["flows.0.duration"]


def test_a_text_that_may_be_a_path_has_no_knob(tmp_path: Path) -> None:
    traced = dumbbell(bulk(), queue={"kind": "codel"}, rate={"trace": "cellular", "start": "1s"})
    keys = {knob.key for knob in of(written(traced, tmp_path / "traced.yaml"))}
    assert "bottleneck.rate.start" in keys
    assert not keys & {"bottleneck.rate", "bottleneck.rate.trace", "topology", "title"}
    assert not any(key.endswith((".workload", ".from", ".to")) for key in keys)


@pytest.mark.parametrize(
    ("form", "value", "least", "most"),
    [("rate", "20mbit", "400kbit", "200mbit"), ("time", "7ms", "150us", "70ms")],
)
def test_steps_go_from_a_fiftieth_to_ten_times(
    form: str, value: str, least: str, most: str
) -> None:
    found = steps.of(form, value)
    read = units.parse_rate if form == "rate" else units.parse_time
    assert [found[0], found[-1]] == [least, most]
    assert value in found
    assert [*map(read, found)] == sorted(map(read, found))


def test_whole_steps_stay_within_their_bounds() -> None:
    assert steps.of("whole", 82, 1, 100)[:3] == [1, 5, 10]
    assert steps.of("whole", 82, 1, 100)[-6:] == [80, 82, 85, 90, 95, 100]
    assert steps.of("whole", 1, 0, 1) == [0, 1]
    assert steps.of("whole", 1, 1, 1000) == [1, 2, 3, 4, 5, 7, 10]
    assert steps.of("length", "0.5bdp")[0] == "0.01bdp"
    assert steps.of("time", "0s") == []
