"""The wheel on other systems than this one: installed and used by an ordinary user, then offline.

Each system is a root directory. Debian's are made by debootstrap; those below $SANDGLASS_ROOTS are
anybody's, with a Python of the path usr/local/bin/python3 or usr/bin/python3 and a user with the
number 1000. It needs root, for chroot.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandglass.install import builds, setup_lab
from sandglass.release import wheel

DEBIAN = ("bookworm", "trixie")
PACKAGES = "ca-certificates,python3,python3-venv"
GIVEN = Path(os.environ.get("SANDGLASS_ROOTS", os.devnull))
OTHERS = sorted(path.name for path in GIVEN.glob("*") if (path / "etc" / "passwd").is_file())
INSTALL = """
{python} -m venv environment
environment/bin/pip install --quiet --only-binary=:all: ./{wheel}
"""
USE = """
set -e
export PATH=$HOME/environment/bin:$PATH
sandglass demo --no-open
sandglass run codel --out first
sandglass view first
sandglass mn --test pingall
sandglass lab check
sandglass doctor
"""
ENTER = """
set -e
mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"
exec env -i HOME=/home/user USER=user LANG=C.UTF-8 $CERTIFICATES \
    PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin \
    chroot --userspec=1000:1000 "$1" sh -c "cd; $2"
"""
"""Run the command $2 in the root $1."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    setup_lab.packager()
    setup_lab.lab()
    return wheel.build(builds.DEFAULT_KERNEL, tmp_path_factory.mktemp("dist"))


@pytest.fixture(params=[*DEBIAN, *OTHERS])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A system's root; what is put into a home of one that was given is taken away again."""
    if request.param in OTHERS:
        yield GIVEN / request.param
        shutil.rmtree(GIVEN / request.param / "home" / "user" / "sandglass", ignore_errors=True)
        return
    if not shutil.which("debootstrap"):
        pytest.skip("debootstrap is missing: apt-get install debootstrap")
    made = tmp_path / request.param
    include = ["--variant=minbase", f"--include={PACKAGES}"]
    subprocess.run(["debootstrap", *include, request.param, str(made)], check=True)
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.is_file():
        shutil.copy(certificates, made / "etc/ssl/certs/ca-certificates.crt")
    shutil.copy("/etc/resolv.conf", made / "etc" / "resolv.conf")
    subprocess.run(["chroot", made, "useradd", "--uid=1000", "--create-home", "user"], check=True)
    yield made


def _in(root: Path, command: str, *, network: bool) -> str:
    """What a command of the ordinary user prints there."""
    namespaces = ["--mount", "--pid", "--fork", *([] if network else ["--net"])]
    proxies = {key: text for key, text in os.environ.items() if key.lower().endswith("_proxy")}
    about = {"PIP_CERT": "/etc/ssl/certs/ca-certificates.crt"} | proxies
    given = " ".join(f"{key}={text}" for key, text in about.items())
    done = subprocess.run(
        ["unshare", *namespaces, "bash", "-c", ENTER, "bash", str(root), command],
        env=os.environ | {"CERTIFICATES": given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_installed_and_used_without_root_compilers_or_network(
    root: Path, package: Path
) -> None:
    found = [Path("/usr/local/bin/python3"), Path("/usr/bin/python3")]
    python = next(path for path in found if (root / path.relative_to("/")).exists())
    home = root / "home" / "user" / "sandglass"
    home.mkdir(parents=True)
    shutil.copy(package, home)
    (home / "install").write_text(INSTALL.format(python=python, wheel=package.name))
    (home / "use").write_text(USE)
    for path in (home, *home.iterdir()):
        os.chown(path, 1000, 1000)
    inside = "export HOME=/home/user/sandglass; cd; sh -e"
    _in(root, f"{inside} install", network=True)
    said = _in(root, f"{inside} use", network=False)
    assert "0% dropped" in said
    assert "18 of 18 equal" in said
    assert "ready: experiments can run" in said
