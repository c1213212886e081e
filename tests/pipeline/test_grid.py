"""Figures and profiles become runs; what does not make sense is refused with its place."""

from pathlib import Path

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.papers import grid, shelf
from sandglass.studies import points

FIGURES = {
    "paper": "TR-1",
    "title": "A paper",
    "figures": {
        "fig1": {
            "title": "Fig. 1",
            "caption": "One flow.",
            "setup": {"stated": ["one flow"], "re-design": ["RTT grid"]},
            "axes": {
                "ecn": {"with": {"flows.0.ecn": True}, "without": {"flows.0.ecn": False}},
                "buffer": "bottleneck.queue.limit",
            },
        }
    },
}


@pytest.fixture
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper 'p' with one figure and the experiments 'one' and 'two'."""
    monkeypatch.setattr(shelf, "PIPELINES", tmp_path)
    (tmp_path / "p" / "profiles").mkdir(parents=True)
    (tmp_path / "p" / "experiments").mkdir()
    (tmp_path / "p" / "figures.yaml").write_text(yaml.safe_dump(FIGURES))
    for name in ("one", "two"):
        (tmp_path / "p" / "experiments" / f"{name}.yaml").write_text("title: made up\n")
    return tmp_path


def profile(pipelines: Path, *grids: object, figure: str = "fig1") -> None:
    content = yaml.safe_dump({"figures": {figure: list(grids)}})
    (pipelines / "p" / "profiles" / "quick.yaml").write_text(content)


def test_a_grid_is_the_product_of_its_axes(pipelines: Path) -> None:
    values = {"experiment": ["one", "two"], "ecn": ["with", "without"], "rtt": ["20ms", "40ms"]}
    profile(pipelines, values)
    points = grid.points("p", "fig1", "quick")
    assert len(points) == 8
    assert points[0] == grid.Point(
        "one", {"ecn": "with", "rtt": "20ms"}, {"flows.0.ecn": True, "rtt": "20ms"}
    )


def test_grids_follow_each_other(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"], "rtt": ["20ms"]}, {"experiment": ["two"]})
    names = [(point.experiment, point.name) for point in grid.points("p", "fig1", "quick")]
    assert names == [("one", "rtt=20ms"), ("two", points.UNCHANGED)]


def test_replicas_have_the_same_seeds_at_every_point(pipelines: Path) -> None:
    """The first one is the run without replicas; repetitions take as many seeds as there are."""
    (pipelines / "p" / "experiments" / "two.yaml").write_text("seed: 7\nrepeat: 10\n")
    grids = {"experiment": ["one", "two"], "replicas": 3, "rtt": ["20ms", "40ms"]}
    profile(pipelines, grids)
    found = grid.points("p", "fig1", "quick")
    assert [point.replica for point in found] == [1, 2, 3] * 4
    assert [point.overrides.get("seed") for point in found] == [None, 2, 3] * 2 + [None, 17, 27] * 2
    assert found[1].name == "rtt=20ms,seed=2"
    assert found[0].axes == {"rtt": "20ms"}


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
    assert [(point.experiment, point.replica) for point in found] == [
        *[("one", 1), ("one", 2), ("one", 3), ("two", 1), ("two", 2)]
    ]


def test_an_axis_may_stand_for_a_key(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"], "buffer": ["0.5bdp"]})
    (point,) = grid.points("p", "fig1", "quick")
    assert point.overrides == {"bottleneck.queue.limit": "0.5bdp"}
    assert point.axes == {"buffer": "0.5bdp"}


def test_the_command_line_of_a_point() -> None:
    point = grid.Point("one", {}, {"flows.0.ecn": True, "seed": 2})
    assert point.settings == ["flows.0.ecn=true", "seed=2"]
    assert point.directory("p") == Path("results/runs/p/one/flows.0.ecn=true+seed=2")


def test_a_run_that_sets_much_has_a_name_that_a_file_system_takes() -> None:
    settings = {f"hosts.s{n}.sysctls.net.ipv4.tcp_congestion_control": "reno" for n in range(6)}
    names = {
        grid.Point("one", {}, settings | {"seed": seed}).directory("p").name for seed in (1, 2)
    }
    assert len(names) == 2
    assert all(len(name.encode()) < 220 for name in names)  # of 255


def test_equal_overrides_are_one_run(pipelines: Path) -> None:
    """Figures that need the same run share it: its directory names only what it sets."""
    profile(pipelines, {"experiment": ["one"], "ecn": ["with"]})
    (by_label,) = grid.points("p", "fig1", "quick")
    profile(pipelines, {"experiment": ["one"], "flows.0.ecn": [True]})
    (by_key,) = grid.points("p", "fig1", "quick")
    assert by_label.directory("p") == by_key.directory("p")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"experiment": ["three"]}, "three.yaml does not exist"),
        ({"rtt": ["20ms"]}, "needs the axis 'experiment'"),
        ({"experiment": ["one"], "ecn": ["maybe"]}, "ecn has no value 'maybe'"),
        ({"experiment": ["one"], "ecn": [True]}, "ecn has no value 'True'"),
        ({"experiment": ["one"], "rtt": []}, "at least 1 item"),
        ({"experiment": ["one"], "rtt": ["20ms", "20ms"]}, "the same run"),
    ],
)
def test_a_wrong_grid(pipelines: Path, wrong: object, says: str) -> None:
    profile(pipelines, wrong)
    with pytest.raises(UsageError, match=says) as raised:
        grid.points("p", "fig1", "quick")
    assert "quick.yaml" in raised.value.message or "experiments" in raised.value.message


def test_a_figure_without_a_grid(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"]}, figure="fig2")
    with pytest.raises(UsageError, match="fig1 has no grid"):
        grid.points("p", "fig1", "quick")


def test_unknown_names(pipelines: Path) -> None:
    profile(pipelines, {"experiment": ["one"]})
    with pytest.raises(UsageError, match="no figure 'fig9'"):
        grid.points("p", "fig9", "quick")
    with pytest.raises(UsageError, match="no profile 'fast'"):
        grid.points("p", "fig1", "fast")
    with pytest.raises(UsageError, match="no paper 'q'"):
        shelf.figures("q")


def test_a_misspelt_key(pipelines: Path) -> None:
    (pipelines / "p" / "figures.yaml").write_text(yaml.safe_dump(FIGURES | {"titel": "x"}))
    with pytest.raises(UsageError, match=r"figures\.yaml: titel: Extra inputs"):
        shelf.figures("p")


def test_not_yaml(pipelines: Path) -> None:
    (pipelines / "p" / "figures.yaml").write_text("figures: [")
    with pytest.raises(UsageError, match="is not YAML"):
        shelf.figures("p")
