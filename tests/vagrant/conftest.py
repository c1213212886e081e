"""The machine that the Vagrantfile describes, as its tests get it."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sandglass.install import builds, labs, setup_lab
from tests.conftest import Say, copy_checkout
from tests.vagrant import box

LIBVIRT = ("libvirt-daemon-system", "libvirt-clients", "dnsmasq-base")  # the last for its networks
PACKAGES = (*box.HERE, "vagrant-libvirt", *LIBVIRT)
DAEMONS = ("virtlogd", "libvirtd")
UP_WITHIN_S = 60.0
# Vagrant reads it before the checkout's own
SETTINGS = """Vagrant.configure("2") do |config|
  config.vm.boot_timeout = 1200
  config.vm.provider(:libvirt) { |machine| machine.driver = "qemu" }
end
"""


class Machine:
    """A checkout with a Vagrantfile, and the words that Vagrant is given in it."""

    def __init__(self, checkout: Path, home: Path, say: Say) -> None:
        self.checkout = checkout
        self._environment = os.environ | {"VAGRANT_HOME": str(home), "LANG": "C.UTF-8"}
        self._say = say

    def vagrant(self, *words: str) -> str:
        """Have Vagrant do something that has to succeed; returns what it said."""
        start = time.monotonic()
        done = subprocess.run(
            ["vagrant", *words],
            cwd=self.checkout,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self._say(f"{time.monotonic() - start:5.0f} s  vagrant {' '.join(words)}")
        assert done.returncode == 0, f"{words}: status {done.returncode}\n{done.stdout[-5000:]}"
        return done.stdout

    def run(self, script: str) -> str:
        """Run a script in the checkout's copy in the machine."""
        return self.vagrant("ssh", "-c", f"cd sandglass && {script}")


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory, say: Say) -> Iterator[Machine]:
    """One that is up, of a copy of this checkout with the lab in use as a file beside it."""
    if os.geteuid() != 0:
        pytest.fail("the box is made by root: run the tests of tests/vagrant as root")
    setup_lab.run(builds.ROOT / "setup" / "packages", *PACKAGES)
    made = box.box(say)
    scratch = tmp_path_factory.mktemp("vagrant")
    checkout, home = copy_checkout(scratch / "sandglass-tests"), scratch / "home"
    home.mkdir()
    (home / "Vagrantfile").write_text(SETTINGS)
    (checkout / "sandglass.lab").unlink(missing_ok=True)
    labs.export(builds.lab(), checkout / "sandglass.lab")
    machine = Machine(checkout, home, say)
    with libvirt(scratch), no_new_volumes():
        machine.vagrant("box", "add", "--name", box.NAME, str(made))
        try:
            machine.vagrant("up", "--provider", "libvirt")
            yield machine
        finally:
            machine.vagrant("destroy", "--force")


@contextmanager
def libvirt(scratch: Path) -> Iterator[None]:
    """Libvirt answers: its daemons run, which are started where systemd has not."""
    with ExitStack() as started:
        if not answers():
            for name in DAEMONS:
                log = started.enter_context((scratch / f"{name}.log").open("w"))
                command = [f"/usr/sbin/{name}"]
                daemon = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
                started.callback(daemon.wait)
                started.callback(daemon.terminate)
            start = time.monotonic()
            while not answers():
                assert time.monotonic() - start < UP_WITHIN_S, f"libvirtd: see {scratch}"
                time.sleep(0.5)
            started.callback(end_networks)
        yield


def end_networks() -> None:
    """Stop the networks, whose name servers would outlive the daemon."""
    for name in subprocess.check_output(["virsh", "net-list", "--name"], text=True).split():
        subprocess.run(["virsh", "net-destroy", name], check=True, stdout=subprocess.DEVNULL)


def answers() -> bool:
    """Whether libvirt's system daemon does."""
    return subprocess.run(["virsh", "uri"], capture_output=True, check=False).returncode == 0


@contextmanager
def no_new_volumes() -> Iterator[None]:
    """Of the boxes' images that libvirt is given meanwhile, none stays."""
    before = volumes()
    try:
        yield
    finally:
        for name in volumes() - before:
            subprocess.run(["virsh", "vol-delete", "--pool", "default", name], check=True)


def volumes() -> set[str]:
    """The names of libvirt's images in the pool that Vagrant uses, which it makes if need be."""
    done = subprocess.run(
        ["virsh", "vol-list", "default"], capture_output=True, text=True, check=False
    )
    return {line.split()[0] for line in done.stdout.splitlines()[2:] if line.strip()}
