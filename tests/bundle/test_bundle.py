"""What is bundled, and what a bundle says of itself."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.papers.bundle import bundle, code, crate, description, subject
from sandglass.papers.bundle.bundle import Wanted
from sandglass.papers.bundle.subject import Subject
from tests.bundle.conftest import part
from tests.lab.experiments import Mapped

NEEDS_GIT = pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
NOTHING = Wanted([], "smoke", ["3.11"], records=False)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout at a commit."""
    home = tmp_path / "checkout"
    (home / "src").mkdir(parents=True)
    (home / "src" / "code").write_text("one")
    git(home, "init", "--quiet")
    git(home, "add", ".")
    git(home, "commit", "--quiet", "--message", "One")
    monkeypatch.setattr(builds, "ROOT", home)
    monkeypatch.setattr("sandglass.install.checkout.ROOT", home)
    return home


def git(root: Path, *words: str) -> None:
    settings = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *words], cwd=root, check=True)


def test_the_ten_minutes_are_for_what_takes_least() -> None:
    parts = [part("a", 200), part("b", 250), part("c", 60), part("d", 30, "results/runs/c")]
    assert [each.name for each in subject.short(parts)] == ["a", "c", "d"]
    assert [each.name for each in subject.short([part("a", 9000), part("b", 8000)])] == ["b"]


def test_a_run_of_two_figures_counts_once() -> None:
    parts = [part("a", 200, "results/runs/r"), part("b", 200, "results/runs/r"), part("c", 210)]
    assert [each.name for each in subject.short(parts)] == ["a", "b"]


@NEEDS_GIT
def test_code_that_is_at_no_commit_is_named(root: Path) -> None:
    assert len(code.commit()) == 12
    (root / "notes").write_text("of the user's, which no run reads")
    code.commit()
    (root / "src" / "new").write_text("what git does not know")
    with pytest.raises(UsageError, match="not that of a commit: src/new"):
        code.commit()
    git(root, "add", "src/new")
    with pytest.raises(UsageError, match="src/new"):
        code.commit()
    (root / "src" / "code").write_text("two")
    with pytest.raises(UsageError, match="src/code, src/new"):
        code.commit()


@NEEDS_GIT
def test_the_code_is_what_was_committed(root: Path, tmp_path: Path) -> None:
    (root / "notes").write_text("of the user's")
    code.write(tmp_path / "code")
    found = {
        path.name: path.read_text() for path in (tmp_path / "code").rglob("*") if path.is_file()
    }
    assert found == {"code": "one", ".commit": code.commit() + "\n"}


def test_a_checkout_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    with pytest.raises(UsageError, match="has no git"):
        code.commit()


@NEEDS_GIT
@pytest.mark.parametrize(
    ("wanted", "name", "message"),
    [
        (NOTHING, "b.zip", r"b\.zip: a bundle is a tar archive"),
        (Wanted([], "smoke", ["2.7"], records=False), "b.tar", r"packages for Python 2\.7"),
        (Wanted(["abd"], "smoke", ["3.11"], records=False), "b.tar", "did you mean 'abe'"),
    ],
)
def test_what_cannot_be_bundled_leaves_nothing(
    root: Path, tmp_path: Path, wanted: Wanted, name: str, message: str
) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match=message):
        bundle.write(wanted, tmp_path / "out" / name)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"digest": None}, "in real time"),
        ({"lab_build": "000000000000"}, r"of other code or of another lab \(commit c, lab l\)"),
        ({"kernel": {"modules": {"recorder": "000000000000"}}}, "other code or of another lab"),
    ],
)
@pytest.mark.lab
def test_a_run_that_would_not_come_out_equal(tmp_path: Path, changed: Mapped, message: str) -> None:
    said: Mapped = {"digest": "1", "lab_build": builds.lab_build(), "kernel": {"modules": {}}}
    said |= {"experiment": {}, "title": "t", "wall_s": 1.0}
    said |= {"commit": "c", "lab": "l"} | changed
    (tmp_path / "run.json").write_text(json.dumps(said))
    with pytest.raises(UsageError, match=message):
        subject.of_run(tmp_path, tmp_path, records=False)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "{}", "[" * 100_000])
def test_a_damaged_run_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UsageError, match=rf"{tmp_path}/run\.json is damaged"):
        subject.of_run(tmp_path, tmp_path, records=False)


@pytest.mark.parametrize("target", ["/etc/passwd", "absent", "."])
def test_a_link_that_a_lab_has_left_is_not_bundled(
    tmp_path: Path, subjects: list[Subject], target: str
) -> None:
    """A bundle is for others: it would carry what the link leads to."""
    link = tmp_path / "packets.parquet"
    link.symlink_to(target)
    files = {"results/runs/one/packets.parquet": link}
    [paper] = subjects
    with pytest.raises(UsageError, match=r"packets\.parquet is no file"):
        bundle._gather([Subject(**(vars(paper) | {"files": files}))], NOTHING, tmp_path)


@NEEDS_GIT
def test_the_same_files_give_the_same_archive_whatever_was_there(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, laid: dict[str, Path]
) -> None:
    """A bundling that was killed has left something; a file that is there stays."""
    monkeypatch.setattr(bundle, "_gather", lambda *_: dict(laid))
    monkeypatch.setattr(description, "write", lambda *_: {})
    first, second = tmp_path / "a" / "b.tar", tmp_path / "b" / "b.tar"
    for target in (first, second):
        target.parent.mkdir()
    left = second.with_name(".b.tar.partial")
    (left / "code").mkdir(parents=True)
    (left / "archive").write_text("half of it")
    for target in (first, second):
        bundle.write(NOTHING, target)
        assert {path.name for path in target.parent.iterdir()} == {"b.tar", "b.tar.sha256"}
        subprocess.run(
            ["sha256sum", "--check", "--quiet", "b.tar.sha256"], cwd=target.parent, check=True
        )
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        assert set(tar.getnames()) == {f"b/{name}" for name in laid}
    before = first.read_bytes()
    with pytest.raises(UsageError, match="there already"):
        bundle.write(NOTHING, first)
    assert first.read_bytes() == before


@NEEDS_GIT
def test_two_at_once_do_not_mix(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, laid: dict[str, Path]
) -> None:
    target = tmp_path / "b.tar"

    def second(*_: object) -> dict[str, Path]:
        with pytest.raises(SandglassError, match="being written by another"):
            bundle.write(NOTHING, target)
        return dict(laid)

    monkeypatch.setattr(bundle, "_gather", second)
    monkeypatch.setattr(description, "write", lambda *_: {})
    bundle.write(NOTHING, target)
    assert target.exists()


def described(
    folder: Path, subjects: list[Subject], files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Path]:
    """The description of a bundle, written into a folder."""
    lab = builds.Lab("0123456789ab", "6.12", "kernel", "guest", "root", "build", {})
    monkeypatch.setattr(builds, "lab", lambda: lab)
    monkeypatch.setattr(code, "committed_s", lambda: 1_750_000_000)
    folder.mkdir()
    return description.write(folder, "b", "c0ffee", ["3.11"], subjects, files)


@pytest.mark.parametrize("of_paper", [True, False])
def test_a_bundle_describes_itself_as_an_ro_crate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subjects: list[Subject],
    laid: dict[str, Path],
    of_paper: bool,
) -> None:
    """Which a validator judges by the rules of its profile, and without a network."""
    [paper] = subjects
    one = Subject(**(vars(paper) | {"of_paper": of_paper}))
    first = described(tmp_path / "first", [one], laid, monkeypatch)
    second = described(tmp_path / "second", [one], laid, monkeypatch)
    assert {name: path.read_bytes() for name, path in first.items()} == {
        name: path.read_bytes() for name, path in second.items()
    }
    home = tmp_path / "crate"
    for place, path in (laid | first).items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, home / place)
    judged = validated(home, tmp_path)
    assert (judged["issues"], judged["passed"]) == ([], True)
    profile = "workflow-run-crate-0.5" if of_paper else "process-run-crate-0.5"
    assert profile in judged["statistics"]["profiles"]
    sums = [line.split("  ") for line in (home / "SHA256SUMS").read_text().splitlines()]
    listed = crate_files(home)
    assert listed == {name: total for total, name in sums if name != description.METADATA}
    assert crate.WORKFLOW in listed


def validated(home: Path, scratch: Path) -> Mapped:
    """What the validator says of an RO-Crate."""
    judge = builds.ROOT / "tests" / "bundle" / "crate.py"
    done = subprocess.run(
        [sys.executable, judge, home, scratch], capture_output=True, text=True, check=False
    )
    found: Mapped = json.loads(done.stdout)
    return found


def crate_files(home: Path) -> dict[str, str]:
    """Names and checksums of the files that an RO-Crate lists."""
    graph = json.loads((home / description.METADATA).read_text())["@graph"]
    return {each["name"]: each["sha256"] for each in graph if "sha256" in each}
