"""The wheel: what is in it, and what it does where it is installed."""

import csv
import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
import tomllib
from nbclient import NotebookClient
from packaging.requirements import Requirement

import sandglass
from sandglass.errors import UsageError
from sandglass.install import builds, extras, labs
from sandglass.release import wheel
from tests.release.conftest import NEEDS_CLONE

pytestmark = NEEDS_CLONE
TREE = "sandglass/tree"
DIGESTS = {
    row["experiment"]: row["digest"]
    for row in csv.DictReader((builds.ROOT / "examples" / "digests.csv").open())
}
CORE = "core"
PAGE = (builds.ROOT / "docs" / "install.md").read_text()
COMMANDS = [
    line.removeprefix("sandglass ")
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M)
    for line in block.splitlines()
    if line.startswith("sandglass ")
]
LONG = "lab check"
"""Half a minute: test_it_unpacks_its_lab_and_needs_nothing_else does it."""


def without_its_lab(_: builds.Lab, target: Path) -> None:
    """In the place of labs.export, which takes half a minute: the lab is in the cache."""
    target.write_bytes(b"no lab")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A wheel that was built twice, with a lab in it that is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labs, "export", without_its_lab)
        return [wheel.build("6.12", tmp_path_factory.mktemp("dist")) for _ in range(2)]


@pytest.fixture(scope="module")
def installed(built: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel is installed beside what the core needs."""
    home = tmp_path_factory.mktemp("installed")
    _install(built[0], home)
    return home


def _install(package: Path, home: Path) -> None:
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(home)]
    subprocess.run([*command, str(package)], check=True)
    _lay_core(home / CORE)


def _lay_core(home: Path) -> None:
    """Have in a folder what the core says that it needs, and what that needs, and nothing else."""
    home.mkdir()
    project = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())["project"]
    left, done = list(project["dependencies"]), set[str]()
    while left:
        wanted = Requirement(left.pop())
        if wanted.name in done or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        done.add(wanted.name)
        found = importlib.metadata.distribution(wanted.name)
        left += found.requires or []
        for name in {path.parts[0] for path in found.files or [] if path.parts[0] != ".."}:
            link = home / name
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(name))))


def _path(installed: Path) -> str:
    """Where Python finds the package and what the core needs, but not this environment's own."""
    return f"{installed}:{installed / CORE}"


def _sandglass(
    installed: Path, here: Path, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-SP", "-m", "sandglass", *words],
        cwd=here,
        env=environment | {"PYTHONPATH": _path(installed)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_builds_are_equal_to_the_byte(built: list[Path]) -> None:
    assert built[0] != built[1]
    assert built[0].read_bytes() == built[1].read_bytes()


def test_it_has_what_runs_and_not_what_tests(built: list[Path]) -> None:
    with zipfile.ZipFile(built[0]) as found:
        names = set(found.namelist())
        for name in ("topologies/dumbbell.py", "workloads/bulk.py", "pipelines/abe/fig05.yaml",
                     "suites/qdisc/suite.yaml", "examples/codel.yaml", "labs/6.12.lab",
                     "docs/experiment.schema.json", "kmods/tcp_abe/Kbuild"):  # fmt: skip
            assert f"{TREE}/{name}" in names
        assert not [name for name in names if "/tests/" in name or "/bench/" in name]
        commit = found.read(f"{TREE}/.commit").decode().strip()
        assert re.fullmatch(r"[0-9a-f]{12}(-dirty)?", commit)
        here = [str(builds.ROOT).encode(), str(Path.home()).encode() + b"/"]
        for name in names:
            assert not any(place in found.read(name) for place in here), name


def test_scripts_can_be_run(built: list[Path]) -> None:
    with zipfile.ZipFile(built[0]) as found:
        packages = found.getinfo(f"{TREE}/setup/packages")
        assert packages.external_attr >> 16 & 0o111


def test_a_wheel_is_never_written_over(built: list[Path]) -> None:
    with pytest.raises(UsageError, match="is there already"):
        wheel.build("6.12", built[0].parent)


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((builds.ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == extras.DISTRIBUTION
    for extra, modules in extras.EXTRAS.items():
        wanted = project["optional-dependencies"][extra]
        names = {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in wanted}
        assert {
            module if module != "markdown_it" else "markdown_it_py" for module in modules
        } <= names
    for kernel in builds.kernels():
        if kernel != builds.DEFAULT_KERNEL:
            wanted = project["optional-dependencies"][f"linux-{kernel}"]
            assert wanted == [extras.further(kernel)]


def test_it_runs_an_example_by_its_name_from_anywhere(installed: Path, tmp_path: Path) -> None:
    done = _sandglass(installed, tmp_path, "run", "codel", "--out", "first")
    assert done.returncode == 0, done.stderr
    assert f"digest {DIGESTS['examples/codel.yaml']}" in done.stdout
    assert "/tree/" not in done.stdout
    shown = _sandglass(installed, tmp_path, "show", "first")
    assert "One CUBIC flow through CoDel" in shown.stdout
    viewed = _sandglass(installed, tmp_path, "view", "first")
    assert viewed.returncode == 0, viewed.stderr
    assert (tmp_path / "first" / "view.html").is_file()


def test_the_commands_of_the_page_work_in_their_order(installed: Path, tmp_path: Path) -> None:
    assert COMMANDS[0] == "demo --no-open"
    assert LONG in COMMANDS
    for command in COMMANDS:
        if command != LONG:
            done = _sandglass(installed, tmp_path, *command.split())
            assert done.returncode == 0, command + done.stdout + done.stderr


def test_the_notebook_installs_and_draws(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first cell asks pip for what is installed here already."""
    notebook = nbformat.read(builds.ROOT / "docs" / "colab.ipynb", as_version=4)
    install, *others = (cell for cell in notebook.cells if cell.cell_type == "code")
    assert install.source == "!pip install --quiet sandglass_lab-*.whl"
    install.source = ""
    monkeypatch.setitem(os.environ, "PYTHONPATH", str(installed))
    monkeypatch.setitem(os.environ, "JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    folder = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=folder).execute()
    _, drawn, told, page = (cell.outputs for cell in others)
    assert any("image/png" in output.get("data", {}) for output in drawn)
    assert len(told[0]["text"].split()) == 2
    assert "view.html" in page[0]["data"]["text/plain"]


def test_the_demo_shows_bufferbloat(installed: Path, tmp_path: Path) -> None:
    done = _sandglass(installed, tmp_path, "demo", "--no-open")
    assert done.returncode == 0, done.stderr
    row = re.search(r"^half of the packets wait longer, ms +([\d.]+) +([\d.]+)$", done.stdout, re.M)
    assert row, done.stdout
    plain, fair = map(float, row.groups())
    assert plain > 50 * fair
    assert (tmp_path / "results" / "demo" / "view.html").is_file()


def test_results_go_to_the_working_directory(installed: Path, tmp_path: Path) -> None:
    done = _sandglass(installed, tmp_path, "run", "bufferbloat", "--set", "duration=3s")
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "results" / "runs").iterdir()
    assert run.name.startswith("bufferbloat-")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plot", "first"], "pip install 'sandglass-lab[studies]'"),
        (["study", "codel", "--vary", "rtt=20ms"], "pip install 'sandglass-lab[studies]'"),
        (["reproduce", "abe/fig03"], "pip install 'sandglass-lab[studies]'"),
        (["notebook"], "pip install 'sandglass-lab[notebook]'"),
        (["play"], "pip install 'sandglass-lab[play]'"),
        (["test"], "test is for a checkout"),
        (["docs"], "docs is for a checkout"),
        (["bench"], "bench is for a checkout"),
        (["lab", "build", "--with", "bc"], "lab build is for a checkout"),
        (["setup", "--kernel", "6.12-debug"], "a lab of Linux 6.12-debug is for a checkout"),
    ],
)
def test_what_it_lacks_is_told_with_the_words_to_type(
    installed: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    done = _sandglass(installed, tmp_path, *words)
    assert done.returncode != 0
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_python_is_told_of_an_extra_too(installed: Path) -> None:
    script = "import sandglass; sandglass.run; sandglass.study"
    environment = os.environ | {"PYTHONPATH": _path(installed)}
    command = [sys.executable, "-SP", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "UsageError: this wants" in done.stderr


def test_another_kernels_lab_is_a_package_of_its_own(installed: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    done = _sandglass(installed, tmp_path, "setup", "--kernel", "7.2", SANDGLASS_CACHE=cache)
    assert done.returncode == 2
    assert "pip install 'sandglass-lab[linux-7.2]'" in done.stderr


def test_a_damaged_lab_is_refused(installed: Path, tmp_path: Path) -> None:
    done = _sandglass(installed, tmp_path, "run", "codel", SANDGLASS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert "6.12.lab is no file of a lab" in done.stderr


@pytest.mark.thorough
def test_it_unpacks_its_lab_and_needs_nothing_else(tmp_path: Path) -> None:
    """In an empty cache, with all that it says of itself."""
    package = wheel.build("6.12", tmp_path / "dist")
    assert package.stat().st_size < 100e6
    home = tmp_path / "home"
    _install(package, home)
    cache = {"SANDGLASS_CACHE": str(tmp_path / "cache")}
    checked = _sandglass(home, tmp_path, "lab", "check", **cache)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(DIGESTS)} of {len(DIGESTS)} equal" in checked.stdout
    told = _sandglass(home, tmp_path, "--version", **cache)
    assert f"sandglass {sandglass.__version__}" in told.stdout
