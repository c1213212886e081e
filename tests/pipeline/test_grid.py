"""Figures and profiles become runs; what does not make sense is refused with its place."""

import re
from pathlib import Path

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.papers import grid, shelf
from sandglass.studies import points

SENTENCE = {
    "quote": "the link is full",
    "where": "Abstract",
    "kind": "stated",
    "claims": [
        {"id": "full", "statement": "share", "metric": "least", "bounds": {"at_least": 0.95}}
    ],
}
FIGURE = {
    "title": "Fig. 1",
    "caption": "One flow.",
    "setup": {"stated": ["one flow"], "re-design": ["RTT grid"]},
    "axes": {
        "ecn": {"with": {"flows.0.ecn": True}, "without": {"flows.0.ecn": False}},
        "buffer": "bottleneck.queue.limit",
    },
    "runs": [{"experiment": ["one"]}],
    "sentences": [SENTENCE],
}


@pytest.fixture
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper 'p' with one figure and the experiments 'one' and 'two'."""
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    (tmp_path / "p" / "experiments").mkdir(parents=True)
    (tmp_path / "p" / "paper.yaml").write_text("paper: TR-1\ntitle: A paper\n")
    for name in ("one", "two"):
        (tmp_path / "p" / "experiments" / f"{name}.yaml").write_text("title: made up\n")
    return tmp_path


def figure(pipelines: Path, **content: object) -> None:
    (pipelines / "p" / "fig1.yaml").write_text(yaml.safe_dump(FIGURE | content))


def profile(pipelines: Path, *grids: object) -> None:
    figure(pipelines, quick=list(grids))


def test_a_grid_is_the_product_of_its_axes(pipelines: Path) -> None:
    values = {"experiment": ["one", "two"], "ecn": ["with", "without"], "rtt": ["20ms", "40ms"]}
    profile(pipelines, values)
    points = grid.points("p", "fig1", "quick")
    assert len(points) == 8
    labels = {"experiment": "one", "ecn": "with", "rtt": "20ms"}
    assert points[0] == grid.run(pipelines / "p", labels, {"flows.0.ecn": True, "rtt": "20ms"})


def test_grids_follow_each_other(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"], "rtt": ["20ms"]}, {"experiment": ["two"]})
    names = [
        (point.labels["experiment"], grid.name(point))
        for point in grid.points("p", "fig1", "quick")
    ]
    assert names == [("one", "rtt=20ms"), ("two", points.UNCHANGED)]


def test_replicas_have_the_same_seeds_at_every_point(pipelines: Path) -> None:
    """The first one is the run without replicas; repetitions take as many seeds as there are."""
    (pipelines / "p" / "experiments" / "two.yaml").write_text("seed: 7\nrepeat: 10\n")
    grids = {"experiment": ["one", "two"], "replicas": 3, "rtt": ["20ms", "40ms"]}
    profile(pipelines, grids)
    found = grid.points("p", "fig1", "quick")
    assert [point.replica for point in found] == [1, 2, 3] * 4
    seeds = [[each for each in point.settings if each.startswith("seed")] for point in found]
    assert seeds == [[], ["seed=2"], ["seed=3"]] * 2 + [[], ["seed=17"], ["seed=27"]] * 2
    assert grid.name(found[1]) == "rtt=20ms,seed=2"
    assert found[0].labels == {"experiment": "one", "rtt": "20ms"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"replicas": 0}, "replicas"),
        ({"replicas": 2.5}, "replicas"),
        ({"replicas": 2, "seed": [1, 2]}, "either replicas or the axis 'seed'"),
        ({"replicas": [2]}, "replicas: \\[2\\] is not a whole number"),
        ({"flows.0.count": 10}, "flows.0.count: 10 is not a list of values"),
    ],
)
def test_replicas_that_make_no_sense(
    pipelines: Path, changes: dict[str, object], says: str
) -> None:
    profile(pipelines, {"experiment": ["one"], **changes})
    with pytest.raises(UsageError, match=says):
        grid.points("p", "fig1", "quick")


def test_all_grids_of_a_figure_have_replicas_or_none(pipelines: Path) -> None:
    """A run that stood in each replica would be counted as many."""
    profile(pipelines, {"experiment": ["one"], "replicas": 2}, {"experiment": ["two"]})
    with pytest.raises(UsageError, match="all grids of a figure have replicas, or none"):
        grid.points("p", "fig1", "quick")


def test_some_points_may_have_more_replicas(pipelines: Path) -> None:
    more = {"experiment": ["one"], "replicas": 3}
    profile(pipelines, more, {"experiment": ["two"], "replicas": 2})
    found = grid.points("p", "fig1", "quick")
    assert [(point.labels["experiment"], point.replica) for point in found] == [
        *[("one", 1), ("one", 2), ("one", 3), ("two", 1), ("two", 2)]
    ]


def test_an_axis_may_stand_for_a_key(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"], "buffer": ["0.5bdp"]})
    (point,) = grid.points("p", "fig1", "quick")
    assert point.settings == ["bottleneck.queue.limit=0.5bdp"]
    assert point.labels == {"experiment": "one", "buffer": "0.5bdp"}


def test_the_command_line_of_a_point() -> None:
    overrides = {"flows.0.ecn": True, "seed": 2}
    point = grid.run(Path("p"), {"experiment": "one"}, overrides)
    assert point.settings == ["flows.0.ecn=true", "seed=2"]
    assert point.directory == "results/runs/p/one/flows.0.ecn=true+seed=2"


def test_a_run_that_sets_much_has_a_name_that_a_file_system_takes() -> None:
    settings = {f"hosts.s{n}.sysctls.net.ipv4.tcp_congestion_control": "reno" for n in range(6)}
    runs = [
        grid.run(Path("p"), {"experiment": "one"}, settings | {"seed": seed}) for seed in (1, 2)
    ]
    names = {Path(run.directory).name for run in runs}
    assert len(names) == 2
    assert all(len(name.encode()) < 220 for name in names)  # of 255


def test_equal_overrides_are_one_run(pipelines: Path) -> None:
    """Figures that need the same run share it: its directory names only what it sets."""
    profile(pipelines, {"experiment": ["one"], "ecn": ["with"]})
    (by_label,) = grid.points("p", "fig1", "quick")
    profile(pipelines, {"experiment": ["one"], "flows.0.ecn": [True]})
    (by_key,) = grid.points("p", "fig1", "quick")
    assert by_label.directory == by_key.directory


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"experiment": ["three"]}, "three.yaml does not exist"),
        ({"rtt": ["20ms"]}, "needs the axis 'experiment'"),
        ({"experiment": ["one"], "ecn": ["maybe"]}, "ecn has no value 'maybe'"),
        ({"experiment": ["one"], "ecn": [True]}, "ecn has no value 'True'"),
        ({"experiment": ["one"], "rtt": []}, "is empty: give at least one"),
        ({"experiment": ["one"], "rtt": ["20ms", "20ms"]}, "the same run"),
    ],
)
def test_a_wrong_grid(pipelines: Path, wrong: object, says: str) -> None:
    profile(pipelines, wrong)
    with pytest.raises(UsageError, match=says) as raised:
        grid.points("p", "fig1", "quick")
    assert re.search(r"fig1\.yaml:\d+: quick", raised.value.message)


RUNS = [
    {"experiment": ["one"], "rtt": ["20ms", "40ms"], "ecn": ["with", "without"], "replicas": 8},
    {"experiment": ["two"], "rtt": ["40ms"], "rtt_spread": ["5%"], "replicas": 8},
]


def runs(profile: str) -> list[tuple[object, ...]]:
    """The runs of fig1, in whatever order each sets its keys."""
    found = grid.points("p", "fig1", profile)
    return [(run.labels, set(run.settings), run.replica) for run in found]


@pytest.mark.parametrize(
    ("quick", "grids"),
    [
        ({}, RUNS),
        ({"replicas": 2}, [RUNS[0] | {"replicas": 2}, RUNS[1] | {"replicas": 2}]),
        ({"ecn": ["with"]}, [RUNS[0] | {"ecn": ["with"]}, RUNS[1]]),
        ({"rtt": ["20ms"]}, [RUNS[0] | {"rtt": ["20ms"]}]),
        (
            {"rtt": ["40ms"], "experiment": ["one"], "duration": ["20s"]},
            [RUNS[0] | {"rtt": ["40ms"], "duration": ["20s"]}],
        ),
        (
            {"rtt_spread": None, "experiment": ["two"], "replicas": None},
            [{"experiment": ["two"], "rtt": ["40ms"]}],
        ),
        ([RUNS[1]], [RUNS[1]]),
    ],
)
def test_what_a_profile_leaves_out(
    pipelines: Path, quick: object, grids: list[dict[str, object]]
) -> None:
    figure(pipelines, runs=RUNS, quick=quick)
    found = runs("quick")
    figure(pipelines, runs=RUNS, quick=grids)
    assert found == runs("quick") == runs("smoke")


def test_smoke_is_a_part_of_quick(pipelines: Path) -> None:
    figure(pipelines, runs=RUNS, quick={"rtt": ["40ms"]}, smoke={"ecn": ["with"], "replicas": 1})
    assert len(grid.points("p", "fig1", "smoke")) == 2
    figure(pipelines, runs=RUNS, quick={"rtt": ["40ms"]}, smoke={"rtt": ["20ms"]})
    with pytest.raises(UsageError, match=r"fig1\.yaml:\d+: smoke: rtt: 20ms is not among"):
        grid.points("p", "fig1", "smoke")


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"rtt": ["30ms"]}, "quick: rtt: 30ms is not among 20ms, 40ms, 40ms"),
        ({"delay": None}, "quick: delay: there is no such axis"),
        ({"experiment": ["two"], "rtt": ["20ms"]}, "quick: nothing is left"),
    ],
)
def test_a_part_that_is_none(pipelines: Path, part: object, says: str) -> None:
    figure(pipelines, runs=RUNS, quick=part)
    with pytest.raises(UsageError, match=says):
        grid.points("p", "fig1", "quick")


def test_unknown_names(pipelines: Path) -> None:
    figure(pipelines)
    with pytest.raises(UsageError, match="no figure 'fig9'"):
        grid.points("p", "fig9", "quick")
    with pytest.raises(UsageError, match="no profile 'fast'"):
        grid.points("p", "fig1", "fast")
    with pytest.raises(UsageError, match="no paper 'q'"):
        shelf.paper("q")


def test_a_misspelt_key(pipelines: Path) -> None:
    figure(pipelines, titel="x")
    with pytest.raises(UsageError, match=r"fig1\.yaml:\d+: titel: unknown key"):
        shelf.paper("p").figures["fig1"]
    (pipelines / "p" / "paper.yaml").write_text("paper: TR-1\ntitle: A paper\ntitel: x\n")
    with pytest.raises(UsageError, match=r"paper\.yaml:3: titel: unknown key"):
        shelf.paper("p")


def test_not_yaml(pipelines: Path) -> None:
    (pipelines / "p" / "fig1.yaml").write_text("runs: [")
    with pytest.raises(UsageError, match=r"fig1\.yaml:2, column 1: "):
        shelf.paper("p").figures["fig1"]


def test_figures_come_in_the_papers_order(pipelines: Path) -> None:
    for name in ("b", "a", "c"):
        (pipelines / "p" / f"{name}.yaml").write_text("")
    head = pipelines / "p" / "paper.yaml"
    head.write_text("paper: TR-1\ntitle: A paper\norder: [c]\n")
    assert list(shelf.paper("p").figures) == ["c", "a", "b"]
    head.write_text("paper: TR-1\ntitle: A paper\norder: [d]\n")
    with pytest.raises(UsageError, match=r"paper\.yaml: order: there is no d\.yaml"):
        _ = shelf.paper("p").figures


SHARED = {"paths": {"rtt": "rtt", "ecn": "flows.0.ecn"}, "told": ["one flow"]}


@pytest.mark.parametrize(
    ("axes", "whole"),
    [
        ({"shared": "paths"}, SHARED["paths"]),
        ({"shared": "paths", "ecn": "flows.1.ecn"}, {"rtt": "rtt", "ecn": "flows.1.ecn"}),
    ],
)
def test_what_figures_share(pipelines: Path, axes: object, whole: object) -> None:
    head = {"paper": "TR-1", "title": "A paper", "shared": SHARED}
    (pipelines / "p" / "paper.yaml").write_text(yaml.safe_dump(head))
    figure(pipelines, axes=axes, setup={"stated": {"shared": "told"}})
    found = shelf.paper("p").figures["fig1"]
    assert (found.axes, found.setup.stated) == (whole, ["one flow"])


@pytest.mark.parametrize(
    ("shared", "axes", "says"),
    [
        ({}, {"shared": "path"}, "nothing is shared as 'path'"),
        (SHARED, {"shared": "path"}, "did you mean 'paths'"),
        (SHARED, {"shared": "told", "rtt": "rtt"}, "told is no mapping, so that rtt cannot be"),
        ({"a": {"x": {"shared": "a"}}}, {"shared": "a"}, "axes.x: a is a part of itself"),
    ],
)
def test_what_cannot_be_shared(pipelines: Path, shared: object, axes: object, says: str) -> None:
    head = {"paper": "TR-1", "title": "A paper", "shared": shared}
    (pipelines / "p" / "paper.yaml").write_text(yaml.safe_dump(head))
    figure(pipelines, axes=axes)
    with pytest.raises(UsageError, match=says) as raised:
        shelf.paper("p").figures["fig1"]
    assert "fig1.yaml" in raised.value.message
