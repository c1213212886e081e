"""Malformed studies: each differs from a good one in one place, and the message names that line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.studies import reading
from sandglass.studies.points import Setting, directories, product

GOOD = """\
title: Which queue keeps a call usable?
experiment:
  topology: dumbbell
  rtt: 20ms
  bottleneck: {rate: 10mbit, queue: {kind: codel}}
  flows:
    - {workload: bulk, from: s1, to: d1}
  duration: 5s
vary:
  queue: {key: bottleneck.queue, values: {CoDel: {kind: codel}, PIE: {kind: pie}}}
  rtt: [20ms, 100ms]
  variant: {values: {with: {flows.0.ecn: true}, without: {}}}
replicas: 5
metrics:
  goodput: flows.0.goodput_mbit
  delay: bottleneck.queue_delay_ms.p95
  sojourn: {table: packets, of: max(sojourn_ns) / 1e6, where: flow = 1}
compare: {axis: queue, against: CoDel}
plots:
  - {x: rtt, y: delay, colour: queue}
  - {ellipse: [delay, goodput], colour: queue}
expect:
  - {claim: the link is used, metric: goodput, at: {queue: CoDel}, bounds: {at_least: 8}}
memory_mb: 500
"""

MALFORMED = [
    # what is changed, into what, and where and what is said of it
    ("title: Which queue keeps a call usable?", "title: [a]", ":1: title: a list is not text"),
    ("title: Which", "titel: Which", ":1: titel: unknown key, did you mean 'title'?"),
    ("memory_mb: 500", "memory_mb: much", ":24: memory_mb: is not a whole number"),
    ("memory_mb: 500", "memory_mb: 0", ":24: memory_mb: is not a whole number"),
    ("memory_mb: 500", "memory_mb:", ":24: memory_mb: is empty"),
    ("memory_mb: 500", "module: my_plots.py", ":24: module: "),
    ("memory_mb: 500", "title: twice", ":24, column 1: the key 'title' stands there twice"),
    ("replicas: 5", "replicas: 0", ":13: replicas: 0 is no number of replicas"),
    ("replicas: 5", "replicas: 5.5", ":13: replicas: 5.5 is no number of replicas"),
    ("replicas: 5", "replicas: many", ":13: replicas: many is no number of replicas"),
    ("replicas: 5", "replicas: {of: dealy, within: 5%}", ":13: replicas.of: there is no metric"),
    ("replicas: 5", "replicas: {of: delay}", ":13: replicas.within: is missing"),
    ("replicas: 5", "replicas: {of: delay, within: 5%, most: 1}", ":13: replicas.most: 1 is too"),
    ("replicas: 5", "replicas: {of: delay, within: wide}", ":13: replicas.within: "),
    ("replicas: 5", "replicas: {of: delay, within: 5%, max: 9}", ":13: replicas.max: unknown key"),
    ("rtt: [20ms, 100ms]", "rtt: 20ms", ":11: vary.rtt: needs a list of values"),
    ("rtt: [20ms, 100ms]", "rtt: []", ":11: vary.rtt: needs a list of values"),
    ("rtt: [20ms, 100ms]", "rtt: [20ms, 20ms]", ":11: vary.rtt: has 20ms twice"),
    ("rtt: [20ms, 100ms]", "rtt: [20ms, null]", ":11: vary.rtt[1]: is empty"),
    ("rtt: [20ms, 100ms]", "rtt: [20ms, {a: 1}]", ":11: vary.rtt[1]: needs a label"),
    ("rtt: [20ms, 100ms]", "rtt: [20ms, fast]", ":11: vary.rtt[1]: rtt: fast is not a time"),
    ("rtt: [20ms, 100ms]", "rt: [20ms]", ":11: vary.rt[0]: rt: unknown key"),
    ("rtt: [20ms, 100ms]", "rtt.x: [20ms]", ":11: vary.rtt.x[0]: rtt is 20ms, it has no key x"),
    ("rtt: [20ms, 100ms]", "flows.3.cc: [reno]", ":11: vary.flows.3.cc[0]: flows has no entry 3"),
    ("rtt: [20ms, 100ms]", "rtt: {value: [20ms]}", ":11: vary.rtt.value: unknown key"),
    ("rtt: [20ms, 100ms]", "seed: [1, 2]", ":11: vary.seed: an axis cannot be called seed"),
    ("rtt: [20ms, 100ms]", "s: {key: seed, values: [1]}", ":11: vary.s.values[0]: sets the seed"),
    ("rtt: [20ms, 100ms]", "rtt: {key: 5, values: [1s]}", ":11: vary.rtt.key: is not a key's"),
    ("rtt: [20ms, 100ms]", "zip: {rtt: [20ms]}", ":11: vary.zip: needs two axes or more"),
    (
        "rtt: [20ms, 100ms]",
        "zip: {rtt: [20ms], duration: [5s, 9s]}",
        ":11: vary.zip: its axes need as many values each, and have: rtt 1, duration 2",
    ),
    ("rtt: [20ms, 100ms]", "cases: [{rtt: 20ms}, {rtts: 9ms}]", ":11: vary.cases[1]: sets other"),
    ("rtt: [20ms, 100ms]", "cases: [{rtt: 20ms}, 3]", ":11: vary.cases[1]: is not a case"),
    ("rtt: [20ms, 100ms]", "cases: {}", ":11: vary.cases: needs a list of cases"),
    ("rtt: [20ms, 100ms]", "cases: [{rtt: 9ms}, {rtt: 9ms}]", ":11: vary.cases: has a case twice"),
    ("rtt: [20ms, 100ms]", "bottleneck: [a]", ":11: vary.bottleneck: sets bottleneck after queue"),
    (
        "rtt: [20ms, 100ms]",
        "limit: {key: bottleneck.queue.limit, values: [none]}",
        ":11: vary.limit.val",
    ),
    ("{with: {flows.0.ecn: true}", "{with: 3", ":12: vary.variant.values.with: sets no key"),
    ("PIE: {kind: pie}", "PIE: {kind: pye}", ":10: vary.queue.values.PIE: bottleneck.queue.kind"),
    ("goodput: flows.0.goodput_mbit", "goodput: flow.0.x", ":15: metrics.goodput: run.json has no"),
    ("goodput: flows.0.goodput_mbit", "goodput: 3 +", ":15: metrics.goodput: '3 +' cannot be read"),
    ("goodput: flows.0.goodput_mbit", "goodput: a.b; c", ":15: metrics.goodput: 'a.b; c' cannot"),
    ("goodput: flows.0.goodput_mbit", "goodput: avg(seed)", ":15: metrics.goodput: unknown funct"),
    ("goodput: flows.0.goodput_mbit", "goodput: sqrt(1, 2)", ":15: metrics.goodput: sqrt takes 1"),
    ("goodput: flows.0.goodput_mbit", "goodput: '[seed]'", ":15: metrics.goodput: '[seed]' cannot"),
    ("goodput: flows.0.goodput_mbit", "goodput:", ":15: metrics.goodput: is empty"),
    ("  delay: bottleneck", "  mean: bottleneck", ":16: metrics.mean: a metric cannot be called"),
    ("  delay: bottleneck", "  the delay: bottleneck", ":16: metrics.the delay: 'the delay' is no"),
    ("  delay: bottleneck", "  rtt: bottleneck", ":16: metrics.rtt: a metric cannot be called rtt"),
    ("of: max(sojourn_ns) / 1e6", "of: max(", ":17: metrics.sojourn.of: "),
    ("of: max(sojourn_ns) / 1e6, ", "", ":17: metrics.sojourn.of: is missing"),
    ("where: flow = 1", "where: flow = 1 GROUP BY x", ":17: metrics.sojourn.where: "),
    ("where: flow = 1", "when: flow = 1", ":17: metrics.sojourn.when: unknown key"),
    ("table: packets", "table: goodput", ":17: metrics.sojourn.table: the experiment does not rec"),
    ("against: CoDel", "against: Codel", ":18: compare.against: queue has no value Codel, did"),
    (
        "{axis: queue, against: CoDel}",
        "{axis: q, against: CoDel}",
        ":18: compare.axis: there is",
    ),
    (
        "{axis: queue, against: CoDel}",
        "{against: RED}",
        ":18: compare.against: no axis has",
    ),
    ("{axis: queue, against: CoDel}", "CoDel", ":18: compare: CoDel is not a mapping"),
    ("y: delay", "y: dealy", ":20: plots[0].y: there is no metric 'dealy', did you mean 'delay'"),
    ("x: rtt", "x: rrt", ":20: plots[0].x: there is no axis 'rrt', did you mean 'rtt'?"),
    ("ellipse: [delay, goodput]", "elipse: [delay, goodput]", ":21: plots[1]: no kind of picture"),
    ("ellipse: [delay, goodput]", "ellipse: [delay]", ":21: plots[1].ellipse: "),
    ("{queue: CoDel}", "{queue: RED}", ":23: expect[0].at.queue: there is no queue 'RED'"),
    (", bounds: {at_least: 8}", "", ":23: expect[0]: has no bounds"),
    ("{at_least: 8}", "{at_lest: 8}", ":23: expect[0].bounds.at_lest: "),
    ("topology: dumbbell", "topology: dumbell", ":3: experiment.topology: "),
    ("  duration: 5s\n", "", ":2: experiment.duration: is missing"),
    ("vary:", "vary: [rtt]\nthing:", ":9: vary: is not a mapping"),
    ("metrics:", "metrics: {}\nthing:", ":14: metrics: is missing"),
]


@pytest.mark.parametrize("name", ["'a\"b'", "'{a}'", "'*'", "'^a$'", "' '", r'"a\nb"'])
def test_an_axis_whose_column_would_not_be_read_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "study.yaml"
    axis = f"{name}: {{key: rtt, values: [20ms, 100ms]}}"
    path.write_text(GOOD.replace("rtt: [20ms, 100ms]", axis, 1))
    with pytest.raises(UsageError, match=r":11: vary\..* is no name of an axis: write letters"):
        reading.load(path)


@pytest.mark.parametrize(
    ("old", "new", "said"), MALFORMED, ids=[f"{old} > {new}" for old, new, _ in MALFORMED]
)
def test_is_refused_at_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "study.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    assert caught.value.exit_code == 2
    lines = caught.value.message.splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    assert any(line.startswith(f"{path}{said}") for line in lines), caught.value.message
    # What is left out or called otherwise is missed by others, too.
    assert len(lines) <= 8, caught.value.message


def test_the_good_one_is_good(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(GOOD)
    study = reading.load(path)
    assert study.axes == ["queue", "rtt", "variant"]
    assert len(study.runs()) == 2 * 2 * 2 * 5


COLUMNS = [
    *("gain", "p", "p_holm", "ratio", "ratio_low", "ratio_high", "correlation", "against"),
    *("mean", "low", "reached", "digest", "y", "colour", "panel", "base", "slot", "ink"),
]
"""Of tables, and of what pictures are made of."""


PLOT = "- {ellipse: [delay, goodput], colour: queue}"
CLAIM = "metric: goodput, at: {queue: CoDel}, bounds: {at_least: 8}"
STEP = "rtt: [20ms, 100ms]"
MANY = f"rtt: [{', '.join(f'{rtt}ms' for rtt in range(1, 18))}]"
CASES = "cases: [{rtt: 20ms, duration: 5s}, {rtt: 100ms, duration: 9s}]"
ASKED = [
    # a vary in the place of rtt's, what else is changed and into what, and what is said of it
    (STEP, "memory_mb: 500", "memory_mb: 500", ""),
    (STEP, PLOT, "- {series: cwnd}", ":21: plots[1].series: the experiment does not record acks"),
    (STEP, PLOT, "- {cdf: {table: queues, of: time_ns}}", ":21: plots[1].cdf.table: the experi"),
    (STEP, PLOT, "- {y: delay, x: queue, log: x}", ":21: plots[1].log: queue has no logarithm"),
    ("rtt: {key: seedling, values: [0, 1]}", PLOT, "- {y: delay, x: rtt, log: x}", ":21: plots"),
    (STEP, PLOT, "- {box: delay, x: rtt, log: x}", ":21: plots[1].log: boxes stand side by side"),
    (CASES, "{axis: queue, against: CoDel}", "{axis: rtt, against: 20ms}", ":18: compare: no two"),
    ("rtt: [20ms]", "{axis: queue, against: CoDel}", "{against: 20ms}", ":18: compare: rtt has no"),
    (
        CASES.replace("]", ", {rtt: 30ms, duration: 5s}]"),
        "{axis: queue, against: CoDel}",
        "{axis: rtt, against: 20ms}",
        ":18: compare: there is no point rtt 20ms to compare with at queue CoDel, duration 9s",
    ),
    (CASES, PLOT, "- {difference: delay, x: queue, against: {rtt: 20ms}}", ":21: plots[1].against"),
    (CASES, CLAIM, "metric: delay, rises: rtt", ":23: expect[0].rises: no two points differ"),
    ("rtt: [20ms]", CLAIM, "metric: delay, falls: rtt", ":23: expect[0].falls: no two points"),
    (
        CASES,
        "at: {queue: CoDel}",
        "at: {rtt: 20ms, duration: 9s}",
        ":23: expect[0].at: no point has rtt 20ms, duration 9s",
    ),
    (CASES, CLAIM, CLAIM + ", ratio: {rtt: [20ms, 100ms]}", ":23: expect[0].ratio: no two points"),
    (STEP, CLAIM, CLAIM + ", ratio: {rtt: [20ms, 20ms]}", ":23: expect[0].ratio: compares 20ms"),
    (MANY, PLOT, PLOT, ":21: plots[1]: would have 34 panels, one for each of rtt and variant"),
    (MANY, PLOT, "- {heat: delay, x: rtt, y: queue}", ""),
    (MANY, PLOT, "- {heat: delay, x: variant, y: queue}", ":21: plots[1]: would have 17 panels"),
    (MANY, PLOT, "- {box: delay, x: variant}", ":21: plots[1]: would have 17 panels, one for each"),
    (MANY, PLOT, "- {box: delay, x: variant, colour: rtt}", ""),
    (MANY, PLOT, "- {cdf: queue_delay, facet: rtt}", ":21: plots[1]: would have 34 panels"),
    (MANY, PLOT, "- {series: rate, colour: flow}", ":21: plots[1]: would have 68 panels"),
    (MANY, PLOT, "- {ratio: delay, x: queue, against: {rtt: 1ms}}", ""),
    (STEP, "{at_least: 8}", "{at_least: 8, at_most: 3}", ":23: expect[0].bounds: nothing is at le"),
    (STEP, "{at_least: 8}", "{above: 3, at_most: 3}", ":23: expect[0].bounds: nothing is above 3"),
    (STEP, "{at_least: 8}", "{at_least: 3, at_most: 3}", ""),
    (STEP, "{at_least: 8}", "{at_most: .nan}", ":23: expect[0].bounds.at_most: "),
]


@pytest.mark.parametrize(("vary", "old", "new", "said"), ASKED)
def test_what_no_point_has_is_known_before_a_run(
    tmp_path: Path, vary: str, old: str, new: str, said: str
) -> None:
    path = tmp_path / "study.yaml"
    text = GOOD.replace("  duration: 5s", "  duration: 5s\n  record: [packets]")
    text = text.replace("title: Which queue keeps a call usable?\n", "").replace(STEP, vary, 1)
    assert old in text
    path.write_text(text.replace(old, new, 1))
    if not said:
        reading.load(path)
        return
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    assert caught.value.message.startswith(f"{path}{said}")


@pytest.mark.parametrize("name", COLUMNS)
def test_a_columns_name_is_no_axis_and_no_metric(tmp_path: Path, name: str) -> None:
    path = tmp_path / "study.yaml"
    axis = GOOD.replace("rtt: [20ms", f"{name}: [20ms").replace("x: rtt", f"x: {name}")
    for text, said in (
        (axis.replace(f"  {name}: [", f'  "{name}": ['), f":11: vary.{name}: an axis cannot be"),
        (
            GOOD.replace("  delay:", f'  "{name}":'),
            f":16: metrics.{name}: a metric cannot be called {name}",
        ),
    ):
        path.write_text(text)
        with pytest.raises(UsageError) as caught:
            reading.load(path)
        assert f"{path}{said}" in caught.value.message


@pytest.mark.parametrize(
    ("vary", "repeats", "apart"),
    [
        ({"rtt": ["20ms", "100ms"]}, [20, 20], 20),
        ({"repeat": [3, 7]}, [3, 7], 7),
        ({"cases": [{"repeat": 4}, {"repeat": 2}]}, [4, 2], 4),
    ],
)
def test_replicas_share_no_repetition(
    tmp_path: Path, vary: dict[str, Any], repeats: list[int], apart: int
) -> None:
    study = {
        "experiment": {
            "topology": "dumbbell",
            "rtt": "20ms",
            "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
            "flows": [{"workload": "bulk", "from": "s1", "to": "d1", "size": "20kB"}],
            "duration": "5s",
            "repeat": 20,
            "record": [],
            "seed": 3,
        },
        "vary": vary,
        "replicas": 3,
        "metrics": {"goodput": "flows.0.fct_s"},
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(study))
    runs = reading.load(path).runs()
    for number, repeat in enumerate(repeats):
        own = runs[3 * number : 3 * number + 3]
        assert [run.seed for run in own] == [3, 3 + apart, 3 + 2 * apart]
        seeds = [seed for run in own for seed in range(run.seed, run.seed + repeat)]
        assert len(set(seeds)) == 3 * repeat


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: write a study"),
        ("- a", "holds a list, not a study"),
        ("title: x\n", "experiment: is missing"),
        ("experiment: nowhere.yaml\nmetrics: {a: seed}\n", "nowhere.yaml: no such file"),
        ("experiment: [a]\nmetrics: {a: seed}\n", ":1: experiment: a list is no experiment"),
        ("experiment: {a: b\n", ":2, column 1: "),
    ],
)
def test_what_is_no_study_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"study\.yaml:") as caught:
        reading.load(path)
    assert said in caught.value.message


def test_a_problem_of_the_experiments_own_file_is_told_there_and_once(tmp_path: Path) -> None:
    experiment = GOOD[GOOD.index("  topology") : GOOD.index("vary:")].replace("\n  ", "\n").strip()
    (tmp_path / "e.yaml").write_text(experiment.replace("20ms", "fast"))
    path = tmp_path / "study.yaml"
    path.write_text("experiment: e.yaml\nvary: {duration: [5s, 6s]}\nmetrics: {a: seed}\n")
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    (line,) = caught.value.message.splitlines()
    assert line.startswith(f"{tmp_path / 'e.yaml'}:2: rtt: fast is not a time")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"varied": ["rtt"]}, "--vary rtt: write key.path=value,value"),
        ({"varied": ["rtt=20ms,fast"]}, "vary.rtt[1]: rtt: fast is not a time"),
        ({"settings": ["rtt=fast"]}, "rtt: fast is not a time"),
        ({"replicas": 1000}, "replicas: 1000 is no number of replicas"),
    ],
)
def test_options_are_named(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(GOOD[GOOD.index("  topology") : GOOD.index("vary:")].replace("\n  ", "\n")[2:])
    with pytest.raises(UsageError) as caught:
        reading.load(path, **options)
    assert said in caught.value.message
    assert len(caught.value.message.splitlines()) == 1


def test_a_path_that_leads_nowhere_is_told_of_its_own_axis(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    text = GOOD.replace("rtt: [20ms, 100ms]", "flows.3.cc: [reno]").replace("x: rtt", "x: queue")
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    assert "vary.flows.3.cc" in caught.value.message
    assert "vary.queue" not in caught.value.message


def test_a_directorys_name_is_cut_by_its_bytes() -> None:
    labels = ["队" * 100 + end for end in "ab"]
    found = directories(product([[Setting({"queue": label}, {}) for label in labels]]))
    names = [path.name for path in found.values()]
    assert len(set(names)) == 2
    assert all(len(name.encode()) < 200 for name in names)
