"""What comes from elsewhere: it is laid where it belongs, or nothing of it is."""

import hashlib
import lzma
import os
import resource
import stat
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import archive, builds, labs
from sandglass.run import kept
from tests.setup.hostile import Entry, Hostile, entries, packed, put_canaries, seen
from tests.setup.test_labs import ABOUT, put_lab

SEEDS = 200
PEAK_KB = 150_000
"""A lab of a hundred kilobytes takes less, and so do 200 of them."""
RUN = [
    Entry("SHA256SUMS"),
    Entry("packets.parquet", content=b"abc"),
    Entry("run.json", content=b"{}"),
]
NEW = (f"kernels/{ABOUT.kernel}", f"roots/{ABOUT.root}", "build.lock")


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """The members of a good lab; the cache is that of a machine with another lab."""
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "own"))
    put_lab(tmp_path / "own")
    labs.export(ABOUT, tmp_path / "good.lab")
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "home" / "cache"))
    other = {"id": "ffffffffffff", "kernel": "6.12.9-other", "root": "other"}
    put_lab(tmp_path / "home" / "cache", builds.Lab(**{**vars(ABOUT), **other}))
    (tmp_path / "home" / "cache" / "build.lock").touch()
    content = (tmp_path / "good.lab").read_bytes()[labs.HEAD_BYTES :]
    return entries(lzma.decompress(content))


def written(content: bytes, path: Path) -> Path:
    """A lab's file with a checksum that is right."""
    compressed = lzma.compress(content, preset=0)
    total = hashlib.sha256(compressed).hexdigest().encode()
    path.write_bytes(labs.FORMAT + b" " + total + b"\n" + compressed)
    return path


def test_no_lab_leaves_its_folder(
    good: list[Entry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 of them: nothing else is made, changed or read, and memory is bounded."""
    monkeypatch.setattr(labs, "LEAST_BYTES", 1 << 20)
    home, cache = tmp_path / "home", tmp_path / "home" / "cache"
    put_canaries(home / "canaries")
    put_canaries(cache / "canaries")
    new = tuple(f"cache/{each}" for each in NEW)
    around = seen(home, new)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in range(SEEDS):
        outside = (cache if seed % 2 else home) / "canaries"
        file = written(packed(Hostile(seed, outside).changed(good)), tmp_path / f"{seed}.lab")
        message = taken(file)
        assert seen(home, new) == around, seed
        if message:
            refused += 1
            assert str(file) in message, seed
            assert not any(map(os.path.lexists, ABOUT.places)), seed
            continue
        for path in [each for place in ABOUT.places for each in (place, *place.rglob("*"))]:
            status = path.lstat()
            assert path.is_symlink() or not status.st_mode & 0o7022, (seed, path)
            assert status.st_uid == os.getuid(), (seed, path)
        labs.remove(ABOUT)
    assert refused > SEEDS * 0.8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_kb < PEAK_KB


def taken(file: Path) -> str:
    """Why a lab's file is refused; nothing when it is not."""
    try:
        assert labs.take(file) == ABOUT
    except SandglassError as error:
        return error.message
    return ""


def test_no_kept_run_leaves_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("SANDGLASS_RUNS", str(home / "runs"))
    put_canaries(home / "canaries")
    (home / "runs").mkdir()
    around = seen(home, ("runs", "target"))
    for seed in range(SEEDS):
        members = Hostile(seed, home / "canaries").changed(RUN)
        lines = [
            f"{hashlib.sha256(each.content).hexdigest()}  {each.name}\n"
            for each in sorted(members, key=lambda each: each.name)
            if each.name != kept.SUMS
        ]
        sums = "".join(lines).encode("utf-8", "surrogateescape")
        members = [Entry(kept.SUMS, content=sums)] + [e for e in members if e.name != kept.SUMS]
        (home / "runs" / "a.tar").write_bytes(packed(members))
        target = home / "target" / str(seed)
        target.mkdir(parents=True)
        taken = kept.take("a", target)
        assert seen(home, ("runs", "target")) == around, seed
        left = list(target.iterdir())
        assert bool(left) == taken, seed
        for path in left:
            assert stat.S_ISREG(path.lstat().st_mode), seed
            assert not path.stat().st_mode & 0o7111, seed


def test_what_a_link_leads_to_is_not_touched(tmp_path: Path) -> None:
    """A link, and then a file, a directory or a link of its name, or a member through it."""
    outside = put_canaries(tmp_path / "canaries")
    before = seen(outside)
    for number, canary in enumerate(("file", "folder", "absent")):
        for kind in (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE):
            for inner in ("", "/inner", "/new"):
                folder = tmp_path / f"{number}-{kind!r}-{inner[1:]}"
                folder.mkdir()
                link = Entry("a", tarfile.SYMTYPE, target=str(outside / canary))
                second = Entry("a" + inner, kind, mode=0o4777, target="x")
                with pytest.raises(archive.ArchiveError, match="twice"):
                    unpacked(packed([link, second]), folder)
                assert seen(outside) == before


def unpacked(content: bytes, folder: Path) -> None:
    archive.unpack(BytesIO(content), folder, lambda _: True, exact=True)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry("a", tarfile.LNKTYPE, target="/etc/passwd"), "no file, directory or link"),
        (Entry("a", tarfile.CHRTYPE), "no file, directory or link"),
        (Entry("a", tarfile.FIFOTYPE), "no file, directory or link"),
        (Entry("/a"), "no name"),
        (Entry("a/../../b"), "no name"),
        (Entry("./a"), "no name"),
        (Entry("a/" * 60 + "b"), "no name"),
        (Entry("a" * 300), "no name for a file: File name too long"),
        (Entry("a", claimed=1 << 40, form=tarfile.GNU_FORMAT), "ends early"),
        (Entry("a", mtime_s=1 << 40, form=tarfile.GNU_FORMAT), "impossible size or time"),
        (Entry("a", tarfile.DIRTYPE, claimed=3), "impossible size or time"),
        (Entry("a", tarfile.XHDTYPE, content=b"x" * 9000), "no file, directory or link"),
        (Entry("a", tarfile.XHDTYPE, content=b"19 GNU.sparse.map=1"), "has a header"),
    ],
)
def test_what_no_archive_of_ours_holds_is_refused(
    tmp_path: Path, entry: Entry, message: str
) -> None:
    with pytest.raises(archive.ArchiveError, match=message):
        unpacked(packed([entry]), tmp_path)


def test_modes_and_times_are_the_archives_without_what_harms(tmp_path: Path) -> None:
    """Whatever the mask of the user is; and each can be removed again."""
    members = [
        Entry("a", tarfile.DIRTYPE, mode=0),
        Entry("a/all", mode=0o7777),
        Entry("a/none", mode=0),
        Entry("a/usual", mode=0o644),
        Entry("b/c"),
    ]
    before = os.umask(0o077)
    try:
        unpacked(packed(members), tmp_path)
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(tmp_path)): path.stat().st_mode & 0o7777
        for path in tmp_path.rglob("*")
    }
    assert modes == {
        "a": 0o700,
        "a/all": 0o755,
        "a/none": 0o400,
        "a/usual": 0o644,
        "b": 0o755,
        "b/c": 0o644,
    }
    assert {path.stat().st_mtime for path in tmp_path.rglob("*")} == {1_700_000_000}


def test_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 20)
    unpacked(packed([Entry(str(number)) for number in range(20)]), tmp_path)
    (tmp_path / "deep").mkdir()
    with pytest.raises(archive.ArchiveError, match="more than 20 files"):
        unpacked(packed([Entry(f"{number}/a/b") for number in range(8)]), tmp_path / "deep")


def test_a_file_that_grows_is_refused(good: list[Entry], tmp_path: Path) -> None:
    """One of 15 kB that would be 100 MB, in another process, whose memory is bounded."""
    large = [*good, Entry(f"roots/{ABOUT.root}/root/zeros", content=bytes(100_000_000))]
    file = written(packed(large), tmp_path / "bomb.lab")
    before = seen(tmp_path / "home", ("cache/build.lock",))
    script = (
        "import re, sys; from pathlib import Path; from sandglass.install import labs\n"
        "try: labs.take(Path(sys.argv[1]))\n"
        "except labs.SandglassError as error: print(error.message)\n"
        "print(re.search(r'VmHWM:.* (.*) kB', Path('/proc/self/status').read_text())[1])"
    )
    environment = os.environ | {"PYTHONPATH": str(builds.ROOT / "src")}
    command = [sys.executable, "-c", script, str(file)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    message, peak_kb = said.stdout.splitlines()
    assert message == f"{file} is refused: it grows to more than 67 MB"
    assert int(peak_kb) < PEAK_KB
    assert seen(tmp_path / "home", ("cache/build.lock",)) == before
