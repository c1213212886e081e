"""Whose directory is whose, and what a study's results depend on."""

from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.studies import conduct, manifest, reading, targets

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
