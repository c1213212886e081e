"""A virtual machine with Debian bookworm, which QEMU runs in software emulation.

Upon its image lies, kept too, what `./sandglass setup --system` has installed in the machine
itself. What a test does goes into a layer of its own upon both, which is thrown away.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds, labs, setup_lab
from tests.conftest import Say
from tests.vm.image import USER, command, image, make_disk

HERE = ("qemu-system-x86", "qemu-utils", "mmdebstrap", "openssh-client", "rsync")
PYTHON_SIZE = "3G"
MEMORY_MB = 4096
PROCESSORS = 2
BOOT_S = 900
STEP_S = 3600
OFF_S = 300


class Machine:
    """A running virtual machine, as its user sees it."""

    def __init__(self, port: int, key: Path, say: Say) -> None:
        options = {
            "Port": port,
            "IdentityFile": key,
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
            "ConnectTimeout": 20,
        }
        self._ssh = ["ssh", *(f"-o{key}={value}" for key, value in options.items())]
        self._where = f"{USER}@127.0.0.1"
        self._say = say

    def run(self, script: str, timeout_s: float = STEP_S) -> subprocess.CompletedProcess[str]:
        """Run a shell script as the user; standard output and error come as one text."""
        return subprocess.run(
            [*self._ssh, self._where, script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def must(self, script: str, said: str | None = None) -> str:
        """Run a script that has to succeed, and say how long it took; returns what it printed."""
        start = time.monotonic()
        done = self.run(script)
        self._say(f"{time.monotonic() - start:5.0f} s  {said or script}")
        assert done.returncode == 0, f"{script}: status {done.returncode}\n{done.stdout}"
        return done.stdout

    def send_checkout(self) -> None:
        """Copy this checkout into the user's home, as Vagrant does."""
        left_out = (f"--exclude=/{name}/" for name in (".git", ".snakemake", "results"))
        self._rsync("--delete", *left_out, f"{builds.ROOT}/", f"{self._where}:sandglass/")

    def send_lab(self, scratch: Path) -> None:
        """Have the machine take the lab in use here, whose Mininet and netperf its runs need."""
        setup_lab.lab()
        file = scratch / "sandglass.lab"
        file.unlink(missing_ok=True)
        labs.export(builds.lab(), file)
        self._rsync(str(file), f"{self._where}:")
        file.unlink()
        self.must("./sandglass/sandglass lab import sandglass.lab && rm sandglass.lab")

    def fetch(self, directory: str, target: Path) -> None:
        """Copy a directory below the user's home to `target`."""
        self._rsync(f"{self._where}:{directory}/", f"{target}/")

    def _rsync(self, *words: str) -> None:
        command = ["rsync", "--archive", "--no-owner", f"--rsh={' '.join(self._ssh)}", *words]
        subprocess.run(command, check=True)


@contextmanager
def booted(console: Path, say: Say) -> Iterator[Machine]:
    """A machine with the Debian packages of set-up, this checkout, a Python environment and a lab.

    Raises SandglassError: not root, something that cannot be installed, or no answer in time.
    """
    install_packages()
    home = image(say)
    disk = with_packages(home, console, say)
    with layer_upon(disk) as layer, running(home, layer, console, say) as machine:
        machine.send_checkout()
        # That of this machine, which is the same there where it has bookworm too. Otherwise
        # ./sandglass makes one in the machine, which takes long.
        python = f".cache/sandglass/venv/{Path(sys.prefix).name}"
        machine.must(f"mkdir -p {python} && sudo mount /dev/vdb {python}")
        machine.send_lab(home)
        yield machine


def install_packages() -> None:
    """Install what the virtual machine is made and run with."""
    if os.geteuid() != 0:
        raise SandglassError("only root can make the virtual machine's image", "Use sudo -E.")
    done = subprocess.run([builds.ROOT / "setup" / "packages", *HERE], check=False)
    if done.returncode:
        raise SandglassError(f"the virtual machine needs the packages {' '.join(HERE)}")


def with_packages(home: Path, console: Path, say: Say) -> Path:
    """The image with the packages of `setup --system` installed."""
    sources = sorted((builds.ROOT / "setup").glob("packages*"))
    disk = home / f"packages-{builds.fingerprint(sources)}.qcow2"
    if not disk.exists():
        for other in home.glob("packages-*"):
            other.unlink()
        with layer_upon(home / "disk.ext4") as layer:
            with running(home, layer, console, say) as machine:
                machine.send_checkout()
                machine.must("sudo ./sandglass/sandglass setup --system")
            layer.rename(disk)
    return disk


@contextmanager
def layer_upon(disk: Path) -> Iterator[Path]:
    """A disk that takes what is written, upon one that stays as it is."""
    with tempfile.TemporaryDirectory(dir=disk.parent) as scratch:
        layer = Path(scratch) / "layer.qcow2"
        below = ("-b", str(disk), "-F", "qcow2" if disk.suffix == ".qcow2" else "raw")
        command("qemu-img", "create", "-q", "-f", "qcow2", *below, str(layer))
        yield layer


@contextmanager
def running(home: Path, disk: Path, console: Path, say: Say) -> Iterator[Machine]:
    """The machine, from the time when it answers until it is switched off; its console is kept."""
    python = disk.with_name("python.ext4")
    make_disk(Path(sys.prefix), python, PYTHON_SIZE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        emulator(home, disk, python, console, port),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        machine = Machine(port, home / "key", say)
        try:
            wait_for(machine, process, console, say)
            yield machine
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.run("sudo systemctl poweroff")
                process.wait(OFF_S)
        finally:
            process.kill()


def emulator(home: Path, disk: Path, python: Path, console: Path, port: int) -> list[str]:
    """QEMU's command line."""
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", str(PROCESSORS), "-m", str(MEMORY_MB), "-nodefaults", "-display", "none"),
        *("-no-reboot", "-serial", f"file:{console}", "-device", "virtio-rng-pci"),
        *("-kernel", str(home / "vmlinuz"), "-initrd", str(home / "initrd")),
        *("-append", "root=/dev/vda rw console=ttyS0 panic=-1"),
        *("-drive", f"file={disk},format=qcow2,if=virtio,cache=unsafe"),
        *("-drive", f"file={python},format=raw,if=virtio,cache=unsafe"),
        *("-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{port}-:22"),
        *("-device", "virtio-net-pci,netdev=net,romfile="),
    ]


def wait_for(machine: Machine, process: subprocess.Popen[str], console: Path, say: Say) -> None:
    """Wait until the machine answers; raises SandglassError when it does not."""
    start = time.monotonic()
    while process.poll() is None and time.monotonic() - start < BOOT_S:
        with contextlib.suppress(subprocess.TimeoutExpired):
            if machine.run("true", timeout_s=60).returncode == 0:
                say(f"{time.monotonic() - start:5.0f} s  boot")
                return
        time.sleep(1)
    said = process.stderr.read() if process.poll() is not None and process.stderr else ""
    raise SandglassError("the virtual machine does not answer", f"{said}\nconsole: {console}")
