"""Workload, topology and module in somebody else's directory: used by path, and told of."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from sandglass.install.builds import ROOT
from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
AUTHORS = ROOT / "examples" / "module-repository"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The author's, at another place than ours."""
    return Path(shutil.copytree(AUTHORS, tmp_path / "theirs"))


def checkout() -> dict[Path, int]:
    """The files of this checkout with the times of their last change, without what Python keeps."""
    return {
        path: path.stat().st_mtime_ns
        for folder in sorted({*ROOT.iterdir()} - {ROOT / ".git", ROOT / "results"})
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.is_file() and "cache" not in str(path.relative_to(ROOT))
    }


def test_everything_may_lie_elsewhere(sandglass: Cli, repository: Path, tmp_path: Path) -> None:
    before = checkout()
    out = tmp_path / "out"
    done = sandglass(
        "run",
        repository / "experiments" / "answers.yaml",
        *("--set", "duration=4s", "--out", out),
        SANDGLASS_KMODS=str(repository / "kmods"),
    )
    assert done.returncode == 0, done.stderr
    answers = pl.read_parquet(out / "answers.parquet")
    assert answers["flow"].to_list() == [2] * 20
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows["cc"].to_list() == ["gaimd", "cubic"]
    assert flows["slowest_s"].to_list() == [None, max(answers["took_ns"].to_list()) / 1e9]
    assert flows["bytes"][1] == 20 * 20_000
    shown = sandglass("show", out)
    assert "requests.py" in shown.stdout
    assert "gaimd" in shown.stdout
    assert "slowest_s" in shown.stdout
    assert checkout() == before
