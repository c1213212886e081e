""".ci/experiments: each run in a directory of its own, or none."""

import subprocess
from pathlib import Path

from sandglass.install import builds


def test_two_of_one_name_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.yaml").touch()
    done = subprocess.run(
        [builds.ROOT / ".ci" / "experiments", "out", "a/x.yaml", "a/y.yaml", "b/x.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "several experiments are called x:" in done.stderr
    assert not (tmp_path / "out").exists()
