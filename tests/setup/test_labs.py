"""Labs as files: what comes back is what was written, or nothing is there."""

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds, labs, manifests
from sandglass.install.root import MADE_S

ABOUT = builds.Lab(
    id="0123456789ab",
    name="6.12",
    kernel="6.12.1-key-cafe",
    guest="beefbeefbeef",
    root="key-packages",
    build="ba9876543210",
    module_builds={"recorder": "111111111111"},
)
WORK = {
    "export": "labs.export(builds.labs()[0], Path(sys.argv[1]))",
    "take": "labs.take(Path(sys.argv[1]))",
    "remove": "labs.remove(builds.labs()[0])",
}
IMPORTS = "import sys; from pathlib import Path; from sandglass.install import builds, labs; "
KILLS = 50


def put_lab(cache: Path, lab: builds.Lab = ABOUT) -> None:
    """A lab in a cache, of a few files."""
    kernel, root = cache / "kernels" / lab.kernel, cache / "roots" / lab.root
    guest = kernel / lab.guest
    for folder in (guest / "lib", root / "root" / "usr" / "bin", kernel / "tree"):
        folder.mkdir(parents=True)
    (kernel / "linux").write_bytes(random.Random(1).randbytes(100_000))
    (kernel / "linux").chmod(0o755)
    (kernel / "tree" / "Makefile").write_text("what only builds need\n")
    info = {"source": "linux-source-6.12 6.12.1-1", "release": "6.12.1-sandglass"}
    (kernel / "build.json").write_text(json.dumps(info))
    (guest / "init").write_text("init\n")
    (guest / "lib" / "linked").hardlink_to(guest / "init")
    (guest / builds.LAB_FILE).write_text(json.dumps(vars(lab)))
    (root / "root" / "usr" / "bin" / "tool").write_text("tool\n")
    (root / "root" / "bin").symlink_to("usr/bin")
    (root / builds.ROOT_LIST).write_text("[]")


def put_guest(cache: Path, lab: builds.Lab, used_s: float = 0) -> None:
    """Another lab in a cache, of a kernel and a root that are there."""
    guest = cache / "kernels" / lab.kernel / lab.guest
    guest.mkdir()
    (guest / builds.LAB_FILE).write_text(json.dumps(vars(lab)))
    os.utime(guest, (used_s, used_s))


def lying(cache: Path) -> dict[str, bytes | str]:
    """The files below a cache's kernels and roots, and where its links point."""
    return {
        str(path.relative_to(cache)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for folder in ("kernels", "roots")
        for path in (cache / folder).rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine's, which is empty."""
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "other"))
    (tmp_path / "other").mkdir()
    return tmp_path / "other"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lab's file."""
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "own"))
    put_lab(tmp_path / "own")
    labs.export(ABOUT, tmp_path / "file.lab")
    return tmp_path / "file.lab"


def test_what_was_written_comes_back(file: Path, cache: Path, tmp_path: Path) -> None:
    """But for what only builds of the kernel's modules need."""
    assert labs.take(file) == ABOUT
    found = lying(cache)
    assert found.pop(f"kernels/{ABOUT.kernel}/{ABOUT.guest}/{builds.IMPORTED}") == b""
    own = lying(tmp_path / "own")
    del own[f"kernels/{ABOUT.kernel}/tree/Makefile"]
    assert found == own
    assert (cache / "kernels" / ABOUT.kernel / "linux").stat().st_mode & 0o777 == 0o755
    assert builds.labs() == [ABOUT]
    assert builds.lab_called("0123") == ABOUT


def test_the_same_lab_gives_the_same_file(file: Path, tmp_path: Path) -> None:
    """Also when it was used meanwhile."""
    os.utime(ABOUT.places[1], (1e9, 1e9))
    labs.export(ABOUT, tmp_path / "again.lab")
    assert (tmp_path / "again.lab").read_bytes() == file.read_bytes()


def test_two_builds_give_the_same_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another place, at other times, and whatever is a hard link of what."""
    other = tmp_path / "elsewhere" / "cache"
    monkeypatch.setenv("SANDGLASS_CACHE", str(other))
    put_lab(other)
    kernel, guest, _ = ABOUT.places
    (guest / "lib" / "linked").unlink()
    (guest / "lib" / "linked").write_bytes((guest / "init").read_bytes())
    (tmp_path / "part").hardlink_to(kernel / "linux")
    for number, path in enumerate(sorted(other.rglob("*"))):
        os.utime(path, (number, number), follow_symlinks=False)
    labs.export(ABOUT, tmp_path / "again.lab")
    assert (tmp_path / "again.lab").read_bytes() == file.read_bytes()


def test_a_lab_of_a_file_gives_that_file(file: Path, cache: Path, tmp_path: Path) -> None:
    labs.take(file)
    for path in cache.rglob("*"):
        if path.is_dir() or path.is_symlink():
            os.utime(path, (1e9, 1e9), follow_symlinks=False)
    labs.export(ABOUT, tmp_path / "again.lab")
    assert (tmp_path / "again.lab").read_bytes() == file.read_bytes()


def test_the_lab_that_came_last_is_the_newest(file: Path, cache: Path) -> None:
    """Its kernel and its root are chosen by their times among those of the same sources."""
    labs.take(file)
    kernel, _, root = ABOUT.places
    for _ in range(2):
        for path in (kernel / builds.BUILD_FILE, root):
            assert path.stat().st_mtime > MADE_S
            os.utime(path, (1e9, 1e9))
        labs.take(file)


def test_a_lab_that_is_there_stays(file: Path, cache: Path) -> None:
    labs.take(file)
    before = lying(cache)
    (cache / "lab-of-one-that-was-killed").mkdir()
    labs.take(file)
    assert lying(cache) == before
    assert {path.name for path in cache.iterdir()} == {"build.lock", "kernels", "roots"}


def test_no_file_is_written_over(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError, match="there already"):
        labs.export(ABOUT, file)
    assert file.read_bytes() == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_an_altered_byte_anywhere_is_refused(file: Path, cache: Path, data: st.DataObject) -> None:
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    altered = file.with_name("altered.lab")
    altered.write_bytes(content)
    with pytest.raises(SandglassError, match=r"no file of a lab|is damaged"):
        labs.take(altered)
    assert lying(cache) == {}


@pytest.mark.parametrize("kept", [0, 10, 80, 5000])
def test_a_file_cut_short_is_refused(file: Path, cache: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SandglassError, match=r"no file of a lab|is damaged"):
        labs.take(file)
    assert lying(cache) == {}


def test_a_file_that_is_not_there_is_named(cache: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.lab: No such file"):
        labs.take(cache / "absent.lab")


@pytest.mark.thorough
@pytest.mark.parametrize("work", WORK)
def test_killed_at_any_moment_it_leaves_no_half_lab(
    file: Path, cache: Path, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a lab that is large enough for that to take a while."""
    source = cache.parent / "own"
    large = source / "roots" / ABOUT.root / "root" / "large"
    size = 1_000_000 if work == "export" else 4_000_000  # xz is slower at packing than unpacking
    large.write_bytes(random.Random(2).randbytes(size))
    monkeypatch.setenv("SANDGLASS_CACHE", str(source))
    whole = {"SANDGLASS_CACHE": str(source), "PYTHONPATH": str(builds.ROOT / "src")}
    large_file, made = cache.parent / "large.lab", cache.parent / "made.lab"
    labs.export(ABOUT, large_file)
    monkeypatch.setenv("SANDGLASS_CACHE", str(cache))
    environment = whole if work == "export" else whole | {"SANDGLASS_CACHE": str(cache)}
    argument = made if work == "export" else large_file
    command = [sys.executable, "-c", IMPORTS + WORK[work], str(argument)]

    def at_first() -> None:
        for folder in cache.iterdir():
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        made.unlink(missing_ok=True)
        if work == "remove":
            labs.take(large_file)

    at_first()
    started = time.monotonic()
    subprocess.run(command, env=environment, check=True)
    lasts_s = time.monotonic() - started
    for moment in range(KILLS):
        at_first()
        with subprocess.Popen(command, env=environment) as process:
            time.sleep(lasts_s * (moment + 0.5) / KILLS)
            process.send_signal(signal.SIGKILL)
        if work == "export" and made.exists():
            assert made.read_bytes() == large_file.read_bytes()
        if work != "export":
            for _ in builds.labs():
                kernel, guest, root = ABOUT.places
                assert (guest / "init").read_text() == "init\n"
                assert (kernel / "linux").stat().st_size == 100_000
                assert (root / "root" / "large").stat().st_size == 4_000_000


def test_a_removed_lab_leaves_what_others_have(tmp_path: Path, cache: Path) -> None:
    other = replace(ABOUT, id="ffffffffffff", guest="deaddeaddead")
    put_lab(cache)
    put_guest(cache, other)
    put_guest(cache, replace(ABOUT, guest="feedfeedfeed"))  # the same lab, built in another way
    labs.remove(ABOUT)
    assert builds.labs() == [other]
    labs.remove(other)
    assert lying(cache) == {}


def test_the_list_has_each_lab_once_the_last_used_first(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_lab(cache)
    put_guest(cache, replace(ABOUT, guest="feedfeedfeed"), used_s=1)
    put_guest(
        cache, replace(ABOUT, id="eeeeeeeeeeee", guest="eeeeeeeeeeee", packages=["bc"]), used_s=2
    )
    put_guest(cache, replace(ABOUT, id="ffffffffffff", guest="ffffffffffff"), used_s=3)
    labs.report(builds.labs())
    shown = [line for line in capsys.readouterr().out.splitlines()[1:] if line[0] != " "]
    assert [line[:12] for line in shown] == [ABOUT.id, "ffffffffffff", "eeeeeeeeeeee"]
    assert ["with bc" in line for line in shown] == [False, False, True]


@pytest.mark.parametrize("part", labs.PARTS)
def test_a_lab_that_is_there_with_other_content_is_refused(
    file: Path, cache: Path, part: str
) -> None:
    """A name is only claimed: the kernel in the cache, or the one in the file, may be a script."""
    put_lab(cache)
    kernel, guest, root = ABOUT.places
    false = {
        "kernel": kernel / "linux",
        "modules and init": guest / "init",
        "programs": root / "root" / "usr" / "bin" / "tool",
    }[part]
    false.write_text("#!/bin/sh\n")
    before = lying(cache)
    with pytest.raises(SandglassError, match=f"has other {part} for the lab {ABOUT.id}") as refused:
        labs.take(file)
    assert len(re.findall("[0-9a-f]{64}  ", refused.value.hint or "")) == 2
    assert lying(cache) == before
    labs.remove(ABOUT)
    assert labs.take(file) == ABOUT


def test_a_lab_of_that_name_in_other_directories_is_compared_too(file: Path, cache: Path) -> None:
    """One that another compiler has built lies beside; so may one that is false."""
    other = replace(ABOUT, kernel="6.12.1-key-beef", guest="deaddeaddead")
    put_lab(cache, other)
    labs.take(file)
    labs.remove(ABOUT)
    put_lab(cache, other)
    (other.places[0] / "linux").write_text("#!/bin/sh\n")
    with pytest.raises(SandglassError, match="has other kernel for the lab"):
        labs.take(file)
    assert not ABOUT.places[0].exists()


def test_a_lab_that_cannot_be_put_in_place_leaves_nothing(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def full(path: Path, target: Path) -> Path:
        if target.parent.name == "kernels":
            raise OSError(28, "No space left on device", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space"):
        labs.take(file)
    assert lying(cache) == {}


def test_a_wrong_file_is_refused_while_another_builds(cache: Path, tmp_path: Path) -> None:
    """For whose end only a good one waits."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    with (cache / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for wrong in ("pipe", "empty", "other"):
            with pytest.raises(UsageError, match=wrong):
                labs.take(tmp_path / wrong)
    assert {path.name for path in cache.iterdir()} == {"build.lock"}


def test_an_import_says_that_it_waits(file: Path, cache: Path) -> None:
    environment = {"SANDGLASS_CACHE": str(cache), "PYTHONPATH": str(builds.ROOT / "src")}
    command = [sys.executable, "-c", IMPORTS + WORK["take"], str(file)]
    with (cache / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            assert process.stderr.readline() == "waiting for a build or an import to end\n"
            fcntl.flock(lock, fcntl.LOCK_UN)
            process.stderr.read()
        assert process.returncode == 0
    assert builds.labs() == [ABOUT]


def test_what_only_root_may_make_is_not_in_a_file(file: Path, cache: Path, tmp_path: Path) -> None:
    """A lab of setuid programs gives the same file before and after."""
    labs.take(file)
    tool = ABOUT.places[2] / "root" / "usr" / "bin" / "tool"
    tool.chmod(0o6755)
    labs.export(ABOUT, tmp_path / "setuid.lab")
    labs.remove(ABOUT)
    labs.take(tmp_path / "setuid.lab")
    assert tool.stat().st_mode & 0o7777 == 0o755
    labs.export(ABOUT, tmp_path / "again.lab")
    assert (tmp_path / "again.lab").read_bytes() == (tmp_path / "setuid.lab").read_bytes()


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("lab.json", "root", "../../elsewhere"),
        ("lab.json", "kernel", "/tmp"),
        ("lab.json", "guest", "tree"),
        ("lab.json", "name", "../6.12"),
        ("lab.json", "id", 7),
        ("lab.json", "module_builds", []),
        ("lab.json", "packages", ["[/b]"]),
        ("lab.json", "more", ""),
        ("build.json", "release", ".."),
        ("build.json", "source", ["linux-source-6.12"]),
        ("build.json", "compiler", {}),
        ("build.json", "lost", ["the \x1b[2Jseed"]),
        ("lab.json", "tree", "../6.12"),
    ],
)
def test_a_manifest_that_claims_the_impossible_is_named(
    cache: Path, name: str, key: str, value: object
) -> None:
    put_lab(cache)
    home = ABOUT.places[1] if name == builds.LAB_FILE else ABOUT.places[0]
    about = json.loads((home / name).read_text())
    (home / name).write_text(json.dumps(about | {key: value}))
    with pytest.raises(SandglassError, match=f"^{home / name}: .*{key}") as refused:
        labs.report(builds.labs())
    assert "Remove the directory" in str(refused.value.hint)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{", b"[" * 100_000, b" " * 2_000_000])
@pytest.mark.parametrize("name", ["lab.json", "build.json", "packages.json"])
def test_a_damaged_manifest_is_named(cache: Path, name: str, content: bytes) -> None:
    read = {"lab.json": manifests.lab, "build.json": manifests.kernel}.get(name, manifests.root)
    (cache / name).write_bytes(content)
    if (name, content) == ("packages.json", b"[]"):
        assert read(cache / name) == []
        return
    with pytest.raises(SandglassError, match=f"^{cache / name}: "):
        read(cache / name)


@pytest.mark.lab
def test_what_distinguishes_a_lab_is_told() -> None:
    lab = builds.lab()
    assert labs.differences(lab) == []
    modules = lab.module_builds | {"mine": "111111111111", "recorder": "222222222222"}
    assert labs.differences(replace(lab, module_builds=modules)) == ["mine", "recorder"]
    assert labs.differences(replace(lab, root="another", build="another")) == ["kernel", "programs"]
    assert labs.differences(replace(lab, packages=["bc"])) == ["programs"]


def test_an_unknown_lab_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_LAB", "abc")
    with pytest.raises(UsageError, match="no lab is called abc"):
        builds.lab()
