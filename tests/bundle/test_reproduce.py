"""The script in a bundle: it checks before it does anything, and tells what differs."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandglass.install import builds
from sandglass.papers.bundle import reproduce
from tests.setup.hostile import put_canaries, seen

FILES = {
    "README.md": b"# A bundle\n",
    "bundle.json": b"{}\n",
    "code/sandglass": b"#!/bin/sh\n",
    "results/runs/first run/run.json": b"{}\n",
    "wheels/empty": b"",
}


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle's folder."""
    home = tmp_path / "bundle"
    for name, content in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    sums = "".join(f"{reproduce.checksum(home / name)}  {name}\n" for name in sorted(FILES))
    (home / reproduce.SUMS).write_text(sums)
    monkeypatch.setattr(reproduce, "HERE", home)
    monkeypatch.setattr(reproduce, "WORK", home / "work")
    monkeypatch.setattr(reproduce, "CODE", home / "work" / "code")
    monkeypatch.setattr(reproduce, "FINISHED", home / "work" / "finished")
    return home


def test_a_bundle_as_it_was_is_not_damaged(bundle: Path) -> None:
    (bundle / "work").mkdir()
    (bundle / "work" / "made").write_text("by a repetition before")
    assert list(reproduce.damages()) == []
    subprocess.run(["sha256sum", "--check", "--quiet", reproduce.SUMS], cwd=bundle, check=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_an_altered_byte_anywhere_is_noticed(bundle: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*(name for name in FILES if FILES[name]), reproduce.SUMS]))
    whole = (bundle / name).read_bytes()
    content = bytearray(whole)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (bundle / name).write_bytes(content)
    assert list(reproduce.damages()) != []
    (bundle / name).write_bytes(whole)


def test_what_is_missing_or_more_is_named(bundle: Path) -> None:
    (bundle / "bundle.json").unlink()
    (bundle / "code" / "more.py").write_text("")
    (bundle / "code" / "link").symlink_to("/")
    assert list(reproduce.damages()) == [
        "code/link is not of it",
        "code/more.py is not of it",
        "bundle.json is missing",
    ]
    (bundle / reproduce.SUMS).unlink()
    assert list(reproduce.damages()) == ["SHA256SUMS is missing"]


def test_a_file_that_became_a_link_is_noticed(bundle: Path, tmp_path: Path) -> None:
    (bundle / "README.md").rename(tmp_path / "README.md")
    (bundle / "README.md").symlink_to(tmp_path / "README.md")
    assert list(reproduce.damages()) == ["README.md was altered"]


def test_nothing_of_a_damaged_bundle_is_executed(bundle: Path) -> None:
    script = bundle / "reproduce"
    script.write_bytes(Path(reproduce.__file__).read_bytes())
    (bundle / "code" / "sandglass").write_text("#!/bin/sh\ntouch executed\n")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=bundle, check=False
    )
    assert done.returncode == 2
    assert "code/sandglass was altered" in done.stderr
    assert not (bundle / "work").exists()


def listed(bundle: Path) -> None:
    """The bundle's list of checksums, made anew."""
    (bundle / reproduce.SUMS).unlink()
    names = sorted(str(p.relative_to(bundle)) for p in bundle.rglob("*") if p.is_file())
    names = [name for name in names if not name.startswith("work/")]
    sums = "".join(f"{reproduce.checksum(bundle / name)}  {name}\n" for name in names)
    (bundle / reproduce.SUMS).write_text(sums)


def test_a_repetition_goes_on_in_its_own_folder_only(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What came with the bundle in work/, or is of another version, is not used."""
    script = bundle / "work" / "code" / "sandglass"
    script.parent.mkdir(parents=True)
    script.write_text("planted")
    (bundle / "work" / reproduce.OWNER).write_bytes(reproduce.identity()[:64] + b" 1 1\n")
    reproduce.lay()
    assert script.read_bytes() == FILES["code/sandglass"]
    assert "made anew" in capsys.readouterr().out
    (bundle / "work" / "code" / "results").write_text("made before it was interrupted")
    reproduce.lay()
    assert (bundle / "work" / "code" / "results").exists()
    assert "made anew" not in capsys.readouterr().out
    (bundle / "code" / "sandglass").write_text("of version 2")
    listed(bundle)
    assert list(reproduce.damages()) == []
    reproduce.lay()
    assert script.read_text() == "of version 2"
    assert not (bundle / "work" / "code" / "results").exists()


def test_a_bundle_that_is_unpacked_again_begins_anew(bundle: Path, tmp_path: Path) -> None:
    """As an archive cannot know where it will lie, it cannot hold a work/ that is trusted."""
    reproduce.lay()
    (bundle / "work" / "code" / "sandglass").write_text("planted")
    subprocess.run(["tar", "-cf", tmp_path / "b.tar", "bundle"], cwd=tmp_path, check=True)
    subprocess.run(["tar", "-xf", tmp_path / "b.tar"], cwd=tmp_path, check=True)
    assert list(reproduce.damages()) == []
    reproduce.lay()
    assert (bundle / "work" / "code" / "sandglass").read_bytes() == FILES["code/sandglass"]


def test_it_says_whose_code_it_runs(bundle: Path) -> None:
    (bundle / "code" / "sandglass").unlink()
    (bundle / "json.py").write_text("open('imported', 'w')\n")
    script = bundle / "reproduce"
    script.write_bytes(Path(reproduce.__file__).read_bytes())
    script.chmod(0o755)
    done = subprocess.run([script], capture_output=True, text=True, cwd=bundle, check=False)
    assert done.returncode == 2, done.stderr
    assert "kernel, as you and with your rights" in done.stdout
    assert "not who made it" in done.stdout
    assert "json.py is not of it" in done.stderr
    assert not (bundle / "imported").exists()  # -I: it stands in for no module


def test_no_bundle_leaves_its_folder(bundle: Path, tmp_path: Path) -> None:
    """200 with links, pipes, planted files and names that lead out: nothing else is touched."""
    outside = put_canaries(tmp_path / "canaries")
    before = seen(outside)
    pristine = tmp_path / "pristine"
    bundle.rename(pristine)
    accepted = 0
    for seed in range(200):
        shutil.copytree(pristine, bundle)
        spoil(bundle, outside, random.Random(seed))
        if not list(reproduce.damages()):
            accepted += 1
            reproduce.lay()
            assert not (bundle / "work").is_symlink()
            for path in (bundle / "work" / "code").rglob("*"):
                assert not path.is_symlink(), seed
                own = bundle / path.relative_to(bundle / "work")
                assert path.is_dir() or path.read_bytes() == own.read_bytes(), seed
        assert seen(outside) == before, seed
        shutil.rmtree(bundle)
    assert 0 < accepted < 200


def spoil(bundle: Path, outside: Path, draw: random.Random) -> None:
    """Change a bundle for the worse."""
    canary = outside / draw.choice(["file", "folder", "folder/inner", "absent", "pipe"])
    places = ["work", "work/code", "work/bundle", "work/home", "code/new", "wheels", *FILES]
    place = bundle / draw.choice([*places, reproduce.SUMS])
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    match draw.choice(["link", "pipe", "folder", "file", "listed"]):
        case "link":
            place.symlink_to(canary)
        case "pipe":
            os.mkfifo(place)
        case "folder":
            (place / "sandglass").mkdir(parents=True)
        case "file":
            place.write_text("planted")
        case _:
            name = os.path.relpath(canary, bundle)
            with (bundle / reproduce.SUMS).open("a") as sums:
                sums.write(f"{'0' * 64}  {name}\n")


def test_another_python_is_told_which(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        reproduce.check_machine({"pythons": ["3.2", "3.3"], "glibc": "2.36"})
    assert ended.value.code == 2
    assert "packages for 3.2, 3.3" in capsys.readouterr().err


def test_an_older_c_library_is_refused(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = "{}.{}".format(*sys.version_info[:2])
    with pytest.raises(SystemExit):
        reproduce.check_machine({"pythons": [here], "glibc": "99.1"})
    assert "glibc 99.1 or later; here is glibc 2." in capsys.readouterr().err


def test_a_machine_without_the_library_of_numpy_is_refused(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = "{}.{}".format(*sys.version_info[:2])
    monkeypatch.setattr(reproduce, "CPP_LIBRARY", "libof-no-machine.so.6")
    with pytest.raises(SystemExit) as ended:
        reproduce.check_machine({"pythons": [here], "glibc": "2.1"})
    assert ended.value.code == 2
    assert "libof-no-machine.so.6, which is not here" in capsys.readouterr().err


def test_runs_and_tables_that_differ_or_are_missing(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = {"same": ("1", "1"), "other": ("1", "2"), "absent": ("1", None)}
    for name, each in digests.items():
        for place, digest in zip((bundle, reproduce.CODE), each, strict=True):
            (place / name).mkdir(parents=True)
            (place / f"{name}.csv").write_text(f"{digest}\n")
            if digest:
                (place / name / "run.json").write_text(json.dumps({"digest": digest}))
    assert reproduce.compare({"runs": ["same"], "tables": ["same.csv"]})
    assert not reproduce.compare({"runs": ["same", "other"], "tables": []})
    assert not reproduce.compare({"runs": ["absent"], "tables": []})
    assert not reproduce.compare({"runs": ["same"], "tables": ["other.csv"]})
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said if line.endswith(" same")] == ["equal"] * 3
    assert [line.split()[0] for line in said if line.endswith(" other")] == ["DIFFERS"]
    assert any("not there" in line and line.endswith(" absent") for line in said)


@pytest.mark.parametrize(
    ("failing", "now", "status"), [("", "1", 0), ("", "2", 1), ("reproduce", "1", 1)]
)
def test_the_exit_status_tells_whether_all_was_repeated_and_equal(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, failing: str, now: str, status: int
) -> None:
    """Of a bundle whose ./sandglass does as it is told here."""
    runs = {"commands": [["reproduce"]], "runs": ["results/runs/first run"], "tables": []}
    about = {"lab": "l", "lab_file": "lab", "glibc": "2.1", "whole": runs, "short": runs}
    about["pythons"] = ["{}.{}".format(*sys.version_info[:2])]
    (bundle / "bundle.json").write_text(json.dumps(about))
    (bundle / "wheels" / "pip-1.whl").write_text("")
    (bundle / "code" / "sandglass").write_text(
        '#!/bin/sh\nmkdir -p "results/runs/first run"\n'
        f"""echo '{{"digest": "{now}"}}' >"results/runs/first run/run.json"\n"""
        f'[ "$1" != "{failing}" ]\n'
    )
    (bundle / "code" / "sandglass").chmod(0o755)
    (bundle / "results" / "runs" / "first run" / "run.json").write_text('{"digest": "1"}')
    monkeypatch.setattr(reproduce, "damages", list)
    monkeypatch.setattr(sys, "argv", ["reproduce"])
    for _ in range(2):  # the second one is not the first one's continuation
        assert reproduce.main() == status


def test_it_is_the_script_that_a_bundle_gets() -> None:
    """And one that runs with nothing but Python."""
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            builds.ROOT / "src/sandglass/papers/bundle/reproduce.py",
            "--help",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--short" in done.stdout
