"""What CI is told to do: its commands are there, are understood, and agree with each other."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from sandglass.cli import app
from sandglass.install import builds

ROOT = builds.ROOT
AUTHOR = ROOT / "examples" / "module-repository"
GITHUB = ROOT / ".github" / "workflows" / "ci.yml"
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
SITE = ROOT / ".github" / "workflows" / "site.yml"
GITLAB = ROOT / ".gitlab-ci.yml"
ACTION = ROOT / "action.yml"
THEIRS = AUTHOR / ".github" / "workflows" / "experiments.yml"
DECIDE = [
    "src/sandglass/install/root.py",
    "kernel/lab.config",
    *builds.COMPILATION,
    "kernel/patches/6.12/0001-a.patch",
    "setup/packages-lab.txt",
]


def read(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text())
    assert isinstance(content, dict)
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    """The steps of all jobs of a workflow, or of the action."""
    if path == ACTION:
        return list(read(path)["runs"]["steps"])
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def scripts(path: Path) -> list[str]:
    """The shell scripts of a file."""
    if path == GITLAB:
        return ["\n".join(job["script"]) for job in read(path).values()]
    return [step["run"] for step in steps(path) if "run" in step]


def commanded() -> list[dict[str, Any]]:
    """The steps of the action that run commands with its inputs."""
    return [each for each in steps(ACTION) if "env" in each]


def step(path: Path, action: str) -> dict[str, Any]:
    """What the one step that uses an action is told."""
    [found] = [each for each in steps(path) if each.get("uses", "").startswith(f"{action}@")]
    return dict(found["with"])


FILES = [GITHUB, RELEASE, SITE, GITLAB, ACTION, THEIRS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_scripts_are_sound(path: Path) -> None:
    assert scripts(path)
    for text in scripts(path):
        checked = subprocess.run(
            [Path(sys.executable).with_name("shellcheck"), "--shell=bash", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.stdout == ""


@pytest.mark.parametrize(
    "path", [GITHUB, RELEASE, SITE, GITLAB, ACTION], ids=lambda path: path.name
)
def test_commands_are_there_and_understood(path: Path) -> None:
    commands = [
        re.sub(r'^"?(\./|\$GITHUB_ACTION_PATH/)|"', "", line.strip()).split()
        for line in "\n".join(scripts(path)).splitlines()
        if re.match(r'\s*"?(\./|\$GITHUB_ACTION_PATH/)', line)
    ]
    assert commands
    for program, *words in commands:
        assert os.access(ROOT / program, os.X_OK), program
        if program == "sandglass":
            name, *rest = words
            typer.main.get_group(app).commands[name].make_context(name, rest)


@pytest.mark.parametrize("path", [GITHUB, RELEASE, SITE, ACTION], ids=lambda path: path.name)
def test_actions_are_of_a_commit_which_no_tag_moves(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for each in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", each)


@pytest.mark.parametrize("path", [GITHUB, RELEASE, SITE], ids=lambda path: path.name)
def test_a_job_may_read_and_no_more_unless_it_says_so(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}


def test_what_writes_the_locks_is_installed_by_its_hash() -> None:
    script = (ROOT / "setup" / "lock").read_text()
    (install,) = re.findall(r"pip\" install .*", script)
    assert "--require-hashes" in install
    assert re.search(r"uv==[\d.]+ --hash=sha256:[0-9a-f]{64}", script)


@pytest.mark.parametrize("path", [GITHUB, GITLAB], ids=lambda path: path.name)
def test_all_tests_are_run_on_every_commit(path: Path) -> None:
    assert ".ci/run" in scripts(path)
    assert any("./sandglass test --all" in each for each in scripts(path))
    assert (ROOT / ".ci" / "run").read_text().endswith("\n./sandglass test\n")


def test_what_a_cache_holds_is_where_set_up_puts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = [
        step(GITHUB, "actions/cache")["path"].split(),
        step(ACTION, "actions/cache")["path"].split(),
        read(GITLAB)["smoke"]["cache"]["paths"],
    ]
    homes = [
        read(GITHUB)["jobs"]["smoke"]["env"]["SANDGLASS_CACHE"],
        next(each["env"]["SANDGLASS_CACHE"] for each in commanded()),
        read(GITLAB)["smoke"]["variables"]["SANDGLASS_CACHE"],
    ]
    for paths, home in zip(cached, homes, strict=True):
        assert paths == [f"{home}/{name}" for name in ("kernels", "roots", "venv")]
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    (tmp_path / "kernels" / f"6.12.1-{builds.kernel_key('6.12')}").mkdir(parents=True)
    (tmp_path / "kernels" / f"6.12.1-{builds.kernel_key('6.12')}" / "build.json").touch()
    assert builds.built_kernel("6.12") is not None
    (tmp_path / "roots" / f"{builds.root_key()}-0").mkdir(parents=True)
    assert builds.built_root() is not None
    assert "venv=$SANDGLASS_CACHE/venv/" in (ROOT / "sandglass").read_text()


def test_the_site_is_kept_from_where_it_is_made() -> None:
    assert "./sandglass docs --pictures all" in scripts(SITE)
    for action in ("actions/upload-artifact", "actions/upload-pages-artifact"):
        assert step(SITE, action)["path"] == "results/site"
    job = read(GITLAB)["pages"]
    assert f"./sandglass docs --pictures all --out {job['artifacts']['paths'][0]}" in job["script"]


def test_gitlab_keeps_what_a_release_is() -> None:
    job = read(GITLAB)["release"]
    assert job["script"][-1] == f"./sandglass release --out {job['artifacts']['paths'][0]}"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What decides the lab kernel's build, in short."""
    for name in [*DECIDE, "kernel/build", "setup/python", "requirements.lock", "README.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "key", tmp_path / ".ci")
    return tmp_path


def cache_key(sources: Path) -> str:
    return subprocess.check_output([sources / ".ci" / "key"], text=True).strip()


def test_a_cache_is_named_after_what_it_is_built_from(sources: Path) -> None:
    before = cache_key(sources)
    assert re.fullmatch(r"[0-9a-f]{12}", before)
    (sources / "README.md").write_text("changed")
    assert cache_key(sources) == before
    for name in [*DECIDE, "requirements.lock"]:
        (sources / name).write_text("changed")
        after = cache_key(sources)
        assert after != before, name
        before = after


def test_the_author_says_what_the_action_asks_for() -> None:
    [use] = [each for each in steps(THEIRS) if "/sandglass@" in each.get("uses", "")]
    inputs = read(ACTION)["inputs"]
    assert use["with"].keys() <= inputs.keys()
    assert (AUTHOR / use["with"]["kmods"]).is_dir()
    assert list(AUTHOR.glob(use["with"]["experiments"]))
    assert set(re.findall(r"inputs\.(\w+)", str(commanded()))) == inputs.keys()


@pytest.mark.thorough
@pytest.mark.lab
def test_the_author_s_workflow_in_this_machine(tmp_path: Path) -> None:
    """The action's own scripts and then the author's, in a copy of the repository."""
    home = shutil.copytree(AUTHOR, tmp_path / "author")
    [use] = [each for each in steps(THEIRS) if "/sandglass@" in each.get("uses", "")]
    given = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: use["with"][found[1]], text)
        for each in commanded()
        for name, text in each["env"].items()
    }
    del given["SANDGLASS_CACHE"]  # the kernel of this machine will do
    environment = os.environ | given | {"GITHUB_ACTION_PATH": str(ROOT)}
    for text in (*(each["run"] for each in commanded()), *scripts(THEIRS)):
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "gaimd" in done.stdout
    report = home / given["OUT"] / "suites" / "gaimd" / "report.json"
    told = json.loads(report.read_text())
    assert [each["name"] for each in told["scenarios"]] == [given["SCENARIOS"]]
    assert given["RIVALS"] in {each["label"] for each in told["contenders"]}


def test_a_folder_that_is_no_module_is_named(tmp_path: Path) -> None:
    command = [str(ROOT / ".ci" / "characterise"), str(tmp_path / "out"), "kmods/mine"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kmods/mine: a module's folder is called sch_NAME or tcp_NAME" in done.stderr


@pytest.mark.lab
def test_an_experiment_that_fails_stops_no_other(tmp_path: Path) -> None:
    good = ROOT / "examples" / "udp.yaml"
    bad = tmp_path / "bad.yaml"
    bad.write_text("title: nothing else\n")
    command = [ROOT / ".ci" / "experiments", tmp_path / "out", bad, good]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sandglass: failed: bad\n" in done.stderr
    assert (tmp_path / "out" / "udp" / "run.json").exists(), shlex.join(map(str, command))
