"""`import sandglass`: what docs/python.md promises."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sandglass
from sandglass.install.builds import ROOT
from sandglass.library import runs as offered
from sandglass.library import studies
from sandglass.studies import conduct
from sandglass.studies.study import Study
from tests.lab.experiments import Lab, bulk, dumbbell, written

PAGE = (ROOT / "docs" / "python.md").read_text()
SCRIPTS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.S | re.M)
SHORT = dumbbell(bulk(), queue={"kind": "codel"}, duration="1s")


def test_the_page_names_all_functions_with_what_they_take() -> None:
    functions = {name for name in sandglass.OFFERED if name[0].islower()}
    told = dict(re.findall(r"^\| `(\w+)\((.*?)\)`", PAGE, re.M))
    assert functions <= told.keys()
    for name in functions:
        words = [word for word in told[name].split(", ") if word != "*"]
        assert [word.split("=")[0].strip("*") for word in words] == [
            *inspect.signature(getattr(sandglass, name)).parameters
        ]


def test_every_member_of_what_is_handed_out_is_on_the_page() -> None:
    for kind in (sandglass.Run, sandglass.StudyResult):
        fields = set(kind.__dataclass_fields__)
        methods = {name for name in vars(kind) if not name.startswith("_")}
        for name in (fields | methods) - {"document"}:
            assert re.search(rf"`{name}(\(.*?\))?`", PAGE), name


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sandglass, sys; print(len([m for m in sys.modules if 'sandglass' in m]))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_the_folder_run_does_not_take_the_place_of_the_function() -> None:
    from sandglass.run import runs  # noqa: PLC0415 as this is what is tested

    assert runs.__name__ == "sandglass.run.runs"
    assert sandglass.run is offered.run
    assert "run" in dir(sandglass)
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = sandglass.runn  # type: ignore[attr-defined]


@pytest.mark.lab
def test_a_run_is_what_the_command_makes(lab: Lab, tmp_path: Path) -> None:
    made = lab(SHORT)
    run = sandglass.run(SHORT, out=tmp_path / "run")
    assert run.digest == made.content["digest"]
    assert run.directory == tmp_path / "run"
    assert run.tables == ["acks", "flows", "packets", "queues"]
    assert run.packets.equals(made.table("packets"))
    assert run.table("acks").equals(run.acks)
    assert run.records("flows").collect().equals(run.flows)
    again = sandglass.run(run.experiment, out=str(tmp_path / "again"))
    assert again.digest == run.digest
    assert sandglass.load(str(tmp_path / "again")).experiment == run.experiment


@pytest.mark.lab
def test_a_run_shows_where_it_is_and_a_wrong_field_what_there_is() -> None:
    flows = [{"goodput_mbit": 1.0, "cc": "reno"}]
    run = sandglass.Run(Path("there"), {}, {"title": "One", "digest": "ab" * 32, "flows": flows})
    assert repr(run) == "Run('there': One, digest abababababab)"
    for path, said in {
        "flows.0.goodput_mbits": "no flows.0.goodput_mbits, did you mean 'goodput_mbit'?",
        "flows.1.cc": "flows has 1 entries, from 0",
        "flows.0.cc.kind": "flows.0.cc is 'reno'",
        "xyz": "run.json has title, digest, flows",
    }.items():
        with pytest.raises(sandglass.SandglassError, match=re.escape(said)):
            run.field(path)


def test_settings_and_seed_change_an_experiment_of_either_kind(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(str(SHORT))  # JSON but for its quotes, which YAML takes
    settings: dict[str, Any] = {"bottleneck.queue": {"kind": "pie"}, "flows.0.cc": "reno"}
    runs = [
        sandglass.run(file, settings, seed=7, out=tmp_path / "one"),
        sandglass.run(SHORT, settings, seed=7, out=tmp_path / "other"),
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[0].field("experiment.bottleneck.queue.kind") == "pie"
    assert runs[0].field("flows.0.cc") == "reno"
    assert runs[0].field("seed") == 7
    assert SHORT["flows"][0].get("cc") is None


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(sandglass.SandglassError, match=r"rtt: .*-1ms"):
        sandglass.run(SHORT, {"rtt": "-1ms"})
    with pytest.raises(sandglass.SandglassError, match="no such file"):
        sandglass.run(tmp_path / "none.yaml")
    with pytest.raises(sandglass.SandglassError, match=r"run\.json") as caught:
        sandglass.load(tmp_path)
    assert caught.value.hint
    with pytest.raises(sandglass.SandglassError, match="no finished study"):
        sandglass.load_study(tmp_path)


@pytest.mark.parametrize("of", ["file", "mapping"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topology": Path("mine.py")}, "settings: topology: a PosixPath is nothing"),
        ({"flows": [{"size": np.arange(2)}]}, r"settings: flows\[0\]: size: a ndarray is nothing"),
        ({"bottleneck.queue": {1: 2}}, "the key 1 is not text"),
        ({"flows.0": {1, 2}}, "a set is nothing"),
        ({"flows.7.cc": "reno"}, "has no entry 7"),
        ({"bottleneck.queue.target": float("nan")}, "target"),
    ],
)
def test_settings_that_no_file_could_hold_are_refused(
    tmp_path: Path, of: str, settings: dict[str, Any], message: str
) -> None:
    given = SHORT if of == "mapping" else written(SHORT, tmp_path / "one.yaml")
    with pytest.raises(sandglass.SandglassError, match=message):
        sandglass.run(given, settings)


def test_settings_are_values_and_no_text(tmp_path: Path) -> None:
    """What Python writes as 1e-05 is text to YAML, and NumPy's numbers are not those of JSON."""
    file = written(SHORT, tmp_path / "one.yaml")
    settings = {
        "bottleneck.queue": {"kind": "pie", "alpha": np.float64(1e-05)},
        "flows.0.count": np.int64(2),
    }
    of_file, _ = offered._experiment(file, settings, np.uint64(7))  # type: ignore[arg-type]
    of_mapping, _ = offered._experiment(SHORT, settings, 7)
    # What is set to a file is in its title; whoever writes a mapping says its title.
    same_title = {"title": of_mapping.title}
    assert of_file.model_copy(update=same_title) == of_mapping
    assert of_file.seed == 7
    assert of_file.flows[0].count == 2


def test_a_study_takes_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        f"title: two\nexperiment: {SHORT}\nvary: {{rtt: [20ms, 40ms]}}\n"
        "metrics: {goodput: flows.0.goodput_mbit}\n"
    )
    found = []

    def fails(wanted: Study, *_: Any) -> int:
        found.append(wanted.experiment)
        return 1

    monkeypatch.setattr(studies, "lab", lambda: None)
    monkeypatch.setattr(conduct, "conduct", fails)
    with pytest.raises(sandglass.SandglassError, match="failed"):
        sandglass.study(file, {"bottleneck.queue": {"kind": "pie", "alpha": np.float64(1e-05)}})
    assert found[0]["bottleneck"]["queue"] == {"kind": "pie", "alpha": 1e-05}
    with pytest.raises(sandglass.SandglassError, match="a PosixPath is nothing"):
        sandglass.study(file, {"topology": tmp_path})


def test_a_page_is_of_runs() -> None:
    with pytest.raises(sandglass.SandglassError, match="is of runs"):
        sandglass.view()


@pytest.mark.thorough
@pytest.mark.lab
def test_a_study_gives_its_tables_and_runs(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        f"title: two\nexperiment: {SHORT}\nvary: {{rtt: [20ms, 40ms]}}\nreplicas: 2\n"
        "metrics: {goodput: flows.0.goodput_mbit}\n"
    )
    study = sandglass.study(file, out=tmp_path / "out", cores=1)
    assert study.axes == ("rtt",)
    assert study.runs.height == 4
    assert study.summary["n"].to_list() == [1, 1]  # the seed decides nothing here: one run, twice
    runs = study.each()
    assert [run.axes["rtt"] for run in runs] == study.runs["rtt"].to_list()
    told = pl.Series([run.field("flows.0.goodput_mbit") for run in runs])
    assert (told - study.runs["goodput"]).abs().max() < 1e-6  # type: ignore[operator]
    assert sandglass.load_study(tmp_path / "out") == study
    with pytest.raises(sandglass.SandglassError, match=r"claims\.csv"):
        _ = study.claims


@pytest.mark.lab
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_of_the_page_runs(script: str, clone: Path) -> None:
    done = subprocess.run(
        [clone / "sandglass", "python", "-c", script],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
