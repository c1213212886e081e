"""A cluster of one node: the daemons of Debian's Slurm, in a directory of the test's own."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.install import builds, memory, setup_lab

PACKAGES = ("munge", "slurm-client", "slurmctld", "slurmd")
UP_WITHIN_S = 60.0
FILE = Path("/etc/slurm/slurm.conf")

CONFIGURATION = """
ClusterName=sandglass
SlurmctldHost={host}
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
NodeName={host} CPUs={processors} RealMemory={memory_mb} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which jobs are submitted.

    The executor hides what Slurm has in the environment from its jobs, so that they find the
    cluster by Slurm's own file, which is a link for as long as the tests last.
    """
    if os.geteuid() != 0:
        pytest.fail("slurmd wants root: run the tests of tests/slurm as root")
    if FILE.exists():
        pytest.fail(f"{FILE} is there: this machine belongs to a cluster")
    setup_lab.run(builds.ROOT / "setup" / "packages", *PACKAGES)
    setup_lab.executors()
    home = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (home / name).mkdir()
    (home / "munge.key").write_bytes(os.urandom(128))
    (home / "munge.key").chmod(0o600)
    (home / "slurm.conf").write_text(
        CONFIGURATION.format(
            home=home,
            host=socket.gethostname().partition(".")[0],
            processors=len(os.sched_getaffinity(0)),
            memory_mb=memory.available_mb(),
        )
    )
    FILE.unlink(missing_ok=True)  # a link that a killed test has left leads nowhere
    FILE.symlink_to(home / "slurm.conf")
    # the tests as a whole keep no runs, these are about what is kept
    environment = os.environ | {"SANDGLASS_RUNS_LIMIT": "1GB"}
    daemons = [
        start(home, environment, *command)
        for command in (
            (
                *("munged", "--foreground", "--force"),
                *(f"--{name}={home}/munge.{name.partition('-')[0]}" for name in MUNGE_FILES),
            ),
            ("slurmctld", "-D"),
            ("slurmd", "-D"),
        )
    ]
    try:
        wait_until_up(environment, home)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in daemons:
            daemon.wait()
        FILE.unlink()


MUNGE_FILES = ("key-file", "socket", "pid-file", "log-file", "seed-file")


def start(home: Path, environment: dict[str, str], *command: str) -> "subprocess.Popen[bytes]":
    path = shutil.which(command[0], path="/usr/sbin:/usr/bin")
    assert path, command[0]
    with (home / f"{command[0]}.out").open("wb") as out:
        return subprocess.Popen([path, *command[1:]], env=environment, stdout=out, stderr=out)


def wait_until_up(environment: dict[str, str], home: Path) -> None:
    """Until the node is idle; fails with the daemons' own words."""
    deadline = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < deadline:
        shown = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if shown.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(path.read_text()[-1000:] for path in sorted(home.glob("*.log")))
    pytest.fail(f"the node is {shown.stdout.strip() or shown.stderr.strip()}\n{logs}")
