"""What goes wrong while an experiment runs: one message, status 1, and nothing that looks like a
result."""

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import SandglassError
from sandglass.experiment import reading
from sandglass.install import builds, setup_lab
from sandglass.lab import lab
from sandglass.run import runs
from tests.lab.conftest import NEWER, Cli, command
from tests.lab.experiments import Mapped, bulk, dumbbell, flow, run, written

pytestmark = pytest.mark.lab
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
BROKEN_WORKLOAD = """
def check(flow, lab):
    pass


def run(flow, lab):
    lab.clock.sleep_until(1_000_000_000)
    {statement}
"""
OWN_TOPOLOGY = """
from mininet.topo import Topo


class Odd(Topo):
    def build(self):
        for host, ip in (("a", "10.0.0.1/24"), ("b", "10.0.0.2/24")):
            self.addHost(host, ip=ip)
        self.addLink("a", "b", bottleneck="link")


topos = {"odd": Odd}
"""


def short(*flows: Mapped, **keys: Any) -> Mapped:
    """An experiment of 3 s."""
    return dumbbell(*(flows or [bulk()]), **({"queue": {"kind": "codel"}, "duration": "3s"} | keys))


def check_failed(done: "subprocess.CompletedProcess[str]", out: Path, *said: str) -> None:
    """One message that says what is wrong; the console is kept, and there is no result."""
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("sandglass: ")
    assert done.stderr.count("sandglass: ") == 1
    assert "Traceback" not in done.stderr + done.stdout
    for text in said:
        assert text in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) <= 8
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}.*")), "what the run began is gone"
    failed = Path(f"{out}.failed")
    assert (failed / "plan.json").is_file()
    assert (failed / "console.log").is_file()
    assert str(failed / "console.log") in done.stderr
    assert not (failed / "run.json").exists()


def test_what_is_plain_from_the_file_is_found_before_the_start(
    sandglass: Cli, tmp_path: Path
) -> None:
    experiment = short(queue={"kind": "codel", "target": "banana"})
    done = sandglass("run", written(experiment, tmp_path / "e.yaml"), "--out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert "bottleneck.queue.target: banana" in done.stderr
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (short(queue={"kind": "sfq", "divisor": 3}), ["divisor", "r1"]),
        (short(hosts={"s1": {"sysctls": {"net.ipv4.tcp_nonsense": 1}}}), ["tcp_nonsense", "s1"]),
        (short(hosts={"s1": {"sysctls": {"net.ipv4.tcp_sack": "often"}}}), ["tcp_sack", "often"]),
        (short(flow("flent:no_such_test")), ["no_such_test", "tcp_upload"]),
    ],
    ids=["tc-refuses", "sysctl-unknown", "sysctl-value", "flent-test"],
)
def test_what_the_kernel_or_a_program_refuses(
    sandglass: Cli, tmp_path: Path, experiment: Mapped, said: list[str]
) -> None:
    out = tmp_path / "out"
    done = sandglass("run", written(experiment, tmp_path / "e.yaml"), "--out", out)
    check_failed(done, out, *said)


def test_a_congestion_control_that_the_kernel_lacks(tmp_path: Path) -> None:
    """The reader of the file knows better; a module that is not built gets as far as this."""
    source = written(short(), tmp_path / "e.yaml")
    experiment = reading.load(source)
    flows = [each.model_copy(update={"cc": "absent"}) for each in experiment.flows]
    changed = experiment.model_copy(update={"flows": flows})
    changed._facts = experiment.facts
    with pytest.raises(SandglassError, match="congestion control absent") as caught:
        runs.run(changed, source, tmp_path / "out")
    assert caught.value.exit_code == 1
    assert "cubic" in (caught.value.hint or "")
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.failed" / "console.log").is_file()


def test_a_workload_that_raises_is_named_with_its_error(
    sandglass: Cli, checkout: Path, tmp_path: Path
) -> None:
    statement = "raise ValueError('out of apples')"
    (checkout / "workloads" / "apples.py").write_text(BROKEN_WORKLOAD.format(statement=statement))
    out = tmp_path / "out"
    source = written(short(bulk(), flow("apples")), tmp_path / "e.yaml")
    done = sandglass("run", source, "--out", out, root=checkout)
    check_failed(done, out, "flow 2", "apples", "out of apples")
    assert "Traceback" in (tmp_path / "out.failed" / "console.log").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "release", [builds.DEFAULT_KERNEL, pytest.param(NEWER, marks=pytest.mark.newer)]
)
def test_a_program_with_its_memory_in_too_many_pieces(
    sandglass: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    """Each page of zeros that is read is one, though it takes no memory."""
    monkeypatch.setenv("SANDGLASS_KERNEL", release)
    setup_lab.lab()
    zeros = "mmap.mmap(-1, 300 << 20, flags=0x4022, prot=mmap.PROT_READ)"  # MAP_NORESERVE
    statement = f"import mmap; zeros = {zeros}; [zeros[at] for at in range(0, 300 << 20, 4096)]"
    (tmp_path / "broken.py").write_text(BROKEN_WORKLOAD.format(statement=statement))
    file = written(short(flow("broken.py")), tmp_path / "e.yaml")
    done = sandglass("run", file, "--out", tmp_path / "out")
    check_failed(done, tmp_path / "out", "memory in more pieces", "vm.max_map_count")


def test_a_lab_that_hangs_is_ended(sandglass: Cli, checkout: Path, tmp_path: Path) -> None:
    """A busy loop stops virtual time."""
    text = BROKEN_WORKLOAD.format(statement="while True: pass")
    (checkout / "workloads" / "forever.py").write_text(text)
    out = tmp_path / "out"
    source = written(short(flow("forever")), tmp_path / "e.yaml")
    done = sandglass("run", source, "--out", out, root=checkout, SANDGLASS_WATCHDOG="3")
    check_failed(done, out, "said nothing for 3 s", "program python3 may wait in a busy loop")


def test_a_topology_whose_hosts_do_not_reach_each_other(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(OWN_TOPOLOGY.replace("10.0.0.2", "10.0.9.2"))
    experiment = short(bulk("a", "b")) | {"topology": "odd.py"}
    out = tmp_path / "out"
    done = sandglass("run", written(experiment, tmp_path / "e.yaml"), "--out", out)
    check_failed(done, out, "b")


def test_a_missing_program_is_named(sandglass: Cli, tmp_path: Path) -> None:
    """By a workload that wants one which the lab has not, whatever the machine has."""
    text = 'PROGRAMS = {"no-such-program": None}\n' + BROKEN_WORKLOAD.format(statement="pass")
    (tmp_path / "needy.py").write_text(text)
    source = written(short(flow("needy.py")), tmp_path / "e.yaml")
    done = sandglass("run", source, "--out", tmp_path / "out")
    check_failed(done, tmp_path / "out", "no-such-program", "packages: [NAME]")


NO_MOUNT = 77
ON_A_SMALL_DISK = f"""
exec 3<"$0"
mount -t tmpfs -o size=1m tmpfs "$0" || exit {NO_MOUNT}
"$@"
status=$?
cp -a "$0/." /proc/self/fd/3/
exit $status
"""
"""Runs a command that sees a file system of 1 MB in a directory, and leaves there what is on it."""


def apart() -> list[str]:
    """unshare, so that what is mounted is seen by its command alone.

    Where "/" is no mount, as in a chroot, it can be made private only by having been so.
    """
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        if " shared:" in Path("/proc/self/mountinfo").read_text():
            pytest.skip("a mount here would be seen elsewhere")
        return ["unshare", "--mount", "--propagation", "unchanged"]
    return ["unshare", "--mount"]


@NEEDS_ROOT
def test_a_full_disk(tmp_path: Path) -> None:
    """In mounts of its own: the machine's stay as they are."""
    out = tmp_path / "small" / "out"
    out.parent.mkdir()
    run = command(builds.ROOT, "run", written(short(duration="20s"), tmp_path / "e.yaml"))
    done = subprocess.run(
        [*apart(), "sh", "-c", ON_A_SMALL_DISK, out.parent, *run, "--out", out],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_MOUNT:
        pytest.skip("this container may not mount a file system")
    check_failed(done, out, "No space left on device")


@pytest.mark.parametrize("place", ["file/out", "/proc/out", "/proc/sys/out"])
def test_a_place_where_nothing_can_be_written(sandglass: Cli, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no directory")
    source = written(short(), tmp_path / "e.yaml")
    done = sandglass("run", source, "--out", tmp_path / place)
    assert done.returncode == 1
    assert done.stderr.startswith("sandglass: cannot write results to ")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write and read anything")
def test_without_permission(sandglass: Cli, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    source = written(short(), tmp_path / "e.yaml")
    done = sandglass("run", source, "--out", closed / "out")
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    source.chmod(0)
    done = sandglass("run", source, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert str(source) in done.stderr


def test_what_is_no_run_is_not_replaced(sandglass: Cli, tmp_path: Path) -> None:
    precious = tmp_path / "out"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    done = sandglass("run", written(short(), tmp_path / "e.yaml"), "--out", precious)
    assert done.returncode == 2
    assert (precious / "thesis.tex").read_text() == "years of work"


def test_a_failed_run_leaves_the_earlier_result_alone(sandglass: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = written(short(), tmp_path / "e.yaml")
    assert sandglass("run", source, "--out", out).returncode == 0
    kept = (out / "run.json").read_text()
    bad = written(short(hosts={"s1": {"sysctls": {"net.ipv4.tcp_nonsense": 1}}}), source)
    done = sandglass("run", bad, "--out", out)
    assert done.returncode == 1
    assert (out / "run.json").read_text() == kept
    written(short(), source)
    assert sandglass("run", source, "--out", out).returncode == 0
    assert not Path(f"{out}.failed").exists()


@pytest.mark.parametrize("used", [lab.FIRST_DOOR + n for n in (-6, -4, -2, 4)])
def test_a_process_with_many_open_files_runs_a_lab(used: int, tmp_path: Path) -> None:
    """What the lab inherits gets numbers that the process has in use, or would use next."""
    with contextlib.ExitStack() as stack:
        while stack.enter_context(Path(os.devnull).open()).fileno() < used:
            pass
        result = run(dumbbell(bulk(size="10kB"), queue={"kind": "codel"}, duration="1s"), tmp_path)
    assert result.content["flows"][0]["bytes"] == 10_000
