"""Whose directory is whose, and what a study's results depend on."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.install import builds
from sandglass.studies import conduct, manifest, reading, targets
from tests.conftest import copy_checkout

STUDY = """\
title: Two
experiment:
  topology: dumbbell
  rtt: 20ms
  bottleneck: {rate: 10mbit, queue: {kind: codel}}
  flows: [{workload: bulk, from: s1, to: d1}]
  duration: 1s
vary: {rtt: [20ms, 40ms]}
metrics: {goodput: flows.0.goodput_mbit}
"""


def test_two_files_of_one_name_have_no_directory_in_common(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conduct, "STUDIES", tmp_path / "results")
    files = [tmp_path / name / "queues.yaml" for name in ("mine", "yours")]
    for file in files:
        file.parent.mkdir()
        file.write_text(STUDY)
    out = conduct.home(files[0])
    assert out == tmp_path / "results" / "queues"
    manifest.begin(out, reading.load(files[0], [], [], None), STUDY)
    assert conduct.home(files[0]) == out
    with pytest.raises(UsageError, match=r"mine/queues\.yaml") as caught:
        conduct.home(files[1])
    assert "--out" in str(caught.value.hint)


def test_a_file_called_study_gives_its_folders_name(tmp_path: Path) -> None:
    assert conduct.home(tmp_path / "delay" / "study.yaml").name == "delay"


def test_what_a_module_imports_counts(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f"{STUDY}module: mine.py\n")
    (tmp_path / "beside.py").write_text("FACTOR = 1\n")
    (tmp_path / "mine.py").write_text(
        "from beside import FACTOR\ndef metrics(run):\n    return {'one': FACTOR}\n"
    )
    study = reading.load(file, [], [], None)
    before = targets.measured(study), targets.judged(study), targets.shown(study)
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    after = targets.measured(study), targets.judged(study), targets.shown(study)
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, False]


def test_all_code_that_makes_values_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the steps import, all but what only starts, watches and reports them."""
    steps = "import sandglass.studies.tables, sandglass.studies.pictures, sys"
    told = f"{steps}; print(*(m for m in sys.modules if m.startswith('sandglass.')))"
    imported = subprocess.check_output([sys.executable, "-c", told], text=True).split()
    makes = [name.replace(".", "/") for name in imported]
    makes = [name for name in makes if name.split("/")[1] in ("experiment", "results", "studies")]
    home = copy_checkout(tmp_path / "checkout")
    files = [home / "src" / f"{name}.py" for name in (*makes, "sandglass/agent/plan")]
    files = [path for path in files if path.is_file()]
    files.append(home / "src/sandglass/studies/page.html.jinja")
    named = {path.relative_to(home / "src/sandglass").as_posix() for path in files}
    assert named > {f"studies/{name}.py" for name in ("measure", "transport", "window", "metric")}
    assert "experiment/units.py" in named

    file = tmp_path / "two.yaml"
    file.write_text(STUDY)
    study = reading.load(file, [], [], None)
    monkeypatch.setattr(builds, "ROOT", home)
    before = targets.measured(study)
    for path in files:
        text = path.read_text()
        path.write_text(f"{text}\n")
        assert targets.measured(study) != before, path
        path.write_text(text)
    assert targets.measured(study) == before


def test_results_of_other_code_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "two.yaml", tmp_path / "out"
    file.write_text(STUDY)
    study = reading.load(file, [], [], None)
    manifest.begin(out, study, STUDY)
    for name in (targets.RUNS, targets.SUMMARY):
        (out / name).write_text("made by the code of yesterday")
    manifest.finish(out)
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    manifest.begin(out, study, STUDY)
    assert not list(out.glob("*.csv"))
    assert not manifest.finished(out)
