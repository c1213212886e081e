"""A study from its file to its tables, as its users do it: what runs, and what runs again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import sandglass
from sandglass.errors import SandglassError
from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.run import runs as running
from sandglass.workflow import snakemake
from tests.conftest import copy_checkout

pytestmark = pytest.mark.lab

STUDY: dict[str, Any] = {
    "title": "Two queues",
    "experiment": {
        "topology": "dumbbell",
        "rtt": "20ms",
        "rtt_spread": "5ms",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "codel"}},
        "flows": [{"workload": "bulk", "from": "s1", "to": "d1"}],
        "duration": "1s",
    },
    "vary": {"queue": {"key": "bottleneck.queue.kind", "values": ["codel", "pie"]}},
    "replicas": 2,
    "metrics": {"goodput": "flows.0.goodput_mbit"},
    "compare": {"against": "codel"},
    "plots": [{"x": "queue", "y": "goodput"}],
    "expect": [
        {"claim": "bytes arrive", "metric": "goodput", "bounds": {"above": 0}},
        {"claim": "more than the link has", "metric": "goodput", "bounds": {"above": 1000}},
    ],
}

Study = Callable[..., subprocess.CompletedProcess[str]]


def command(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "sandglass", "study", *map(str, words)]


ENVIRONMENT = os.environ | {"PYTHONPATH": str(builds.ROOT / "src")}


@pytest.fixture
def do(tmp_path: Path) -> Study:
    """Does the study as it is now; returns what the command said."""

    def call(study: dict[str, Any], *words: object) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "two.yaml"
        file.write_text(yaml.safe_dump(study))
        return subprocess.run(
            command(file, "--out", tmp_path / "out", *words),
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def done(out: Path) -> dict[str, int]:
    """The runs that are there, and when they were made."""
    return {
        str(path.parent.relative_to(out)): path.stat().st_mtime_ns
        for path in out.glob("runs/*/*/run.json")
    }


@pytest.mark.thorough
def test_what_is_left_of_a_study_is_done_and_no_more(do: Study, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = do(STUDY)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[-1].startswith("open ")
    assert "holds bytes arrive" in first.stdout
    assert "fails more than the link has" in first.stdout
    runs = pl.read_csv(out / "runs.csv")
    assert runs.columns == [
        *("queue", "replica", "seed", "goodput", "digest", "virtual_s", "wall_s", "directory"),
    ]
    assert runs["queue"].to_list() == ["codel", "codel", "pie", "pie"]
    assert runs["seed"].to_list() == [1, 2, 1, 2]
    assert pl.read_csv(out / "summary.csv")["n"].to_list() == [2, 2]
    assert pl.read_csv(out / "differences.csv")["queue"].to_list() == ["pie"]
    for name in ("index.html", "plot1.svg", "plot1.png", "claims.csv", "study.yaml"):
        assert (out / name).stat().st_size

    # A run of a study is the run that its experiment gives, and has this experiment beside it.
    wanted = reading.load(out / "runs" / "queue=codel" / "2" / "experiment.yaml")
    by_hand = running.run(wanted, None, tmp_path / "by_hand")
    assert by_hand.content["digest"] == runs["digest"][1]

    before = done(out)
    again = do(STUDY)
    assert (again.returncode, done(out)) == (0, before), again.stderr

    more = STUDY | {"metrics": STUDY["metrics"] | {"sent": "flows.0.bytes"}, "plots": []}
    assert do(more).returncode == 0
    assert done(out) == before
    assert "sent" in pl.read_csv(out / "summary.csv")["metric"].to_list()

    more["vary"] = {"queue": {"key": "bottleneck.queue.kind", "values": ["pie", "codel", "pfifo"]}}
    assert do(more).returncode == 0
    now = done(out)
    assert {name: now[name] for name in before} == before
    assert now.keys() - before.keys() == {f"runs/queue=pfifo/{number}" for number in (1, 2)}

    changed = {**more, "experiment": more["experiment"] | {"duration": "2s"}}
    assert do(changed, "--replicas", 1).returncode == 0
    assert pl.read_csv(out / "runs.csv")["virtual_s"].to_list() == [2, 2, 2]


@pytest.mark.thorough
def test_runs_of_another_experiment_are_done_again(do: Study, tmp_path: Path) -> None:
    """The directories have the same names: what is varied and how often stays as it is."""
    out = tmp_path / "out"
    study = STUDY | {"plots": [], "expect": []}
    assert do(study, "--set", "bottleneck.rate=1mbit").returncode == 0
    slow = pl.read_csv(out / "runs.csv")
    assert slow["goodput"].max() < 1  # type: ignore[operator]

    assert do(study, "--set", "bottleneck.rate=4mbit").returncode == 0
    fast = pl.read_csv(out / "runs.csv")
    assert fast["goodput"].min() > 1  # type: ignore[operator]

    assert do(study, "--set", "bottleneck.rate=4mbit", "--set", "seed=2").returncode == 0
    other = pl.read_csv(out / "runs.csv")
    assert other["seed"].to_list() == [2, 3, 2, 3]
    assert other["digest"][0] == fast["digest"][1]


@pytest.mark.thorough
def test_another_measure_makes_the_tables_anew_and_no_run(tmp_path: Path) -> None:
    home, out, file = copy_checkout(tmp_path / "home"), tmp_path / "out", tmp_path / "two.yaml"
    metrics = {"goodput": {"measure": "goodput"}}
    experiment = STUDY["experiment"] | {"record": ["goodput"]}
    changed = {"experiment": experiment, "metrics": metrics, "plots": [], "expect": []}
    file.write_text(yaml.safe_dump(STUDY | changed))

    def rate() -> float:
        subprocess.run(
            command(file, "--out", out),
            env=ENVIRONMENT | {"PYTHONPATH": str(home / "src")},
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return float(pl.read_csv(out / "summary.csv")["mean"][0])

    first, before = rate(), done(out)
    code = home / "src/sandglass/studies/measure.py"
    code.write_text(code.read_text().replace("found) * 8e-6", "found) * 16e-6"))
    os.utime(code, (1, 1))  # as old as a file of an archive may be
    assert rate() == pytest.approx(2 * first)
    assert done(out) == before


@pytest.mark.thorough
def test_what_is_no_run_of_the_study_is_not_measured(do: Study, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert do(STUDY | {"plots": [], "expect": []}).returncode == 0
    run = out / "runs" / "queue=pie" / "2" / "run.json"
    content = json.loads(run.read_text())
    content["experiment"]["seed"] = 7
    run.write_text(json.dumps(content))
    (out / "runs.csv").unlink()
    measured = subprocess.run(
        [sys.executable, "-P", "-m", "sandglass.studies.tables", "measure"],
        cwd=out, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert measured.returncode == 1
    assert "not the runs of this study: runs/queue=pie/2" in measured.stderr
    assert not (out / "runs.csv").exists()


@pytest.mark.thorough
def test_a_run_that_fails_is_named_and_the_others_go_on(do: Study, tmp_path: Path) -> None:
    programs = {"good": ["true"], "bad": ["false"]}
    program = {"workload": "command", "from": "s1", "to": "d1", "argv": ["true"]}
    study = STUDY | {
        "experiment": STUDY["experiment"] | {"flows": [*STUDY["experiment"]["flows"], program]},
        "vary": {"program": {"key": "flows.1.argv", "values": programs}},
        "compare": {"against": "good"},
        "plots": [],
        "expect": [],
    }
    failed = do(study)
    assert failed.returncode == 1
    out = tmp_path / "out"
    for number in (1, 2):
        assert f"runs/program=bad/{number}: logs/program=bad/{number}.log" in failed.stderr
        assert "false" in (out / "logs" / "program=bad" / f"{number}.log").read_text()
    before = done(out)
    assert set(before) == {"runs/program=good/1", "runs/program=good/2"}
    assert not list(out.glob("*.csv"))
    assert not list(out.glob("*.html"))

    programs["bad"] = ["true"]
    assert do(study).returncode == 0
    assert {name: done(out)[name] for name in before} == before
    assert pl.read_csv(out / "runs.csv").height == 4


@pytest.mark.thorough
def test_an_interrupted_study_goes_on(tmp_path: Path) -> None:
    file, out = tmp_path / "two.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(STUDY | {"replicas": 10, "plots": []}))
    words = command(file, "--out", out, "--cores", 1)
    process = subprocess.Popen(words, env=ENVIRONMENT, start_new_session=True)
    while process.poll() is None and not done(out):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() == 130
    before = done(out)
    assert 0 < len(before) < 20
    assert not (out / "runs.csv").exists()
    assert not list(out.glob("runs/*/.*.partial*"))
    subprocess.run(words, env=ENVIRONMENT, check=True)
    assert {name: done(out)[name] for name in before} == before
    assert pl.read_csv(out / "runs.csv").height == 20


@pytest.mark.thorough
def test_replicas_are_added_until_the_interval_is_narrow_enough(do: Study, tmp_path: Path) -> None:
    study = STUDY | {"plots": [], "compare": None, "expect": []}
    study = {key: value for key, value in study.items() if value is not None}
    study["replicas"] = {"of": "goodput", "within": 100.0, "most": 7}
    assert do(study).returncode == 0
    summary = pl.read_csv(tmp_path / "out" / "summary.csv")
    assert summary.select("n", "reached").rows() == [(5, True), (5, True)]
    before = done(tmp_path / "out")

    study["replicas"] = {"of": "goodput", "within": 1e-9, "most": 7}
    told = do(study)
    assert "not reached" in told.stdout
    summary = pl.read_csv(tmp_path / "out" / "summary.csv")
    assert summary.select("n", "reached").rows() == [(7, False), (7, False)]
    assert {name: done(tmp_path / "out")[name] for name in before} == before


def test_an_experiment_file_is_a_study_of_what_is_varied(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(yaml.safe_dump(STUDY["experiment"]))
    words = ["--vary", "rtt=10ms,20ms", "--set", "bottleneck.queue.kind=pie", "--replicas", 2]
    subprocess.run(command(file, *words, "--out", tmp_path / "out"), env=ENVIRONMENT, check=True)
    summary = pl.read_csv(tmp_path / "out" / "summary.csv")
    assert summary["rtt"].unique(maintain_order=True).to_list() == ["10ms", "20ms"]
    metrics = summary["metric"].unique(maintain_order=True).to_list()
    assert metrics == ["goodput", "utilisation", "delay_p50", "delay_p95", "drops"]
    # What it leaves can be run again from anywhere.
    again = command(tmp_path / "out" / "study.yaml", "--out", tmp_path / "again")
    subprocess.run(again, env=ENVIRONMENT, cwd="/", check=True)
    runs = [pl.read_csv(tmp_path / name / "runs.csv") for name in ("out", "again")]
    assert runs[0]["digest"].equals(runs[1]["digest"])


@pytest.mark.thorough
def test_what_has_no_value_stops_the_study_and_is_named(do: Study, tmp_path: Path) -> None:
    told = do(STUDY | {"metrics": {"goodput": "flows.0.fct_s"}})
    assert told.returncode == 1
    assert "metric goodput has no value: flows.0.fct_s is null in run.json" in told.stderr
    assert not (tmp_path / "out" / "runs.csv").exists()


@pytest.mark.thorough
def test_a_module_measures_and_draws(do: Study, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import polars as pl\n"
        "from plotnine import aes, geom_point, ggplot\n"
        "def metrics(run):\n"
        "    return {'packets': run.records('packets').select(pl.len()).collect().item()}\n"
        "def plots(runs, summary):\n"
        "    return {'mine': ggplot(runs, aes('replica', 'packets')) + geom_point()}\n"
    )
    told = do(STUDY | {"module": "mine.py", "plots": [{"x": "queue", "y": "packets"}]})
    assert told.returncode == 0, told.stderr
    assert pl.read_csv(tmp_path / "out" / "runs.csv")["packets"].min() > 100  # type: ignore[operator]
    assert (tmp_path / "out" / "mine.svg").stat().st_size


@pytest.mark.thorough
def test_results_of_an_earlier_study_do_not_stay(do: Study, tmp_path: Path) -> None:
    def results() -> set[str]:
        return {path.name for path in (tmp_path / "out").iterdir()} - {"mine.txt", ".snakemake"}

    (tmp_path / "mine.py").write_text(
        "from plotnine import aes, geom_point, ggplot\n"
        "def plots(runs, summary):\n"
        "    return {'mine': ggplot(runs, aes('replica', 'goodput')) + geom_point()}\n"
    )
    assert do(STUDY | {"module": "mine.py"}).returncode == 0
    (tmp_path / "out" / "mine.txt").write_text("what no study has written")
    always = {"index.html", "logs", "runs", "runs.csv", "study.yaml", "summary.csv"}
    drawn = {f"{name}.{kind}" for name in ("plot1", "mine") for kind in ("svg", "png")}
    assert results() == always | drawn | {"differences.csv", "claims.csv"}

    less = {key: STUDY[key] for key in ("title", "experiment", "vary", "replicas", "metrics")}
    assert do(less).returncode == 0
    assert results() == always
    assert len(sandglass.load_study(tmp_path / "out").summary) == 2

    assert do(less | {"metrics": {"goodput": "flows.0.goodput"}}).returncode == 1
    assert results() == {"logs", "runs", "study.yaml"}
    assert (tmp_path / "out" / "mine.txt").exists()
    with pytest.raises(SandglassError, match="has no finished study"):
        sandglass.load_study(tmp_path / "out")


def test_another_directory_is_left_alone(do: Study, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    told = do(STUDY)
    assert told.returncode == 2
    assert "is there already and is no study" in told.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_a_study_written_by_hand_is_left_alone(do: Study, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "study.yaml"
    file.write_text(f"# by hand\n{yaml.safe_dump(STUDY)}")
    assert "is there already and is no study" in do(STUDY).stderr
    own = subprocess.run(
        command(file, "--out", tmp_path / "out"),
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert own.returncode == 2
    assert "would be written over" in own.stderr
    assert file.read_text().startswith("# by hand")
    assert list(file.parent.iterdir()) == [file]


def test_a_second_study_leaves_the_first_one_as_it_is(do: Study, tmp_path: Path) -> None:
    first = {"study.yaml": "title: The first", "runs.csv": "a,b", "logs/results.json": "{}"}
    for name, text in first.items():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text(text)
    with snakemake.alone(tmp_path / "out"):
        told = do(STUDY)
    assert told.returncode == 1
    assert "another one is at work" in told.stderr
    assert {name: (tmp_path / "out" / name).read_text() for name in first} == first
