"""The virtual machine's image: Debian bookworm and its kernel, 6.1, from Debian's packages.

It is kept in the cache, below vm/, by this file and the kernel's version: a disk, the kernel and
initrd that are in it, and the ssh key of its user, who has sudo as in a box of Vagrant's.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from sandglass.errors import SandglassError
from sandglass.install import builds, debian
from tests.conftest import Say

SUITE = "bookworm"
PACKAGES = (
    *("linux-image-amd64", "systemd-sysv", "udev", "dbus"),
    *("openssh-server", "sudo", "ca-certificates", "rsync"),
)
USER = "vagrant"
DISK_SIZE = "12G"  # sparse
NETWORK = """[Match]
Name=en*
[Network]
DHCP=yes
"""
NAME_SERVER = "10.0.2.3"  # QEMU's own


def image(say: Say) -> Path:
    """The directory of the machine's disk, kernel, initrd and ssh key; made when it is missing."""
    kernel = newest_kernel()
    home = builds.directory() / "vm" / builds.fingerprint([Path(__file__).resolve()], kernel)
    if home.exists():
        return home
    # one of an earlier kernel is of no use: Debian has its headers no more
    shutil.rmtree(home.parent, ignore_errors=True)
    home.parent.mkdir(parents=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        product = Path(scratch) / "image"
        product.mkdir()
        make_image(product, Path(scratch) / "root")
        product.rename(home)
    say(f"{time.monotonic() - start:5.0f} s  image of {SUITE} with Linux {kernel}")
    return home


def newest_kernel() -> str:
    """The version of the suite's kernel package."""
    options = debian.private_apt(SUITE)
    debian.apt("apt-get", "update", options=options, folder=Path("/"))
    found = debian.apt(
        "apt-cache", "madison", "linux-image-amd64", options=options, folder=Path("/")
    )
    return found.partition("|")[2].partition("|")[0].strip()


def make_image(product: Path, root: Path) -> None:
    """Make the directory `product` from Debian's packages, unpacked in `root`."""
    key = product / "key"
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    make_root(root, PACKAGES, key.with_suffix(".pub").read_text(), NETWORK)
    (root / "etc/resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
    for name in ("vmlinuz", "initrd"):
        shutil.copy(next((root / "boot").glob(f"{name}*")), product / name)
    make_disk(root, product / "disk.ext4", DISK_SIZE)
    shutil.rmtree(root)


def make_root(root: Path, packages: Iterable[str], key: str, network: str) -> None:
    """A Debian system in `root`, with a user whom an ssh key lets in and who may do everything."""
    sources = debian.private_sources(SUITE).replace(" non-free", "")
    wanted = f"--include={','.join(packages)}"
    command("mmdebstrap", "--variant=minbase", wanted, SUITE, str(root), "-", text=sources)
    command("useradd", f"--root={root}", "--create-home", "--shell=/bin/bash", USER)
    files = {
        f"home/{USER}/.ssh/authorized_keys": key,
        f"etc/sudoers.d/{USER}": f"{USER} ALL=(ALL) NOPASSWD: ALL\n",
        "etc/hostname": "sandglass\n",
        "etc/hosts": "127.0.0.1 localhost sandglass\n",
        "etc/systemd/network/80-qemu.network": network,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    own = (root / f"home/{USER}").stat()
    for path in (root / f"home/{USER}").rglob("*"):
        os.chown(path, own.st_uid, own.st_gid)
    command("systemctl", f"--root={root}", "enable", "systemd-networkd.service")


def make_disk(content: Path, target: Path, size: str) -> None:
    """A disk with one file system and these files; no loop device is needed."""
    command("mke2fs", "-q", "-t", "ext4", "-d", str(content), str(target), size)


def command(*words: str, text: str | None = None) -> None:
    """Run a tool; raises SandglassError with its last words."""
    done = subprocess.run(
        words,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SandglassError(f"{words[0]} failed", "\n".join(done.stdout.splitlines()[-15:]))
