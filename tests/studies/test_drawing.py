"""A picture shows every point and replica of its study, and says what its bands mean."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.text import Text
from plotnine import ggplot
from pydantic import TypeAdapter, ValidationError

from sandglass.errors import SandglassError
from sandglass.experiment.document import Value
from sandglass.experiment.part import Part
from sandglass.experiment.problems import explain
from sandglass.results import series, style
from sandglass.studies import drawing, recorded, statistics
from sandglass.studies.layout import Results
from sandglass.studies.plot import Entry, Plot, Points
from tests.studies import recorded_runs

AXES: dict[str, list[Value]] = {"queue": ["PIE", "CoDel"], "rtt": ["100ms", "20ms", "400ms"]}
METRICS = {"delay": "ms", "goodput": "Mb/s"}


def results(axes: dict[str, list[Value]] = AXES, replicas: int = 5, home: Path = Path()) -> Results:
    """A study whose replicas differ by a little, each point by 10 from the one before."""
    points: list[dict[str, Value]] = [{}]
    for axis, labels in axes.items():
        points = [point | {axis: label} for point in points for label in labels]
    random = np.random.default_rng(1)
    runs = pl.DataFrame(
        [
            point
            | {"replica": replica, "seed": replica, "directory": f"{index}/{replica}"}
            | {"delay": 10 * index + random.uniform(1, 2), "goodput": random.uniform(8, 9)}
            for index, point in enumerate(points)
            for replica in range(1, replicas + 1)
        ]
    )
    summary = statistics.summary(runs, list(axes), list(METRICS))
    return Results(axes, runs, summary, home, METRICS, "Lab build bb22.")


def entry(**content: Any) -> Entry:
    found: Entry = TypeAdapter(Plot).validate_python(content)
    assert not list(found.wrong(AXES | {"loss": [0, 1]}, list(METRICS)))
    return found


def draw(of: Results | None = None, **content: Any) -> ggplot:
    return drawing.draw(entry(**content), of or results())


def shown(drawn: ggplot) -> pl.DataFrame:
    """What a picture is of."""
    assert isinstance(drawn.data, pl.DataFrame)
    return drawn.data


def layer(drawn: ggplot, geom: str) -> pl.DataFrame:
    """What the first layer of a kind shows."""
    found = next(each for each in drawn.layers if type(each.geom).__name__ == geom)
    return found._data if isinstance(found._data, pl.DataFrame) else shown(drawn)


def panel(drawn: ggplot) -> Any:
    """The only one, as it is drawn; on logarithmic axes it measures in decades."""
    (axes,) = style._with_pandas(drawn).draw().axes
    return axes


def decades(values: Any) -> tuple[float, float]:
    """The least and the largest."""
    return math.log10(values.min()), math.log10(values.max())


def caption(drawn: ggplot) -> str:
    return (drawn.labels.caption or "").replace("\n", " ")


def test_a_quantity_is_a_number_on_its_axis() -> None:
    drawn = draw(x="rtt", y="delay", colour="queue")
    assert drawn.labels.x == "RTT (ms)"
    assert drawn.labels.y == "Delay (ms)"
    assert drawn.labels.color == "Queue"
    ribbon = layer(drawn, "geom_ribbon")
    assert ribbon.select("colour", "x").rows() == [
        (queue, rtt) for queue in ("PIE", "CoDel") for rtt in (20, 100, 400)
    ]
    assert ribbon.filter(pl.col("low") >= pl.col("y")).is_empty()
    assert layer(drawn, "geom_point").height == 30
    assert "95 % interval of 5 runs, each a dot" in caption(drawn)
    assert "Lab build bb22." in caption(drawn)


@pytest.mark.parametrize(
    "content",
    [{"x": "rtt", "y": "delay"}, {"heat": "delay", "x": "rtt", "y": "queue"}],
)
def test_replicas_that_are_alike_are_said(content: dict[str, Any]) -> None:
    of = results()
    runs = of.runs.with_columns(delay=1 / 3, goodput=7.0)
    summary = statistics.summary(runs, list(AXES), list(METRICS))
    words = "All replicas of a point are equal"
    assert words in caption(draw(Results(AXES, runs, summary, of.home, METRICS), **content))
    assert words not in caption(draw(of, **content))


def test_a_dollar_is_a_dollar(tmp_path: Path) -> None:
    """Titles, labels, captions and what is on axes and in legends are shown as they are written."""
    of = results()
    odd = r"$\frac{1$"
    axes: dict[str, list[Value]] = {**AXES, "queue": [odd, "CoDel"]}
    runs, summary = (
        each.with_columns(pl.col("queue").replace({"PIE": odd})) for each in (of.runs, of.summary)
    )
    found = Results(axes, runs, summary, of.home, METRICS, odd)
    for place in ({"x": "queue"}, {"x": "rtt", "colour": "queue"}, {"x": "rtt", "facet": "queue"}):
        drawn = draw(found, y="delay", title=odd, labels={"delay": odd}, **place)
        style.save(drawn, tmp_path / "odd")


def test_names_have_slots_beside_each_other() -> None:
    drawn = draw(x="queue", y="delay", colour="rtt")
    bars = layer(drawn, "geom_errorbar").sort("x")
    assert bars.select("queue", "rtt").rows() == [
        (queue, rtt) for queue in ("PIE", "CoDel") for rtt in ("20ms", "100ms", "400ms")
    ]
    assert bars["x"].round(6).n_unique() == 6


def test_one_run_has_no_bar() -> None:
    drawn = draw(results(replicas=1), x="queue", y="delay", colour="rtt")
    assert "geom_errorbar" not in [type(each.geom).__name__ for each in drawn.layers]
    assert "One run a point" in caption(drawn)


@pytest.mark.parametrize("rtts", [["20ms", "40ms"], ["2ms", "200s"]])
def test_bars_of_two_values_are_narrow_on_a_logarithmic_axis(rtts: list[Value]) -> None:
    drawn = draw(results({"rtt": rtts}), x="rtt", y="delay", log="x")
    left, right = panel(drawn).get_xlim()
    least, most = decades(shown(drawn)["x"])
    assert left < least < most < right
    assert right - left < 1.2 * (most - least)


def uncertain() -> Results:
    """A study of three round trips; at the second the interval holds 0, at the last a run is 0."""
    delays = {"20ms": [9.0, 10, 11], "100ms": [1.0, 1, 7], "400ms": [0.0, 3, 6]}
    runs = pl.DataFrame(
        [
            {"rtt": rtt, "replica": replica, "directory": "", "delay": delay}
            for rtt, own in delays.items()
            for replica, delay in enumerate(own, 1)
        ]
    )
    summary = statistics.summary(runs, ["rtt"], ["delay"])
    return Results({"rtt": list(delays)}, runs, summary, Path(), {"delay": "ms"})


def test_on_a_logarithmic_axis_an_interval_that_holds_0_ends_at_the_panels_edge() -> None:
    of = uncertain()
    assert (of.summary["low"] < 0).to_list() == [False, True, True]
    drawn = draw(of, x="rtt", y="delay", log="y")
    axes = panel(drawn)
    (band,) = (each for each in axes.collections if isinstance(each, PolyCollection))
    ends: Any = band.get_paths()[0].vertices
    bottom, _ = axes.get_ylim()
    _, most = decades(of.summary["high"])
    assert (ends[:, 1].min(), ends[:, 1].max()) == pytest.approx((bottom, most))
    assert bottom < decades(of.runs["delay"].filter(of.runs["delay"] > 0))[0]
    assert "An interval that reaches 0 or below ends at the panel's edge." in caption(drawn)
    assert "not on a logarithmic axis: 1 dot." in caption(drawn)
    assert "logarithmic" not in caption(draw(of, x="rtt", y="delay"))


@pytest.mark.parametrize(
    "content",
    [
        {"x": "rtt", "y": "delay"},
        {"box": "delay", "x": "queue"},
        {"ellipse": ["delay", "goodput"]},
        {"ratio": "delay", "x": "rtt", "against": {"queue": "PIE"}},
    ],
)
def test_no_two_points_are_put_together_unseen(content: dict[str, Any]) -> None:
    of = results(AXES | {"loss": [0.1 + 0.2, 1.0]})
    drawn = draw(of, **content)
    dots = layer(drawn, "geom_point")
    places = {"colour", "panel", "middle" if "box" in content else "x"}
    if "ellipse" in content:
        places.remove("x")
    assert set(dots.group_by(places).len()["len"]) == {5}
    said = dots.select(pl.col("colour", "panel").cast(pl.String)).unique().rows()
    assert any("0.3" in f"{colour} {panel}" and "0.30" not in panel for colour, panel in said)


def test_an_axis_may_lie_across_and_have_colours() -> None:
    dots = layer(draw(x="queue", y="delay", colour="queue"), "geom_point")
    assert dots["colour"].cast(pl.String).to_list() == dots["queue"].to_list()
    assert dots["panel"].n_unique() == 3


def test_two_keys_with_one_last_part_are_told_apart() -> None:
    axes: dict[str, list[Value]] = {
        "flows.0.cc": ["reno", "cubic"],
        "flows.1.cc": ["reno", "cubic"],
        "hosts.s1.rtt": ["10ms", "20ms", "40ms"],
        "rtt": ["10ms", "20ms"],
    }
    drawn = drawing.draw(Points(x="hosts.s1.rtt", y="delay"), results(axes))
    assert drawn.labels.color == "CC of flows.0"
    assert drawn.labels.x == "RTT of hosts.s1 (ms)"
    figure = style._with_pandas(drawn).draw()
    said = {text.get_text() for text in figure.findobj(Text)}
    assert "CC of flows.1 cubic, RTT 20ms" in said


def test_an_axis_may_have_colours_and_panels_beside_another() -> None:
    axes: dict[str, list[Value]] = {"rtt": ["20ms", "40ms"], "queue": ["A", "B"], "ecn": ["a", "b"]}
    drawn = drawing.draw(Points(x="rtt", y="delay", colour="queue", facet="queue"), results(axes))
    assert layer(drawn, "geom_point")["panel"].n_unique() == 4


def test_what_goes_in_step_makes_no_panels() -> None:
    of = results()
    runs = of.runs.with_columns(limit=pl.col("rtt") + "p")
    axes = AXES | {"limit": runs["limit"].unique(maintain_order=True).to_list()}
    summary = statistics.summary(runs, list(axes), list(METRICS))
    drawn = draw(Results(axes, runs, summary, of.home, METRICS), x="rtt", y="delay")
    assert layer(drawn, "geom_point")["panel"].n_unique() == 1


def test_too_many_panels_are_refused() -> None:
    of = results(AXES | {"loss": list(range(10))}, replicas=1)
    with pytest.raises(SandglassError, match="30 panels, one for each of rtt and loss"):
        draw(of, ellipse=["delay", "goodput"], colour="queue")


def test_a_label_has_its_colour_in_all_pictures(tmp_path: Path) -> None:
    axes = {"rtt": AXES["rtt"], "queue": AXES["queue"]}
    drawn = draw(
        results(axes), difference="delay", x="rtt", colour="queue", against={"queue": "PIE"}
    )
    style.save(drawn, tmp_path / "drawn")
    text = (tmp_path / "drawn.svg").read_text().upper()
    assert style.PALETTE[1] in text  # CoDel's, the second queue's
    assert style.PALETTE[0] not in text


def test_differences_are_of_pairs() -> None:
    of = results()
    drawn = draw(of, difference="delay", x="rtt", against={"queue": "PIE"})
    assert drawn.labels.title == "Delay: CoDel compared with PIE"
    assert drawn.labels.y == "Difference in delay to PIE (ms)"
    assert "5 pairs of one seed" in caption(drawn)
    table = statistics.differences(of.runs, list(AXES), ["delay"], "queue", "PIE")
    means = layer(drawn, "geom_ribbon").sort("x")
    by_rtt = {row["rtt"]: row["mean"] for row in table.to_dicts()}
    assert means["y"].to_list() == [by_rtt[rtt] for rtt in ("20ms", "100ms", "400ms")]
    assert layer(drawn, "geom_point").height == 15


def test_an_ellipse_is_one_sigma_by_maximum_likelihood() -> None:
    of = results({"queue": ["PIE"]}, replicas=8)
    drawn = draw(of, ellipse=["delay", "goodput"])
    points = of.runs.select("delay", "goodput").to_numpy()
    centred = points - points.mean(axis=0)
    covariance = centred.T @ centred / len(points)
    path = layer(drawn, "geom_path").select("x", "y").to_numpy() - points.mean(axis=0)
    assert np.einsum("ij,jk,ik->i", path, np.linalg.inv(covariance), path) == pytest.approx(1)


def test_fewer_than_five_replicas_have_no_ellipse() -> None:
    drawn = draw(results(replicas=4), ellipse=["delay", "goodput"], reversed=True)
    assert "geom_path" not in [type(each.geom).__name__ for each in drawn.layers]
    assert "An ellipse takes 5 runs" in caption(drawn)
    assert "better is up and to the right" in caption(drawn)


def test_a_heat_map_says_mean_and_half_interval() -> None:
    found = shown(draw(heat="delay", x="rtt", y="queue"))
    order = found.select("rtt", size=pl.col("x").to_physical()).unique().sort("size")
    assert order["rtt"].to_list() == ["20ms", "100ms", "400ms"]
    assert all("±" in text for text in found["text"])


def test_a_heat_map_has_no_exponents() -> None:
    of = results(AXES, replicas=2)
    runs = of.runs.with_columns(delay=4073.4 + pl.col("replica") * 40)
    summary = statistics.summary(runs, list(AXES), ["delay"])
    found = shown(
        draw(Results(AXES, runs, summary, of.home, METRICS), heat="delay", x="rtt", y="queue")
    )
    assert found["text"].unique().to_list() == ["4133\n±254"]


@pytest.mark.parametrize(
    ("content", "names", "turned"),
    [
        ({"x": "queue", "y": "delay"}, ["PIE", "CoDel", "FQ-CoDel"], False),
        ({"x": "queue", "y": "delay"}, ["a queue of long name", "b" * 40, "c" * 40], True),
        ({"x": "queue", "box": "delay"}, ["a" * 40, "b" * 40, "c" * 40], True),
        ({"x": "queue", "y": "loss", "heat": "delay"}, ["a" * 40, "b" * 40, "c" * 40], True),
        ({"x": "queue", "y": "delay"}, [f"{rtt}.000000000000000000ms" for rtt in range(9)], False),
    ],
)
def test_names_that_would_cover_each_other_are_turned(
    content: dict[str, Any], names: list[Value], turned: bool
) -> None:
    axes: dict[str, list[Value]] = {"queue": names, "loss": [0, 1]}
    drawn = draw(results(axes), **content)
    assert (panel(drawn).get_xticklabels()[0].get_rotation() > 0) == turned


@pytest.mark.parametrize(
    ("rtts", "near"), [(["20ms", "40ms", "200ms"], True), (["20ms", "200ms"], False)]
)
def test_ticks_of_narrow_panels_are_further_apart(rtts: list[Value], near: bool) -> None:
    queues: list[Value] = ["PIE", "RED", "CoDel"]
    for few, own in ((queues[:1], True), (queues, not near)):
        drawn = draw(results({"rtt": rtts, "queue": few}), x="rtt", y="delay", facet="queue")
        axes = style._with_pandas(drawn).draw().axes[0]
        labels = {text.get_text() for text in axes.get_xticklabels()}
        assert ({str(rtt)[:-2] for rtt in rtts} <= labels) == own


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"x": "queue", "y": "delay", "log": "x"}, "queue has no logarithm"),
        ({"ratio": "worse", "x": "rtt", "against": {"queue": "PIE"}}, "not above 0 everywhere"),
        ({"box": "worse", "x": "rtt", "log": "y"}, "boxes of worse have no logarithm"),
        ({"x": "rtt", "y": "nothing", "log": "y"}, "no mean is above 0"),
    ],
)
def test_what_cannot_be_drawn_is_said(content: dict[str, Any], said: str) -> None:
    of = results()
    runs = of.runs.with_columns(worse=pl.col("delay") - 5, nothing=pl.lit(0.0))
    summary = statistics.summary(runs, list(AXES), ["delay", "nothing"])
    found: Entry = TypeAdapter(Plot).validate_python(content)
    with pytest.raises(SandglassError, match=said):
        drawing.draw(found, Results(AXES, runs, summary, of.home, METRICS))


@pytest.mark.parametrize(
    ("content", "at", "said"),
    [
        ({"elipse": ["a", "b"]}, "", "did you mean 'ellipse'?"),
        ({"x": "rtt"}, "", "no kind of picture"),
        ({"ellipse": ["a"]}, "ellipse", "is not of two metrics"),
        ({"cdf": "delays"}, "cdf", "is nothing to draw"),
        ({"cdf": {"table": "rtt", "of": "a b c"}}, "cdf.of", "invalid expression"),
        ({"x": "rtt", "y": "delay", "color": "queue"}, "color", "did you mean 'colour'?"),
        ({"heat": "a", "x": "b", "y": "c", "colour": "d"}, "", "a heat map has no colour"),
        ({"difference": "a", "x": "b"}, "against", "is missing"),
        ({"series": "cwnds"}, "series", "'queue_delay', 'rate' or 'cwnd'"),
        ("delay", "", "is not a picture"),
    ],
)
def test_what_is_no_picture_is_refused(content: Any, at: str, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Plot).validate_python(content)
    (problem,) = explain(refused.value, Part)
    assert ".".join(map(str, problem[0])) == at
    assert said in problem[1]


@pytest.mark.parametrize(
    ("content", "at", "said"),
    [
        ({"x": "rt", "y": "delay"}, "x", "did you mean 'rtt'?"),
        ({"x": "rtt", "y": "dela"}, "y", "did you mean 'delay'?"),
        ({"x": "rtt", "y": "delay", "labels": {"loss": "Loss"}}, "labels.loss", "is not in this"),
        ({"series": "queue_delay", "colour": "flow"}, "colour", "name an axis"),
        ({"ratio": "delay", "x": "rtt", "against": {"queue": "pie"}}, "against.queue", "are PIE"),
        ({"ratio": "delay", "x": "rtt", "against": {"queu": "PIE"}}, "against.queu", "'queue'"),
    ],
)
def test_names_that_a_study_does_not_have(content: Any, at: str, said: str) -> None:
    found: Entry = TypeAdapter(Plot).validate_python(content)
    ((where, text),) = found.wrong(AXES, list(METRICS))
    assert ".".join(map(str, where)) == at
    assert said in text


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of a study of two queues and two replicas, which wait 3 and 4, 13 and 14 ms."""
    place = tmp_path_factory.mktemp("study")
    for point in (0, 1):
        for replica in (1, 2):
            recorded_runs.write(place / f"{point}/{replica}", 10 * point + replica + 2, replica)
    return place


QUEUES: dict[str, list[Value]] = {"queue": ["PIE", "CoDel"]}


def test_a_series_is_the_median_of_runs_with_its_band(home: Path) -> None:
    drawn = draw(results(QUEUES, 2, home), series="queue_delay")
    ribbon = layer(drawn, "geom_ribbon").filter(pl.col("colour") == "PIE")
    assert ribbon.height == recorded.STEPS
    assert ribbon.select("low", "y", "high").unique().rows() == [(4.5, 5.25, 6)]
    assert drawn.labels.y == "Queueing delay (ms)"
    assert "Median of 2 runs" in caption(drawn)


@pytest.mark.parametrize(("what", "values"), [("rate", [1.2112, 1.2112]), ("cwnd", [10, 20])])
def test_a_series_by_flow(home: Path, what: str, values: list[float]) -> None:
    drawn = draw(results(QUEUES, 2, home), series=what, colour="flow")
    table = shown(drawn).filter(pl.col("panel") == "queue PIE").sort("colour", "time_s")
    first = table.group_by("colour", maintain_order=True).first()
    assert first["colour"].to_list() == ["1: s1 to d1, cubic", "2: s2 to d2, reno"]
    assert first["y"].to_list() == pytest.approx(values)


def test_the_rate_of_all_flows_is_their_sum(home: Path) -> None:
    found = recorded.over_time(series.load(home / "0/1", {}), "rate", by_flow=False)
    assert found["y"].unique().to_list() == pytest.approx([2.4224])


def test_a_distribution_is_that_of_all_runs(home: Path) -> None:
    drawn = draw(results(QUEUES, 2, home), cdf="queue_delay")
    pie = shown(drawn).filter(pl.col("colour") == "PIE")
    assert pie.select("x", "low", "y", "high").rows() == [
        (3, 0, 0, 0),
        (3, 0, 0.25, 0.5),
        (4, 0.5, 0.5, 0.5),
        (6, 0.5, 0.75, 1),
        (8, 1, 1, 1),
    ]


def test_a_distribution_of_flow_completion_times(home: Path) -> None:
    found = recorded.distributed(series.load(home / "0/1", {}), "fct")
    assert (found.title, found.known.tolist()) == ("Flow completion time (s)", [0.3])
    assert found.unfinished == 0
    drawn = draw(results(QUEUES, 2, home), cdf="fct")
    assert drawn.labels.title == "Distribution: flow completion time"
    assert shown(drawn)["y"].max() == 1
    assert "did not end" not in caption(drawn)


def ended(place: Path, times: list[list[float | None]]) -> Path:
    """The runs of a study of one queue; their flows have a size, those of `restart` no time."""
    for replica, own in enumerate(times, 1):
        run = recorded_runs.write(place / f"0/{replica}", 1, replica)
        numbers = range(1, len(own) + 2)
        workloads = ["bulk"] * len(own) + ["restart"]
        flows = [
            {"id": number, "workload": workload, "size_bytes": 1000}
            for number, workload in zip(numbers, workloads, strict=True)
        ]
        (run / "plan.json").write_text(json.dumps({"flows": flows}))
        table = pl.DataFrame(
            {"flow": list(numbers), "fct_s": [*own, None]}, schema_overrides={"fct_s": pl.Float64}
        )
        table.write_parquet(run / "flows.parquet")
    return place


def test_flows_that_did_not_end_count(tmp_path: Path) -> None:
    home = ended(tmp_path, [[0.1, 0.2, None, None], [0.1, 0.2, 0.3, None]])
    drawn = draw(results({"queue": ["PIE"]}, 2, home), cdf="fct")
    assert shown(drawn).select("x", "low", "y", "high").rows() == [
        (0.1, 0, 0, 0),
        (0.1, 0.25, 0.25, 0.25),
        (0.2, 0.5, 0.5, 0.5),
        (0.3, 0.5, 0.625, 0.75),
    ]
    assert "3 of 8 flows did not end: they count" in caption(drawn)
    assert panel(drawn).get_ylim()[1] > 1


def test_where_no_flow_ended_there_is_no_distribution(tmp_path: Path) -> None:
    home = ended(tmp_path, [[None], [None]])
    with pytest.raises(SandglassError, match="no flow of 2 runs ended"):
        draw(results({"queue": ["PIE"]}, 2, home), cdf="fct")


def test_rows_without_a_value_are_said(home: Path) -> None:
    drawn = draw(results(QUEUES, 2, home), cdf={"table": "flows", "of": "fct_s"})
    assert "4 of 8 rows have no value, and are left out." in caption(drawn)


def test_rows_of_a_table(home: Path) -> None:
    drawn = draw(
        results(QUEUES, 2, home),
        cdf={"table": "packets", "of": "sojourn_ns / 1e6", "where": "flow = 2"},
    )
    assert shown(drawn).filter(pl.col("colour") == "PIE")["x"].min() == 6


def test_what_was_not_recorded_is_said(home: Path) -> None:
    with pytest.raises(SandglassError, match=r"rtt.parquet is missing"):
        draw(results(QUEUES, 2, home), cdf={"table": "rtt", "of": "rtt_ns"})


def test_from_eight_replicas_on_the_band_leaves_out_the_ends() -> None:
    lines = pl.DataFrame({"time_s": [0.0] * 21, "y": [float(value) for value in range(21)]})
    assert recorded.banded(lines, ["time_s"]).rows() == [(0, 10, 1, 19)]
    assert recorded.banded(lines.head(7), ["time_s"]).rows() == [(0, 3, 0, 6)]


def test_equal_studies_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        drawn = draw(results(QUEUES), x="queue", y="delay")
        style.save(drawn, tmp_path / name)
    for suffix in ("svg", "png"):
        one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
