"""Labs take processors, one each where there are enough."""

import fcntl
import os
from pathlib import Path

import pytest

from sandglass.lab import processors


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two processors, which no lab of this machine has, and no patience."""
    for number in (0, 1):
        (tmp_path / f"cpu{number}" / "topology").mkdir(parents=True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(processors, "OWN", f"{tmp_path}/cpu{{}}")
    monkeypatch.setattr(processors, "SHARED", f"{tmp_path}/cpu{{}}/topology")
    monkeypatch.setattr(processors, "TOLD_AFTER_S", 0.1)
    monkeypatch.setattr(processors, "SHARED_AFTER_S", 0.3)
    return tmp_path


def free(folder: Path) -> bool:
    """Whether no lab has a place."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_each_lab_has_its_own(folders: Path) -> None:
    with processors.taken() as one, processors.taken() as other:
        assert {one, other} == {0, 1}


def test_one_that_waits_long_shares_and_a_third_does_not(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(processors, "note", told.append)
    places = [folders / f"cpu{number}" / "topology" for number in (0, 1)]
    with processors.taken(), processors.taken(), processors.taken() as third:
        assert third == 1
        assert len(told) == 1
        assert [free(place) for place in places] == [True, False]
        with processors.taken() as fourth:
            assert fourth == 0
            assert [free(place) for place in places] == [False, False]
    assert all(map(free, folders.glob("**/")))


def test_a_machine_that_does_not_show_them_has_labs_share(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "OWN", f"{folders}/none{{}}")
    with processors.taken() as one, processors.taken() as other:
        assert one == other == 1
