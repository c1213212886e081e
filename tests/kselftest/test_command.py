"""`sandglass kselftest` on a tree of its own, and on that of the lab's kernel."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sandglass.install import builds
from sandglass.selftests import running
from sandglass.terminal import INTERRUPTED
from tests.lab.conftest import NEWER, Cli, command

pytestmark = pytest.mark.lab
LISTED = """
- tests: ["net:fails.sh"]
  verdict: fail
  why: it is broken
- tests: ["net:skips.sh"]
  verdict: skip
  why: the lab lacks the tool
- tests: ["net:passes.sh"]
  verdict: fail
  why: it was broken
- tests: ["net:partly.sh"]
  verdict: fail
  cases: [second]
  why: only its second part is broken
- tests: ["net:sleeps.sh"]
  kernels: ["1.0"]
  verdict: fail
  why: in another kernel
- tests: ["net:writes.sh"]
  verdict: slow
  why: it takes hours
"""


def test_each_test_is_told_of_as_it_ends(sandglass: Cli, tree: Path, tmp_path: Path) -> None:
    words = ("--tree", tree, "--json", "all.json", "--known", _none(tmp_path))
    done = sandglass("kselftest", "net", *words, SANDGLASS_WATCHDOG="5")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "TAP version 14"
    assert "1..10" in lines
    release = builds.lab_kernel().release
    for line in (
        "ok 1 - net:built",
        "ok 2 - net:draws.sh",
        "not ok 3 - net:fails.sh",
        "not ok 4 - net:partly.sh",
        "    1..3",
        "    not ok 2 - second",
        "    ok 3 - third # SKIP for want of it",
        "ok 5 - net:passes.sh",
        "ok 6 - net:skips.sh # SKIP no such tool",
        "not ok 7 - net:sleeps.sh",
        "  why: it has not ended after 100 s of virtual time",
        "not ok 8 - net:spins.sh",
        "ok 9 - net:unbuilt # SKIP it is not built: no_such.h: No such file or directory",
        "ok 10 - net:writes.sh",
    ):
        assert line in lines
    assert "net:spins.sh fails: the lab has said nothing for 5 s and was ended" in done.stderr
    assert "net:sleeps.sh fails: it has not ended after 100 s of virtual time" in done.stderr
    document = json.loads((tmp_path / "all.json").read_text())
    said = {each["test"]: each for each in document["tests"]}
    assert said["built"]["said"] == f"{release}\n"
    assert said["fails.sh"]["said"] == "it is broken # so\n"
    assert 100 < said["sleeps.sh"]["virtual_s"] < 101
    assert [case["name"] for case in said["passes.sh"]["cases"]] == ["one", "two"]


def test_what_the_list_has_is_no_failure(sandglass: Cli, tree: Path, tmp_path: Path) -> None:
    listed = tmp_path / "known.yaml"
    listed.write_text(LISTED)
    tests = [f"net:{name}.sh" for name in ("fails", "partly", "passes", "skips")]
    done = sandglass("kselftest", *tests, "--tree", tree, "--known", listed)
    assert done.returncode == 0, done.stderr
    for line in (
        "not ok 1 - net:fails.sh # TODO it is broken",
        "not ok 2 - net:partly.sh # TODO only its second part is broken",
        "ok 3 - net:passes.sh # TODO it passes, though the list says: it was broken",
        "ok 4 - net:skips.sh # SKIP the lab lacks the tool",
    ):
        assert line in done.stdout.splitlines()
    assert "net:passes.sh passes, though the list of known failures has it" in done.stderr
    done = sandglass("kselftest", "net:sleeps.sh", "--tree", tree, "--known", listed)
    assert done.returncode == 1, "the list has it of another kernel"


def test_what_is_slow_runs_if_it_is_named(sandglass: Cli, tree: Path, tmp_path: Path) -> None:
    listed = tmp_path / "known.yaml"
    listed.write_text(LISTED)
    words = ("kselftest", "--tree", tree, "--known", listed)
    said = sandglass(*words, "net:writes.sh").stdout.splitlines()
    assert "ok 1 - net:writes.sh" in said
    said = sandglass(*words, "net", SANDGLASS_WATCHDOG="5").stdout.splitlines()
    assert "ok 10 - net:writes.sh # SKIP it takes hours; it runs if it is named" in said


def test_who_interrupts_it_finds_nothing_left(tree: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = command(builds.ROOT, "kselftest", "net:spins.sh", "net:passes.sh", "--tree", tree)
    environment = os.environ | {"TMPDIR": str(scratch)}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while not list(scratch.glob(f"{running.SCRATCH}*/*/test.json")):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert not list(scratch.iterdir())


def test_runs_are_equal_to_the_byte(sandglass: Cli, tree: Path) -> None:
    words = ("kselftest", "net:draws.sh", "net:writes.sh", "--tree", tree, "--repeat", "3")
    done = sandglass(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    again = sandglass(*words)
    assert again.stdout == done.stdout
    other = sandglass(*words, "--seed", "2")
    assert other.returncode == 0
    assert other.stdout != done.stdout


def test_packetdrill_is_built_of_a_directory_or_an_archive(
    sandglass: Cli, tree: Path, packetdrill: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for part in ("kernels", "roots", "images"):  # all but what is built of tests
        (cache / part).symlink_to(builds.directory() / part)

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        words = ("kselftest", "packetdrill", "--tree", tree, *words)
        return sandglass(*words, SANDGLASS_CACHE=str(cache))

    without = run()
    assert without.returncode == 0
    assert "# packetdrill: left out: there is no packetdrill yet" in without.stdout
    assert "1..0" in without.stdout.splitlines()
    first = run("--packetdrill", packetdrill)
    assert first.returncode == 1, first.stdout + first.stderr
    assert "ok 1 - packetdrill:tcp_a.pkt" in first.stdout.splitlines()
    assert "not ok 2 - packetdrill:tcp_b.pkt" in first.stdout.splitlines()
    archive = shutil.make_archive(str(tmp_path / "drill"), "gztar", packetdrill)
    assert run("--packetdrill", archive).stdout == first.stdout
    assert run().stdout == first.stdout, "what was built last is used again"
    (tmp_path / "empty").mkdir()
    refused = run("--packetdrill", tmp_path / "empty")
    assert refused.returncode == 2
    assert "has no source of packetdrill" in refused.stderr


def test_targets_are_listed_with_what_the_kernel_has_not(sandglass: Cli, tree: Path) -> None:
    listed = sandglass("kselftest", "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [
        "packetdrill", "tc-testing", "net", "mptcp", "kunit",
    ]  # fmt: skip
    assert "without CONFIG_KUNIT" in listed[-1]
    tests = sandglass("kselftest", "--list", "net", "--tree", tree).stdout.splitlines()
    assert "net:passes.sh" in tests
    assert len(tests) == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nett",), "nett is no target, did you mean 'net'?"),
        (("net:passes",), "net has no test passes, did you mean 'passes.sh'?"),
    ],
)
def test_a_name_that_there_is_not_is_told(
    sandglass: Cli, tree: Path, words: tuple[str, ...], said: str
) -> None:
    done = sandglass("kselftest", *words, "--tree", tree)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_directory_that_is_no_kernels_tree_is_refused(sandglass: Cli, tmp_path: Path) -> None:
    done = sandglass("kselftest", "net", "--tree", tmp_path)
    assert done.returncode == 2
    assert "is no kernel's tree" in done.stderr


def test_nothing_that_make_runs_leaves_the_cage(sandglass: Cli, tree: Path, tmp_path: Path) -> None:
    makefile = tree / "tools/testing/selftests/net/Makefile"
    escape = f"$(shell echo x > {tmp_path}/out; cat {tmp_path}/secret)\n"
    (tmp_path / "secret").write_text("TEST_PROGS := found.sh\n")
    makefile.write_text(escape + makefile.read_text())
    done = sandglass("kselftest", "--list", "net", "--tree", tree)
    assert "net:passes.sh" in done.stdout.splitlines()
    assert "found.sh" not in done.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_tests_of_the_labs_own_source_pass_and_repeat(sandglass: Cli) -> None:
    tests = ("net:netns-name.sh", "net:fib_nexthop_nongw.sh", "net:bind_timewait", "net:tun")
    done = sandglass("kselftest", *tests, "--repeat", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nok ") == 4


@pytest.mark.newer
def test_tests_of_the_newer_kernel_pass(sandglass: Cli) -> None:
    done = sandglass("kselftest", "net:bind_wildcard", "net:netns-name.sh", "--kernel", NEWER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Linux 7.2" in done.stdout
    assert "ok 1 - net:bind_wildcard" in done.stdout.splitlines()
    assert "not ok 2 - net:netns-name.sh # TODO the kernel has no netdevsim" in done.stdout


def _none(folder: Path) -> Path:
    """A list that has nothing."""
    path = folder / "none.yaml"
    path.write_text("[]\n")
    return path
