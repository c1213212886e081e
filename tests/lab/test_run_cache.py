"""Runs kept for other checkouts: what is the same run, and that a copy is as good as the run."""

import json
import multiprocessing
import os
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import reading
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds
from sandglass.run import kept, plan, runs
from tests.lab.conftest import Cli
from tests.lab.experiments import Mapped, bulk, dumbbell, written

SHORT = dumbbell(bulk(), queue={"kind": "pfifo", "limit": 50}, duration="200ms")
CONTENT = {"run.json": b'{"digest": "d"}', "packets.parquet": bytes(range(256)) * 40}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for runs."""
    monkeypatch.setenv("SANDGLASS_RUNS", str(tmp_path / "kept"))
    monkeypatch.delenv("SANDGLASS_RUNS_LIMIT")
    return tmp_path / "kept"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """What a lab leaves, in short."""
    folder = tmp_path / "left"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    return sorted(folder.iterdir())


def taken(name: str, folder: Path) -> dict[str, bytes] | None:
    """The files of a kept run."""
    folder.mkdir(exist_ok=True)
    found = kept.take(name, folder)
    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    return left if found else None if not left else {"left behind": b""}


def test_what_is_kept_is_taken(tmp_path: Path, files: list[Path]) -> None:
    assert taken("a", tmp_path / "before") is None
    kept.keep("a", files)
    assert taken("a", tmp_path / "one") == CONTENT
    assert taken("b", tmp_path / "other") is None


def test_a_copy_may_be_changed(tmp_path: Path, files: list[Path]) -> None:
    kept.keep("a", files)
    taken("a", tmp_path / "one")
    for path in (tmp_path / "one").iterdir():
        path.write_bytes(b"changed in place")
    assert taken("a", tmp_path / "two") == CONTENT


def test_other_users_may_read_it(home: Path, files: list[Path]) -> None:
    kept.keep("a", files)
    assert (home / "a.tar").stat().st_mode & 0o777 == 0o644


def test_others_come_to_it_whatever_the_umask(
    home: Path, files: list[Path], tmp_path: Path
) -> None:
    before = os.umask(0o077)
    try:
        kept.keep("a", files)
        taken("a", tmp_path / "one")
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o755
    assert (home / "a.tar").stat().st_mode & 0o777 == 0o644
    # what is taken is one's own
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "one").iterdir()} == {0o600}


def damage_every_byte() -> list[Callable[[bytes], bytes]]:
    def cut(at: float) -> Callable[[bytes], bytes]:
        return lambda whole: whole[: int(len(whole) * at)]

    def flipped(at: int) -> Callable[[bytes], bytes]:
        return lambda whole: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]

    # 0 is the name of the first file, 512 a checksum; from 1536 on come the files themselves.
    return [
        *map(cut, (0, 0.01, 0.1, 0.5, 0.6)),
        *map(flipped, (0, 124, 512, 1024, 1536, 1600, 6000)),
    ]


@pytest.mark.parametrize("damage", damage_every_byte())
def test_a_damaged_one_is_thrown_away(
    tmp_path: Path,
    home: Path,
    files: list[Path],
    damage: Callable[[bytes], bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept.keep("a", files)
    entry = home / "a.tar"
    entry.write_bytes(damage(entry.read_bytes()))
    assert taken("a", tmp_path / "one") is None
    assert f"the kept run {entry} is thrown away" in capsys.readouterr().err
    kept.keep("a", files)
    assert taken("a", tmp_path / "two") == CONTENT


def test_one_with_a_file_missing_is_damaged(tmp_path: Path, home: Path, files: list[Path]) -> None:
    """A tar that ends after a file is whole as a tar."""
    kept.keep("a", files)
    with tarfile.open(home / "a.tar") as tar:
        last = tar.getmembers()[-1]
    os.truncate(home / "a.tar", last.offset)
    assert taken("a", tmp_path / "one") is None


def test_checksums_are_those_of_sha256sum(tmp_path: Path, home: Path, files: list[Path]) -> None:
    kept.keep("a", files)
    subprocess.run(["tar", "-xf", home / "a.tar"], cwd=tmp_path, check=True)
    subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, check=True)


def write_until(enough: Event, name: str, files: list[Path]) -> None:
    while not enough.is_set():
        kept.keep(name, files)
        kept.trim(0)


def test_writers_at_once(tmp_path: Path, home: Path, files: list[Path]) -> None:
    """While some keep a run and throw it away again, a reader finds all of it or nothing."""
    forked = multiprocessing.get_context("fork")
    enough = forked.Event()
    writers = [forked.Process(target=write_until, args=(enough, "a", files)) for _ in range(4)]
    for writer in writers:
        writer.start()
    met = Counter[bool]()
    try:
        while min(met[True], met[False]) < 20:
            found = taken("a", tmp_path / f"reader{met.total()}")
            assert found in (None, CONTENT)
            met[found is None] += 1
    finally:
        enough.set()
        for writer in writers:
            writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert list(home.iterdir()) == []


def test_the_first_of_two_stays(tmp_path: Path, files: list[Path]) -> None:
    kept.keep("a", files)
    files[0].write_bytes(b"the second")
    kept.keep("a", files)
    assert taken("a", tmp_path / "one") == CONTENT


def test_what_was_not_asked_for_the_longest_goes(
    tmp_path: Path, home: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate("cba"):
        kept.keep(name, files)
        os.utime(home / f"{name}.tar", times=(age, age))
    taken("c", tmp_path / "one")
    size = (home / "a.tar").stat().st_size
    monkeypatch.setenv("SANDGLASS_RUNS_LIMIT", f"{3 * size}B")
    kept.keep("d", files)
    assert sorted(path.stem for path in home.iterdir()) == ["a", "c", "d"]
    kept.empty()
    assert kept.sizes() == []


def test_what_a_killed_writer_left_goes_after_a_day(home: Path, files: list[Path]) -> None:
    home.mkdir()
    for name, age_s in (("old", 90_000), ("new", 80_000)):
        left = home / f".{name}.partial"
        left.touch()
        os.utime(left, times=(time.time() - age_s,) * 2)
    kept.keep("a", files)
    assert sorted(path.name for path in home.iterdir()) == [".new.partial", "a.tar"]


def test_without_room_the_run_is_there_all_the_same(
    tmp_path: Path, files: list[Path], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_text("a file where the directory should be")
    kept.keep("a", files)
    assert f"this run is not kept for others in {home}: " in capsys.readouterr().err


def test_a_limit_that_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_RUNS_LIMIT", "much")
    with pytest.raises(UsageError, match=r"SANDGLASS_RUNS_LIMIT: .*much"):
        kept.limit()


def key(experiment: Mapped, folder: Path, seed: int | None = None) -> str:
    wanted: Experiment = reading.load(written(experiment, folder / "e.yaml"), seed=seed)
    return kept.key(wanted, plan.resolve(wanted, wanted.facts))


@pytest.mark.lab
def test_the_key_is_all_that_decides_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = key(SHORT, tmp_path)
    assert key(SHORT, tmp_path) == first
    others = [
        key(SHORT, tmp_path, seed=2),
        key(SHORT | {"record": ["acks"]}, tmp_path),
        key(SHORT | {"title": "another"}, tmp_path),
        key(SHORT | {"rtt": "41ms"}, tmp_path),
    ]
    monkeypatch.setattr(builds, "lab_build", lambda: "another agent")
    others.append(key(SHORT, tmp_path))
    assert len({first, *others}) == 1 + len(others)


def test_the_modules_of_a_run_are_those_that_it_names(tmp_path: Path) -> None:
    def named(experiment: Mapped) -> dict[str, str]:
        wanted = reading.load(written(experiment, tmp_path / "e.yaml"))
        return kept.named_modules(plan.resolve(wanted, wanted.facts))

    built = builds.module_builds()
    abe = {"tcp_abe": built["tcp_abe"]}
    assert named(SHORT) == {}
    assert named(SHORT | {"flows": [bulk(cc="abe_reno")]}) == abe
    sysctls = {"net.ipv4.tcp_abe.beta_ecn": 85}
    assert named(SHORT | {"hosts": {"s1": {"sysctls": sysctls}}}) == abe
    assert named(dumbbell(bulk(), queue={"kind": "pi2"})) == {"sch_pi2": built["sch_pi2"]}
    udp = {"workload": "udp", "from": "s1", "to": "d1", "rate": "1mbit"}
    assert named(SHORT | {"flows": [udp]}) == {}  # although it has an option called trace


@pytest.mark.lab
def test_another_checkout_takes_the_run(
    sandglass: Cli, checkout: Path, tmp_path: Path, home: Path
) -> None:
    """The same files, without a lab; and a lab again once the run is damaged or the agent new."""
    source = written(SHORT, tmp_path / "first.yaml")
    renamed = written(SHORT | {"title": "test"}, tmp_path / "second.yaml")
    first = sandglass("run", source, "--cached", "--out", "one")
    assert "times as fast as real time" in first.stdout, first.stderr
    second = sandglass("run", renamed, "--cached", "--out", "two", root=checkout)
    assert "from the cache" in second.stdout, second.stderr
    assert second.stdout.splitlines()[1] == first.stdout.splitlines()[1]
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert two.pop("experiment.yaml") == renamed.read_bytes()
    assert one.pop("experiment.yaml") == source.read_bytes()
    assert one == two
    assert "packets.parquet" in one

    [entry] = home.iterdir()
    os.truncate(entry, entry.stat().st_size // 2)
    again = sandglass("run", source, "--cached", "--out", "one")
    assert "times as fast" in again.stdout
    assert "is thrown away" in again.stderr
    assert again.stdout.splitlines()[1] == first.stdout.splitlines()[1]
    assert json.loads((tmp_path / "one" / "run.json").read_text())["digest"] in again.stdout

    agent = checkout / "src" / "sandglass" / "agent" / "clock.py"
    agent.write_text(agent.read_text() + "# changed\n")
    changed = sandglass("run", source, "--cached", "--out", "three", root=checkout)
    assert "times as fast" in changed.stdout
    assert len(list(home.iterdir())) == 2


@pytest.mark.lab
def test_a_run_by_hand_is_a_run(tmp_path: Path, home: Path) -> None:
    """Without --cached, and in verify, nothing is taken or kept."""
    source = written(SHORT, tmp_path / "e.yaml")
    runs.run(reading.load(source), source, tmp_path / "one")
    assert not home.exists()


def test_a_run_on_a_host_is_not_kept(sandglass: Cli, tmp_path: Path) -> None:
    done = sandglass("run", written(SHORT, tmp_path / "e.yaml"), "--backend", "host", "--cached")
    assert done.returncode == 2
    assert "--cached is for the lab" in done.stderr
