"""Labs take the code of our modules out of an image, which shows in nothing but their speed."""

import json
import marshal
import time
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.lab import image, lab
from tests.lab.conftest import Cli
from tests.lab.experiments import bulk, dumbbell, flow, run

pytestmark = pytest.mark.lab
EXPERIMENT = dumbbell(
    *(bulk(), flow("ping")),
    queue={"kind": "codel"},
    duration="1s",
    links={"d1-r2": {"loss": "1%", "jitter": "1ms", "delay": "2ms"}},
    record=["packets"],
)
"""With what is drawn: by a wire, and for the identification of packets."""


def digest(home: Path) -> str:
    home.mkdir()
    return str(run(EXPERIMENT, home).content["digest"])


def test_a_run_is_the_same_without_an_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = digest(tmp_path / "with")
    monkeypatch.setattr(image, "found", lambda *_: None)
    assert digest(tmp_path / "without") == whole


def test_it_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lab._image()
    monkeypatch.setattr(lab, "run_program", None)
    assert lab._image() == made
    assert made
    assert made.stat().st_size > 100_000


def test_the_newest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "directory", lambda: tmp_path)
    monkeypatch.setattr(image, "KEPT", 2)
    for name in ("one", "two", "three"):
        monkeypatch.setattr(image, "FOLDERS", [])
        root = tmp_path / name / "root"
        assert image.found(root, lambda place: (place / image.FILE).write_bytes(b"code"))
    assert len(list((tmp_path / "images").iterdir())) == 2


def test_where_none_can_be_made_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "directory", lambda: tmp_path)

    def make(place: Path) -> None:
        raise SandglassError("this machine runs no lab")

    assert image.found(tmp_path / "root", make) is None
    assert not list((tmp_path / "images").iterdir())
    (tmp_path / "images").rmdir()
    (tmp_path / "images").write_text("no directory")
    assert image.found(tmp_path / "root", make) is None


def test_a_file_with_an_error_is_left_to_who_imports_it(
    sandglass: Cli, checkout: Path, tmp_path: Path
) -> None:
    """Which says where it is; what else there is comes out of an image."""
    # what no test before has made an image of
    (checkout / "workloads" / "restart.py").write_text(f"def run(:  # {tmp_path} {time.time()}\n")
    images = builds.directory() / "images"
    before = set(images.iterdir())
    (tmp_path / "experiment.yaml").write_text(json.dumps(EXPERIMENT))
    done = sandglass("run", tmp_path / "experiment.yaml", root=checkout)
    assert done.returncode == 0, done.stderr
    [made] = set(images.iterdir()) - before
    held, _ = marshal.loads(made.read_bytes())
    assert "workloads.bulk" in held
    assert "workloads.restart" not in held
