"""./sandglass, the script: what it installs, how often, and what it says."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandglass.install import builds

NOBODY = 65534
SHOW_CALL = '#!/bin/sh\necho "cache=$SANDGLASS_CACHE path=$PYTHONPATH words=$*"\n'

# Notes how it is called, and is what it is asked to make.
MAKES_ENVIRONMENT = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
[ "$2" != venv ] || { mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && cp "$0" "$4/bin/pip"; }
"""


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that an ordinary user may read, also when the tests run as root."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def checkout(open_directory: Path) -> Path:
    """The script and what it reads, in a directory whose name has a space."""
    target = open_directory / "a checkout"
    target.mkdir()
    shutil.copytree(builds.ROOT / "setup", target / "setup")
    for name in ("sandglass", "requirements.lock"):
        shutil.copy(builds.ROOT / name, target)
    return target


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def ready(checkout: Path) -> Path:
    """A cache in which all is set up; its Python only shows how it was called."""
    home = checkout.parent / "cache"
    lock = hashlib.sha256((checkout / "requirements.lock").read_bytes()).hexdigest()[:12]
    venv = home / "venv" / f"{Path('/usr/bin/python3').resolve().name}-{lock}"
    write_program(venv / "bin" / "python", SHOW_CALL)
    (venv / ".complete").touch()
    return home


def script(
    checkout: Path, *words: str, directory: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "sandglass", *words],
        cwd=directory,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_when_all_is_set_up_it_only_runs_the_command_line(checkout: Path, ready: Path) -> None:
    before = sorted(ready.rglob("*"))
    done = script(checkout, "run", "a b.yaml", SANDGLASS_CACHE=str(ready))
    assert done.stdout == (
        f"cache={ready} path={checkout}/src words=-P -m sandglass run a b.yaml\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(ready.rglob("*")) == before


def test_it_works_through_a_link_and_with_a_relative_cache(checkout: Path, ready: Path) -> None:
    link = ready / "link"
    link.symlink_to(checkout / "sandglass")
    done = subprocess.run(
        [link, "doctor"],
        cwd=ready.parent,
        env={"PATH": os.environ["PATH"], "SANDGLASS_CACHE": "cache"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"cache={ready} path={checkout}/src ")


def test_a_python_without_pip_is_given_one(checkout: Path, bare_machine: Path) -> None:
    """As in a bundle: no package of the machine is asked for."""
    home = checkout.parent
    write_program(home / "python3.99", MAKES_ENVIRONMENT)
    done = script(
        checkout,
        *("setup", "--python"),
        PATH=f"{bare_machine}:{os.environ['PATH']}",
        SANDGLASS_CACHE=str(home / "cache"),
        SANDGLASS_PYTHON=str(home / "python3.99"),
        SANDGLASS_PIP="/wheels/pip.whl",
    )
    assert done.returncode == 0, done.stderr
    [venv] = (home / "cache" / "venv").glob("python3.99-*[!g]")
    assert (home / "calls").read_text().endswith(f"\n-m venv --without-pip {venv}\n")
    installed, *packages = (venv / "bin" / "calls").read_text().splitlines()
    assert installed == "/wheels/pip.whl/pip install --no-input --no-deps /wheels/pip.whl"
    assert packages[0].startswith("install --no-input --disable-pip-version-check --no-deps ")


def test_without_the_library_of_numpy_it_says_which(checkout: Path) -> None:
    python = checkout.parent / "python3.99"
    write_program(python, "#!/bin/sh\necho cannot open shared object file >&2\nexit 1\n")
    cache = checkout.parent / "cache"
    done = script(
        checkout,
        *("setup", "--python"),
        SANDGLASS_CACHE=str(cache),
        SANDGLASS_PYTHON=str(python),
    )
    assert done.returncode == 2
    assert "NumPy needs the C++ library libstdc++.so.6" in done.stderr
    assert "cannot open" not in done.stderr
    assert not list(cache.glob("venv/python*"))


def test_directories_of_the_users_own_may_be_relative(checkout: Path, ready: Path) -> None:
    """A pipeline is at work in the checkout, wherever it was started."""
    python = next(ready.glob("venv/*/bin/python"))
    write_program(python, '#!/bin/sh\necho "$SANDGLASS_KMODS $SANDGLASS_PAPERS $SANDGLASS_RUNS"\n')
    named = {"SANDGLASS_KMODS": "kmods", "SANDGLASS_PAPERS": "p", "SANDGLASS_RUNS": "/srv/runs"}
    done = script(checkout, "run", directory=ready, SANDGLASS_CACHE=str(ready), **named)
    assert done.stdout == f"{ready}/kmods {ready}/p /srv/runs\n"


def test_the_cache_is_the_users_unless_told_otherwise(checkout: Path, ready: Path) -> None:
    user = ready.parent / "user"
    (user / ".cache").mkdir(parents=True)
    ready.rename(user / ".cache" / "sandglass")
    done = script(checkout, "show", HOME=str(user))
    assert done.stdout.startswith(f"cache={user}/.cache/sandglass ")
    done = script(checkout, "show", HOME="/nowhere", XDG_CACHE_HOME=str(user / ".cache"))
    assert done.stdout.startswith(f"cache={user}/.cache/sandglass ")


def test_without_a_home_it_says_what_to_set(checkout: Path) -> None:
    done = script(checkout, "show")
    assert done.returncode != 0
    assert "SANDGLASS_CACHE" in done.stderr


def only(programs: Path, *names: str) -> str:
    """A PATH with nothing but these of the machine's programs."""
    programs.mkdir()
    for name in names:
        (programs / name).symlink_to(shutil.which(name) or "")
    return str(programs)


def test_once_set_up_it_asks_neither_dpkg_nor_pip(checkout: Path, ready: Path) -> None:
    """Each command would wait for the answer: what is set up is remembered."""
    path = only(ready.parent / "few", "bash", "dirname", "readlink", "sha256sum", "sh")
    done = script(checkout, "show", SANDGLASS_CACHE=str(ready), PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("words=-P -m sandglass show\n")


@pytest.fixture
def bare_machine(checkout: Path) -> Path:
    """Programs of a machine on which no package is installed, for an ordinary user."""
    programs = checkout.parent / "programs"
    write_program(programs / "dpkg-query", "#!/bin/sh\nexit 1\n")
    write_program(programs / "apt-get", "#!/bin/sh\necho apt-get was called\n")
    return programs


def as_user(checkout: Path, programs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "sandglass", *words],
        user=NOBODY if os.geteuid() == 0 else None,
        env={"PATH": f"{programs}:/usr/bin:/bin", "SANDGLASS_CACHE": "/nonexistent/cache"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", [["run", "x.yaml"], ["setup"], ["setup", "--system"]])
def test_a_user_without_sudo_is_told_the_one_command(
    checkout: Path, bare_machine: Path, words: list[str]
) -> None:
    write_program(bare_machine / "sudo", "#!/bin/sh\necho a password is required >&2\nexit 1\n")
    done = as_user(checkout, bare_machine, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "python3-venv" in done.stderr
    assert done.stderr.endswith("install them once with: sudo ./sandglass setup --system\n")


def test_a_user_with_sudo_is_not_asked(checkout: Path, bare_machine: Path) -> None:
    write_program(bare_machine / "sudo", '#!/bin/sh\n[ "$*" = "-n true" ] || echo "sudo $*"\n')
    done = as_user(checkout, bare_machine, "setup", "--system")
    assert done.returncode == 0
    assert done.stdout.startswith(f"sudo -n {checkout}/setup/packages bc bison build-essential ")


@pytest.mark.parametrize("words", [["run", "--help"], ["setup", "--python"]])
def test_what_needs_no_machine_asks_for_no_package_but_pythons(
    checkout: Path, bare_machine: Path, words: list[str]
) -> None:
    write_program(bare_machine / "sudo", "#!/bin/sh\nexit 1\n")
    done = as_user(checkout, bare_machine, *words)
    assert done.returncode == 2
    assert "missing Debian packages: python3-venv\n" in done.stderr


def test_nothing_is_installed_when_nothing_is_missing(checkout: Path, bare_machine: Path) -> None:
    says_installed = '#!/bin/sh\nshift 3\nprintf "installed %s\\n" "$@"\n'
    write_program(bare_machine / "dpkg-query", says_installed)
    done = as_user(checkout, bare_machine, "setup", "--system")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_locale_takes_letters_from_files() -> None:
    """Names, descriptions and pictures have more than ASCII."""
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [builds.ROOT / "sandglass", "list", "topologies"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [builds.ROOT / "sandglass", "python", "-c", "print('─')"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == "─\n"


def test_another_system_is_told_what_to_use_instead(checkout: Path, open_directory: Path) -> None:
    path = only(open_directory / "few", "bash", "dirname", "readlink", "env")
    done = subprocess.run(
        [checkout / "setup" / "packages"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no Debian system" in done.stderr
