"""QUIC stacks are made once, of what their folders name, and files of them are an experiment's."""

import re
import shutil
from pathlib import Path

import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import own_files
from sandglass.install import builds, stacks

LOCKS = stacks.FOLDER


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a stack of a program of Python and no packages."""
    folder = tmp_path / "stacks"
    (folder / "plain").mkdir(parents=True)
    (folder / "plain" / "bulk.py").write_text("print(1)\n")
    (folder / "plain" / "notes.txt").write_text("none of the programs\n")
    monkeypatch.setattr(stacks, "FOLDER", folder)
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_stack_is_made_once_and_again_when_it_has_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = stacks.made("plain")
    assert [path.name for path in (first / "plain").iterdir()] == ["bulk.py"]
    assert "making the QUIC stack plain" in capsys.readouterr().err
    assert stacks.made("plain") == first
    assert capsys.readouterr().err == ""
    (home / "plain" / "bulk.py").write_text("print(2)\n")
    assert stacks.made("plain") != first
    assert not [*first.parent.glob(".made-*")]


def test_its_files_lie_beside_the_experiment_in_a_folder_of_its_name(tmp_path: Path) -> None:
    found = own_files.find("quic:plain/bulk.py", tmp_path)
    assert (found.written, found.name, found.word) == (
        *("quic:plain/bulk.py", "plain/bulk.py"),
        "./plain/bulk.py",
    )
    assert own_files.relative(found.written) == found.word


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("quic:plane/bulk.py", "there is no QUIC stack plane, did you mean 'plain'"),
        ("quic:", "there is no QUIC stack . Use one of plain"),
        ("quic:plain/serve", "there is no file plain/serve beside the experiment's"),
    ],
)
def test_what_is_no_stack_or_no_file_of_one_is_told(
    written: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        own_files.find(written, tmp_path)


def test_a_lock_of_cargos_names_versions_and_hashes_and_no_index() -> None:
    text = (LOCKS / "quinn" / stacks.CARGO).read_text()
    found = text.split("[[package]]")[1:]
    own = [each for each in found if stacks.CHECKSUM.search(each)]
    assert len(own) == len(found) - 1  # but for our program
    assert not stacks.INDEX.search(text)


def test_what_cannot_be_made_is_told_and_leaves_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "plain" / "requirements.lock").write_text("no-hash==1\n")
    with pytest.raises(SandglassError, match="the QUIC stack plain cannot be made"):
        stacks.made("plain")
    (home / "plain" / "requirements.lock").rename(home / "plain" / "go.mod")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UsageError, match="made by go, which is not here"):
        stacks.made("plain")
    assert [path.name for path in (tmp_path / "cache" / "quic").iterdir()] == ["lock"]
