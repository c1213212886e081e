"""A box of the name that the Vagrantfile asks for, made of Debian's packages, for libvirt.

A disk as Debian's own box has it: a boot loader, and one partition with bookworm and its kernel. It
is kept in the cache, below vagrant/, by this file and the kernel's version.
"""

import json
import shutil
import tarfile
import tempfile
import time
from pathlib import Path

from sandglass.install import builds
from tests.conftest import Say
from tests.vm import image
from tests.vm.image import command

NAME = "debian/bookworm64"
HERE = ("grub-pc-bin", "fdisk", "qemu-utils", "mmdebstrap", "vagrant")
PACKAGES = (*image.PACKAGES, "systemd-resolved")
DISK_GB = 16  # sparse
PARTITION_AT = 1 << 20
GRUB = Path("/usr/lib/grub/i386-pc")
GRUB_MODULES = ("biosdisk", "part_msdos", "ext2", "linux", "normal")
MENU = """linux /vmlinuz root=/dev/vda1 rw console=ttyS0 net.ifnames=0
initrd /initrd.img
boot
"""
NETWORK = """[Match]
Name=eth0
[Network]
DHCP=yes
"""
KEYS = Path("/usr/share/rubygems-integration/all/gems")
"""Where Debian has Vagrant, and in it the key that opens every new box."""
OWN = ("etc/ssl/certs/ca-certificates.crt", "etc/pip.conf")
"""Whom this machine trusts, and where it says so to pip: the one in it asks the same registry."""


def box(say: Say) -> Path:
    """The box's file; made when it is missing."""
    kernel = image.newest_kernel()
    sources = [Path(__file__).resolve(), Path(image.__file__).resolve()]
    made = builds.directory() / "vagrant" / f"{builds.fingerprint(sources, kernel)}.box"
    if made.exists():
        return made
    shutil.rmtree(made.parent, ignore_errors=True)
    made.parent.mkdir(parents=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        make_box(Path(scratch)).rename(made)
    say(f"{time.monotonic() - start:5.0f} s  box of {image.SUITE} with Linux {kernel}")
    return made


def make_box(scratch: Path) -> Path:
    """Make the box's file from Debian's packages."""
    root, disk, grub = scratch / "root", scratch / "disk", scratch / "grub"
    [key] = KEYS.glob("vagrant-[0-9]*/keys/vagrant.pub")
    image.make_root(root, PACKAGES, key.read_text(), NETWORK)
    for name in OWN:
        if Path("/", name).exists():
            shutil.copy(Path("/", name), root / name)
    (root / "boot/grub").mkdir()
    (root / "boot/grub/grub.cfg").write_text(MENU)
    space = (DISK_GB << 30) - PARTITION_AT
    layout = ("-E", f"offset={PARTITION_AT}")
    command("mke2fs", "-q", "-t", "ext4", *layout, "-d", str(root), str(disk), f"{space >> 10}k")
    with disk.open("r+b") as opened:
        opened.truncate(DISK_GB << 30)
    command("sfdisk", "--quiet", str(disk), text=f"start={PARTITION_AT >> 9}, bootable\n")
    prefix = ("--prefix", "(hd0,msdos1)/boot/grub", "--output", str(grub))
    command("grub-mkimage", "--format=i386-pc", *prefix, *GRUB_MODULES)
    with disk.open("r+b") as opened:  # the loader begins before the table, and goes on after it
        opened.write((GRUB / "boot.img").read_bytes()[:440])
        opened.seek(512)
        opened.write(grub.read_bytes())
    command("qemu-img", "convert", "-O", "qcow2", str(disk), str(scratch / "box.img"))
    about = {"provider": "libvirt", "format": "qcow2", "virtual_size": DISK_GB}
    (scratch / "metadata.json").write_text(json.dumps(about))
    (scratch / "Vagrantfile").write_text('Vagrant.configure("2") { |config| }\n')
    with tarfile.open(scratch / "box", "w:gz", compresslevel=1) as tar:
        for name in ("metadata.json", "Vagrantfile", "box.img"):
            tar.add(scratch / name, name)
    return scratch / "box"
