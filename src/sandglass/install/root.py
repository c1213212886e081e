"""The lab's own root file system: Debian packages, unpacked without root, of which nothing is run.

What runs in the lab is decided by this list and this suite, and not by the machine that the lab
runs on: the same programs on every host, whatever is installed there.
"""

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from sandglass.errors import SandglassError
from sandglass.install import builds, debian, maintainers

LEFT_OUT = ("doc-base", "info", "lintian", "locale", "man")
"""Folders of /usr/share that no program reads; licences (doc/*/copyright) stay."""
DOCUMENTED = ("mininet",)
"""Packages whose documentation stays: Mininet's has its examples and their tests."""
COPIES = {
    "etc/passwd": "usr/share/base-passwd/passwd.master",
    "etc/group": "usr/share/base-passwd/group.master",
    "etc/nsswitch.conf": "usr/share/libc-bin/nsswitch.conf",
}
"""Files that maintainers' scripts copy before all others, or that a lab's start makes."""
PAM = ("account", "auth", "password", "session", "session-noninteractive")
"""What pam-auth-update writes: files of /etc/pam.d that all others include."""
PAM_PROFILE = "usr/share/pam-configs/unix"
PERMITTED = "{}\t[default=1]\tpam_permit.so\n"
FACTORY = "usr/share/factory/var"
"""What /var holds at a lab's start, where it is in memory (tmpfiles.d(5))."""
MERGED = ("bin", "lib", "lib64", "sbin")
"""Directories that are those of /usr, as on every Debian machine."""
MOUNT_POINTS = ("dev", "proc", "run", "sys", "tmp", "var")
MODULES = "/run/sandglass/lab/lib/modules"
"""Where a lab has the modules of its kernel, for modprobe, which the kernel starts, too."""
IN_RUN = {"lock": "/run/lock", "run": "/run"}
"""Directories of /var that are others' of /run, as on every Debian machine."""
MADE_S = 1_700_000_000
"""When every file was last changed, so that no file tells when it was unpacked."""
STEPS_SHOWN = 5  # of each package
MODPROBE = """\
# as Debian's systemd has it: whoever wants a bond makes it
options bonding max_bonds=0
# measures the jitter of a clock: virtual time has none, and it would go on for ever
blacklist jitterentropy_rng
"""
SCRATCH = "root-"
LOADER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class Package(TypedDict):
    """A Debian package in the root, and where its source is to be had."""

    name: str
    version: str
    sha256: str
    source: str
    """The source package and its version, such as glibc 2.36-9."""


def make() -> Path:
    """The root of today's list in the cache, unpacked unless it is there.

    Raises SandglassError and leaves no half root when Debian cannot be asked or has no such
    package.
    """
    builds.directory().mkdir(parents=True, exist_ok=True)
    with (builds.directory() / "roots.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home := builds.built_root():
            return home
        for left in builds.directory().glob(f"{SCRATCH}*"):  # when it was killed
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=builds.directory(), prefix=SCRATCH) as scratch:
            return _make(Path(scratch))


def _make(scratch: Path) -> Path:
    names = [*wanted((builds.ROOT / builds.ROOT_PACKAGES).read_text()), *builds.further_packages()]
    print(f"downloading the lab's programs from Debian {builds.SUITE}", flush=True)
    debs = debian.download(names, builds.SUITE, scratch / "debs")
    print(f"unpacking {len(debs)} packages", flush=True)
    product = scratch / "root"
    root = product / builds.ROOT_FILES
    lay_out(root)
    for deb in debs:
        unpack(deb, root)
    left = finish(root, {deb.name.partition("_")[0]: maintainers_scripts(deb) for deb in debs})
    tell(left)
    packages = sorted(map(described, debs), key=lambda package: package["name"])
    (product / builds.ROOT_LIST).write_text(json.dumps(packages, indent=1) + "\n")
    target = builds.directory() / "roots" / builds.root_name(product)
    target.parent.mkdir(exist_ok=True)
    return product.rename(target)


def wanted(text: str) -> list[str]:
    """The packages that a list names."""
    return re.findall(r"^[a-z0-9][a-z0-9.+-]*", text, re.M)


def lay_out(root: Path) -> None:
    """Directories that are there before any package is."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in MOUNT_POINTS:
        (root / name).mkdir()
    (root / "usr/lib/modules").symlink_to(MODULES)


def unpack(deb: Path, root: Path) -> None:
    """Lay a package's files below `root`; raises SandglassError when it cannot be read."""
    exclude = [f"--exclude=./usr/share/{name}/*" for name in LEFT_OUT]
    if deb.name.partition("_")[0] not in DOCUMENTED:
        exclude += ["--exclude=./usr/share/doc/*/[!c]*", "--exclude=./usr/share/doc/*/c[!o]*"]
    place = ("--directory", str(root), "--keep-directory-symlink", "--no-same-owner")
    script = 'dpkg-deb --fsys-tarfile "$0" | tar --extract --same-permissions "$@"'
    command = ["bash", "-o", "pipefail", "-c", script, str(deb), *place, *exclude]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandglassError(f"{deb.name} cannot be unpacked", done.stderr.strip())


def finish(root: Path, scripts: Mapping[str, maintainers.Scripts]) -> dict[str, list[str]]:
    """What maintainers' scripts would do, as far as it can be; returns what is left of each."""
    for name, source in COPIES.items():
        shutil.copyfile(root / source, root / name)
    left = maintainers.set_up(root, scripts)
    authenticate_users(root)
    for patch in builds.root_patches():
        _run(["patch", "-p1", "-F0", "-s", "-d", str(root), "-i", str(patch)])
    (root / "usr/lib/modprobe.d/lab.conf").write_text(MODPROBE)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    _run([str(root / "usr/sbin/ldconfig"), "-r", str(root)])
    shutil.rmtree(root / "var/cache/ldconfig")  # it knows files by their times
    compile_python(root)
    (root / FACTORY).parent.mkdir(parents=True)
    (root / "var").rename(root / FACTORY)
    (root / "var").mkdir()
    for name, place in IN_RUN.items():
        (root / FACTORY / name).rmdir()
        (root / FACTORY / name).symlink_to(place)
    for path in (root, *root.rglob("*")):
        os.utime(path, (MADE_S, MADE_S), follow_symlinks=False)
    return left


def authenticate_users(root: Path) -> None:
    """Fill in the templates of PAM's settings with the modules that know /etc/passwd."""
    profile = (root / PAM_PROFILE).read_text()
    for kind in PAM:
        stage = kind.partition("-")[0]
        found = re.search(rf"^{stage.title()}-Initial:\n((?:\t.*\n)+)", profile, re.M)
        modules = re.sub(r"^\t", f"{stage}\t", found[1] if found else "", flags=re.M)
        text = (root / f"usr/share/pam/common-{kind}").read_text()
        decides = "success=end" in modules  # then it passes over the refusal behind it
        first = modules.replace("success=end", "success=1") if decides else PERMITTED.format(stage)
        text = re.sub(r"^\$\w+_primary\n", first, text, flags=re.M)
        text = re.sub(r"^\$\w+_additional\n", "" if decides else modules, text, flags=re.M)
        (root / f"etc/pam.d/common-{kind}").write_text(text)


def compile_python(root: Path) -> None:
    """Compile its Python, by itself, so that no start of it in a lab has to.

    A compiled file goes by what it is named after, and is never compared with it.
    """
    options = ["-fq", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/"]
    places = [str(root / "usr/lib/python3"), *map(str, root.glob("usr/lib/python3.*"))]
    command = [*within(root, "usr/bin/python3"), "-SIB", "-m", "compileall", *options, *places]
    _run(command, {"PYTHONHOME": str(root / "usr")})


def within(root: Path, program: str) -> list[str]:
    """The command that runs a program of the root on this machine, with the root's libraries."""
    libraries = ["--library-path", str(root / LIBRARIES)]
    return [str(root / LOADER), *libraries, str(root / program)]


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, env=environment or {}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SandglassError(f"{' '.join(command)} failed", (done.stdout + done.stderr).strip())


def maintainers_scripts(deb: Path) -> maintainers.Scripts:
    """Those of a package that set it up."""
    packed = subprocess.check_output(["dpkg-deb", "--ctrl-tarfile", str(deb)])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:

        def text(name: str) -> str:
            file = archive.extractfile(name) if name in archive.getnames() else None
            return file.read().decode() if file else ""

        return maintainers.Scripts(before=text("./preinst"), after=text("./postinst"))


def tell(left: Mapping[str, list[str]]) -> None:
    """Say what the set-up of further packages would do besides; those of every lab do without."""
    if not builds.further_packages():
        return
    usual = builds.built_root(())
    listed = json.loads((usual / builds.ROOT_LIST).read_text()) if usual else []
    known = {package["name"] for package in listed}
    for name in sorted(set(left) - known):
        shown, more = left[name][:STEPS_SHOWN], len(left[name]) - STEPS_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        print(f"not done of the set-up of {name}: {'; '.join(shown)}{rest}", flush=True)


def described(deb: Path) -> Package:
    """What is kept of a package."""
    shown = "${Package}\n${Version}\n${source:Package} ${source:Version}\n"
    command = ["dpkg-deb", "--show", f"--showformat={shown}", str(deb)]
    name, version, source = subprocess.check_output(command, text=True).splitlines()
    content = hashlib.sha256(deb.read_bytes()).hexdigest()
    return Package(name=name, version=version, sha256=content, source=source)
