"""Files of the user's own that flows name: what is brought, and what is refused beforehand."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import own_files, reading
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds
from sandglass.run.plan import resolve
from sandglass.studies import vary
from sandglass.studies.points import rooted

MACHINE = 18  # where an ELF file says which machine it is for
AARCH64 = b"\xb7\0"


def loaded(home: Path, *argv: object, name: str = "own.yaml", **keys: Any) -> Experiment:
    flow = {"workload": "command", "from": "s1", "to": "d1", "argv": [*argv], **keys}
    text = {
        "title": "test",
        "topology": "dumbbell",
        "rtt": "20ms",
        "bottleneck": {"rate": "10mbit", "queue": {"kind": "pfifo"}},
        "flows": [flow],
        "duration": "1s",
    }
    (home / name).write_text(json.dumps(text))
    return reading.load(home / name)


def refusal(home: Path, *argv: object, **keys: Any) -> str:
    """The one message."""
    with pytest.raises(UsageError) as caught:
        loaded(home, *argv, **keys)
    (line,) = caught.value.message.splitlines()
    return line.partition("own.yaml:")[2]


def compiled(home: Path, name: str, *options: str, code: str = "int main() { return 0; }") -> Path:
    """A program, or with -shared a library, with the C library of the lab."""
    target = home / name
    target.parent.mkdir(parents=True, exist_ok=True)
    root = builds.chosen_root()
    assert root
    command = ["gcc", *builds.dynamic_with(root / builds.ROOT_FILES), "-x", "c", "-", "-x", "none"]
    command += ["-o", str(target), *options]
    subprocess.run(command, input=code, text=True, check=True)
    return target


def script(path: Path, first: str = "#!/bin/sh", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first}\n")
    path.chmod(mode)
    return path


def test_what_is_no_program_is_told_before_a_lab_starts(tmp_path: Path) -> None:
    script(tmp_path / "client.sh", mode=0o644)
    script(tmp_path / "folder" / "data")
    script(tmp_path / "client.py", first="import sys")
    script(tmp_path / "client.rb", first="#!/usr/bin/env no-such-ruby")
    script(tmp_path / "windows.sh", first="#!/bin/sh\r")
    foreign = compiled(tmp_path, "foreign")
    content = bytearray(foreign.read_bytes())
    content[MACHINE : MACHINE + 2] = AARCH64
    foreign.write_bytes(content)
    for word, said in {
        "./clint.sh": "there is no file clint.sh beside the experiment's, in "
        f"{tmp_path}, did you mean 'client.sh'?",
        "./folder": "folder is a directory, and no program: name the file in it",
        "./client.sh": f"client.sh is not executable: make it so, chmod +x '{tmp_path}/client.sh'",
        "./client.py": "client.py is neither a program of Linux (ELF) nor a script: begin it with "
        "a line such as #!/usr/bin/python3, or write python3, ./client.py",
        "./client.rb": "client.rb asks for no-such-ruby, which the lab has not: make a lab that "
        "has, ./sandglass lab build --with PACKAGE",
        "./windows.sh": r"windows.sh has lines that end as those of Windows: sed -i 's/\r$//' "
        "windows.sh",
        "./foreign": "foreign is built for AArch64 with 64 bits, and the lab is an x86-64 with 64: "
        "build it for that",
    }.items():
        assert refusal(tmp_path, word) == f"1: flows[0].argv[0]: {said}"
    assert "folder is a directory: write it into `files` too" in refusal(tmp_path, "ls", "./folder")
    loaded(tmp_path, "ls", "./folder", files=["folder"])


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    library = compiled(tmp_path, "lib/libanswer.so", "-shared", "-Wl,-soname,libanswer.so")
    needed = ["-Wl,--no-as-needed", str(library)]
    compiled(tmp_path, "plain", *needed)
    compiled(tmp_path, "found", *needed, "-Wl,-rpath,$ORIGIN/lib")
    missing = "plain asks for the library libanswer.so, which neither `files` nor the lab has"
    assert missing in refusal(tmp_path, "./plain")
    assert (
        "plain asks for the library libanswer.so, and does not look where lib/libanswer.so is: "
        "write environment: {LD_LIBRARY_PATH: lib}"
    ) in refusal(tmp_path, "./plain", files=["lib"])
    loaded(tmp_path, "./plain", files=["lib"], environment={"LD_LIBRARY_PATH": "lib"})
    assert "found asks for the library libanswer.so" in refusal(tmp_path, "./found")
    loaded(tmp_path, "./found", files=["lib/libanswer.so"])
    compiled(tmp_path, "alone", "-static")
    loaded(tmp_path, "./alone")
    compiled(tmp_path, "musl", "-Wl,--dynamic-linker,/lib/ld-musl-x86_64.so.1")
    asked = "musl asks for the interpreter /lib/ld-musl-x86_64.so.1, which the lab has not"
    assert asked in refusal(tmp_path, "./musl")


def test_a_newer_c_library_is_told(tmp_path: Path) -> None:
    """As of a program from a newer Debian: here the lab's own has another name for its version."""
    program = compiled(tmp_path, "newer")
    content = program.read_bytes()
    assert b"GLIBC_2.34\0" in content
    program.write_bytes(content.replace(b"GLIBC_2.34\0", b"GLIBC_9.99\0"))
    assert (
        "newer asks for GLIBC_9.99 of libc.so.6, newer than the lab's, which has up to GLIBC_2.36: "
        "build it on Debian 12, or link it statically"
    ) in refusal(tmp_path, "./newer")


def test_a_link_is_brought_with_what_it_leads_to_and_never_followed_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script(home / "build" / "client-2")
    (home / "client").symlink_to("build/client-2")
    own = loaded(home, "./client").own_files
    assert own["client"].target == "build/client-2"
    assert own["build/client-2"].executable
    secret = script(tmp_path / "secret")
    (home / "out").symlink_to("../secret")
    (home / "absolute").symlink_to(secret)
    (home / "nowhere").symlink_to("gone")
    (home / "way").symlink_to(tmp_path)
    assert "leads out of the experiment's directory" in refusal(home, "./out")
    assert "is a symbolic link to" in refusal(home, "./absolute")
    assert "which is not there" in refusal(home, "./nowhere")
    assert "a directory on the way to way/secret is a symbolic link" in refusal(
        home, "./way/secret"
    )


def test_only_what_lies_beside_the_experiment_is_brought(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script(home / "client")
    script(tmp_path / "bin" / "tool")
    for word in (".", "..", "../..", "/etc/passwd"):
        with pytest.raises(ValueError, match=r"own directory|no path from the experiment's"):
            own_files.find(word, home)
    (home / "empty").mkdir()
    assert "empty has no file in it" in refusal(home, "./client", files=["empty"])
    subprocess.run(["mkfifo", home / "pipe"], check=True)
    assert "is no file, but a pipe, a socket or a device" in refusal(
        home, "./client", files=["pipe"]
    )
    package = home / "package"
    script(package / "__init__.py", mode=0o644)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_bytes(b"")
    found = loaded(home, "../bin/tool", files=["package"])
    assert [*found.own_files] == ["../bin/tool", "package/__init__.py"]
    planned = resolve(found, found.facts)
    assert planned["own_files"]["here"] == "experiment"
    own_files.pack(found.own_files, planned["own_files"], tmp_path / "files.tar")
    with tarfile.open(tmp_path / "files.tar") as archive:
        assert archive.getnames() == ["bin/tool", "experiment/package/__init__.py"]


def test_a_changed_program_makes_another_run(tmp_path: Path) -> None:
    client = script(tmp_path / "client")

    def planned() -> Any:
        experiment = loaded(tmp_path, "./client", "{to}")
        return resolve(experiment, experiment.facts)

    before = planned()
    assert before["flows"][0]["options"]["argv"] == ["./client", "{to}"]
    client.write_text("#!/bin/sh\necho other\n")
    assert planned()["own_files"] != before["own_files"]


def test_an_experiment_that_lies_elsewhere_finds_them(tmp_path: Path) -> None:
    """As a study keeps one: the program has the same name there."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    script(home / "client")
    script(tmp_path / "tool", mode=0o644)
    script(home / "lib" / "data", mode=0o644)
    elsewhere.mkdir()
    flow = {"argv": ["./client", "../tool", "data.csv"], "files": ["lib"]}
    there = rooted({"flows": [flow]}, home)["flows"][0]
    assert there == {
        "argv": [f"{home}/./client", f"{home}/./../tool", "data.csv"],
        "files": [f"{home}/./lib"],
    }
    assert rooted(there, elsewhere) == there
    assert rooted(["lib"], home, "flows.0.files") == [f"{home}/./lib"]
    varied = {"key": "flows.0.argv.0", "values": {"mine": "./client", "cat": "cat"}}
    assert vary.rooted({"program": varied}, home)["program"]["values"] == {
        "mine": f"{home}/./client",
        "cat": "cat",
    }
    found = loaded(elsewhere, *there["argv"], files=there["files"])
    assert [*found.own_files] == ["client", "../tool", "lib/data"]
    assert found.flows[0].options["argv"] == ["./client", "../tool", "data.csv"]
    shutil.copy(home / "client", elsewhere / "client")
    (elsewhere / "client").write_text("#!/bin/sh\n# another\n")
    with pytest.raises(UsageError, match="two files are called client"):
        own_files.together(
            [own_files.find("./client", home), own_files.find("./client", elsewhere)]
        )


@pytest.mark.parametrize(
    ("series", "said"),
    [
        ({}, "write one of pattern, json and iperf3"),
        ({"pattern": "a("}, "is no regular expression"),
        ({"pattern": r"(?P<t>\d+)"}, "names no group with a number"),
        ({"json": ["t"]}, "names no key with a number"),
        ({"pattern": "(?P<x>a)", "json": ["x"]}, "write one of pattern, json and iperf3"),
        ({"iperf3": []}, "is empty"),
    ],
)
def test_a_series_that_is_none_is_told(tmp_path: Path, series: object, said: str) -> None:
    told = refusal(tmp_path, "ls", series={"window": series})
    assert "flows[0].series.window" in told
    assert said in told


def test_a_server_has_no_time_of_its_own(tmp_path: Path) -> None:
    loaded(tmp_path, "ls", role="server")
    assert "flows[0].start: a server is there before the others" in refusal(
        tmp_path, "ls", role="server", start="100ms"
    )
    assert "flows[0].role: there is no role sever" in refusal(tmp_path, "ls", role="sever")
