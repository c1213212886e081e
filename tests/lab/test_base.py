"""A run of an experiment on a base keeps what it was made of."""

from pathlib import Path

import yaml

from sandglass.experiment import reading
from tests.lab.conftest import Cli
from tests.spec.test_base import COMMON, on_base


def test_a_run_keeps_what_it_was_made_of(tmp_path: Path, sandglass: Cli) -> None:
    (tmp_path / "common.yaml").write_text(COMMON)
    path = on_base(tmp_path, "duration: 1s\n")
    done = sandglass("run", str(path), "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "run" / "experiment.yaml"
    assert yaml.safe_load(kept.read_text()) == yaml.safe_load(COMMON) | {"duration": "1s"}
    assert reading.load(kept).rtt == 20_000_000
