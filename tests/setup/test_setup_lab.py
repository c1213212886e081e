"""What set-up refuses before it begins, and how it is called."""

import os
import sys
from pathlib import Path

import pytest

from sandglass.cli import setting_up
from sandglass.errors import UsageError
from sandglass.experiment import reading
from sandglass.install import builds, root, setup_lab


@pytest.mark.parametrize("name", ["with a space", "with:colon"])
def test_a_kernel_is_not_built_where_make_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / name))
    monkeypatch.setattr(setup_lab, "run", lambda *_: pytest.fail("it has begun"))
    with pytest.raises(UsageError, match=f"{name}.* has a space or a colon"):
        setup_lab.kernel("6.12")
    assert list(tmp_path.iterdir()) == []


def test_setup_writes_the_schema_when_there_is_a_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema has what topologies take, and they import the Mininet of a lab."""
    done: list[str] = []
    monkeypatch.setattr(setup_lab, "lab", lambda: done.append("lab"))
    monkeypatch.setattr(setup_lab, "kernel", done.append)
    monkeypatch.setattr(reading, "publish", lambda: done.append("schema"))
    setting_up.setup()
    setting_up.setup(kernel="7.2")
    assert done == ["lab", "schema", "7.2", "schema"]


def test_the_first_experiment_of_a_machine_makes_what_topologies_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is read before it is known which lab it wants, and a right one is not refused for that."""
    there = builds.built_root()
    assert there
    made: list[Path] = []

    def make() -> Path:
        made.append(there)
        monkeypatch.setattr(builds, "built_root", lambda: there)
        return there

    monkeypatch.setattr(builds, "built_root", lambda: None)
    monkeypatch.setattr(root, "make", make)
    with pytest.raises(UsageError, match="rtt"):
        reading.load(builds.ROOT / "examples" / "codel.yaml", ["rtt=100"])
    assert made == [], "for what is wrong anyway"
    assert reading.load(builds.ROOT / "examples" / "codel.yaml").seed == 1
    assert made == [there]


def test_what_is_built_can_be_read_by_programs_of_other_users(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        setup_lab.run(sys.executable, "-c", f"open({str(tmp_path / 'made')!r}, 'w')")
    finally:
        os.umask(before)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644


def test_a_path_of_the_labs_does_not_lead_out_of_its_root(tmp_path: Path) -> None:
    """Links of a root are the lab's: an absolute one begins at its root."""
    programs = tmp_path / "root"
    (programs / "usr" / "bin").mkdir(parents=True)
    (programs / "usr" / "bin" / "kmod").touch()
    (tmp_path / "outside").touch()
    links = {
        "bin": "usr/bin",
        "usr/bin/lsmod": "/bin/kmod",
        "usr/bin/up": "../../../../usr/bin/lsmod",
        "usr/bin/out": str(tmp_path / "outside"),
        "usr/bin/above": "../../../outside",
        "usr/bin/circle": "circle",
    }
    for name, target in links.items():
        (programs / name).symlink_to(target)
    for name in ("/bin/kmod", "/bin/lsmod", "/usr/bin/up", "/usr/bin/../bin//kmod", "/"):
        assert builds.is_in_root(programs, name), name
    for name in ("/bin/out", "/bin/above", "/bin/circle", "/absent", "/../outside"):
        assert not builds.is_in_root(programs, name), name
