"""The image: same digests as outside, for any user, without privilege, whatever is killed."""

import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator, Set
from pathlib import Path
from typing import IO, cast

import polars as pl
import pytest

from sandglass.install import builds
from sandglass.papers import batches, grid
from tests.container.conftest import UNPRIVILEGED, USER, Container, build, docker, run_words

# Bulk flows, jumbo frames, Open vSwitch, nginx and curl, audio, several bottlenecks.
EXAMPLES = ("codel", "hosts", "ten_flows_ovs", "http", "hspa", "parking_lot")
SHORT = ("run", "examples/codel.yaml", "--set", "duration=2s", "--set", "flows.0.duration=2s")
SWEEP = ("reproduce", "abe/fig03", "--profile", "smoke")
OTHER_USER = 4242
KILLED_WITHIN_S = 300
# None of them builds the kernel, though some lie beside what does.
CHANGED = (
    "pipelines/abe/fig03.py",
    "src/sandglass/cli/papers.py",
    "src/sandglass/install/doctor.py",
    "src/sandglass/results/show.py",
)


def content(run: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((run / "run.json").read_text())
    return found


def digests(results: Path) -> dict[str, object]:
    """Of each finished run below results/runs, by its path there."""
    runs = results / "runs"
    found = {}
    for parent, below, files in os.walk(runs):  # what is at work there may go at any time
        below[:] = [name for name in below if not name.startswith(".")]
        if "run.json" in files:
            found[str(Path(parent).relative_to(runs))] = content(Path(parent))["digest"]
    return found


def owners(directory: Path) -> set[int]:
    return {path.lstat().st_uid for path in directory.rglob("*")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_run_has_the_digest_that_it_has_outside(
    sandglass: Container, outside: Container, results: Path, tmp_path: Path, name: str
) -> None:
    inside = sandglass("run", f"examples/{name}.yaml", "--out", f"results/{name}")
    assert inside.returncode == 0, inside.stderr
    assert owners(results) == {USER}
    done = outside("run", builds.ROOT / "examples" / f"{name}.yaml", "--out", tmp_path / name)
    assert done.returncode == 0, done.stderr
    for same in ("digest", "flows", "tools"):
        assert content(results / name)[same] == content(tmp_path / name)[same]


def test_results_belong_to_whoever_runs_it(sandglass: Container, results: Path) -> None:
    done = sandglass(*SHORT, options=("--user", OTHER_USER))
    assert done.returncode == 0, done.stderr
    assert owners(results) == {OTHER_USER}


def test_any_user_may_enter_the_root_directory(image: str, tmp_path: Path) -> None:
    """Docker puts its own over the image's; in rootless Podman it is the image's that counts."""
    saved = tmp_path / "image.tar"
    assert docker("save", "--output", saved, image).returncode == 0
    modes = []
    with tarfile.open(saved) as archive:
        for layer in json.load(cast(IO[bytes], archive.extractfile("manifest.json")))[0]["Layers"]:
            with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                first = files.next()
                if first is not None and first.name == ".":
                    modes.append(first.mode)
    assert modes
    assert all(mode & 0o005 == 0o005 for mode in modes)


def test_each_student_of_a_class_has_a_container(image: str, tmp_path: Path) -> None:
    """As docs/container.md says, under other names than there may be here."""
    text = (builds.ROOT / "docs" / "container.md").read_text()
    section = text.partition("## For a class\n")[2].partition("\n## ")[0]
    begin, work = re.findall(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    names = {name: f"{name}-{tmp_path.name}" for name in ("ada", "grace")}
    begin = re.sub("ada|grace", lambda found: names[found[0]], begin)
    figure, shell = work.replace(" ada ", f" {names['ada']} ").splitlines()
    try:
        for script in (begin, figure, f"{shell.replace(' --tty', '')} <<<exit"):
            done = subprocess.run(
                ["bash", "-e", "-c", script],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        docker("rm", "--force", *names.values())
    assert (tmp_path / "class" / names["ada"] / "abe" / "fig05.svg").exists()
    assert list((tmp_path / "class" / names["grace"]).iterdir()) == []


def test_the_root_file_system_may_be_read_only(sandglass: Container, results: Path) -> None:
    done = sandglass(*SHORT, options=("--read-only", "--tmpfs", "/tmp"))
    assert done.returncode == 0, done.stderr
    assert len(digests(results)) == 1


def test_mininets_prompt_takes_what_is_typed(image: str) -> None:
    words = ("docker", "run", "--rm", "--interactive", *UNPRIVILEGED, image, "shell", "dumbbell")
    done = subprocess.run(
        words, input="s1 ping -c 2 d1\n", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "2 packets transmitted, 2 received" in done.stdout


@pytest.mark.parametrize("words", [SHORT, SWEEP])
def test_results_that_are_another_users_are_refused_with_a_word(
    sandglass: Container, results: Path, words: tuple[str, ...]
) -> None:
    results.chmod(0o755)
    done = sandglass(*words, options=("--user", OTHER_USER))
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "/sandglass/results" in done.stderr
    assert "Permission denied" in done.stderr
    assert not list(results.iterdir())


def test_what_it_cannot_build_it_says(sandglass: Container, tmp_path: Path) -> None:
    """A user's own modules need compilers, which the image has not."""
    own = tmp_path / "kmods" / "sch_own"
    own.mkdir(parents=True)
    (own / "Kbuild").write_text("obj-m := sch_own.o\n")
    options = ("--volume", f"{own.parent}:/kmods", "--env", "SANDGLASS_KMODS=/kmods")
    done = sandglass(*SHORT, options=options)
    assert done.returncode == 2
    assert "missing Debian packages: bc bison build-essential" in done.stderr


@pytest.fixture(scope="session")
def reproduced(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a figure that nothing disturbed."""
    results = tmp_path_factory.mktemp("reproduced")
    results.chmod(0o777)
    done = docker(*run_words(results, *SWEEP))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "see results/abe/fig03.html" in done.stdout
    return results


def test_a_figure_lands_in_the_users_directory(reproduced: Path) -> None:
    assert owners(reproduced) == {USER}
    for name in ("fig03.svg", "fig03.png", "fig03.html"):
        assert (reproduced / "abe" / name).stat().st_size > 0
    verdicts = pl.read_csv(reproduced / "abe" / "fig03.verdicts.csv")
    assert not verdicts.is_empty()
    points = grid.points("abe", "fig03", "smoke")
    assert len(digests(reproduced)) == len({point.directory for point in points})


def test_what_is_there_is_not_done_again(reproduced: Path) -> None:
    """Snakemake remembers, though the container it ran in is gone."""
    before = {path: path.stat().st_mtime_ns for path in (reproduced / "runs").rglob("run.json")}
    done = docker(*run_words(reproduced, *SWEEP))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.fixture
def running(image: str, results: Path) -> Iterator[str]:
    """The name of a container that is at work on a figure."""
    name = f"sandglass-test-{os.getpid()}"
    words = run_words(results, *SWEEP, "--cores", "1", options=("--detach", "--name", name))
    started = docker(*words)
    assert started.returncode == 0, started.stderr
    yield name
    docker("kill", name)


def test_a_sweep_whose_container_is_killed_is_completed(
    running: str, sandglass: Container, results: Path, reproduced: Path
) -> None:
    """What jobs that had ended had done is not done again; the others' runs are the same."""
    whole = digests(reproduced)
    jobs = [
        {str(Path(run).relative_to("results/runs")) for run in job.directories}
        for job in batches.batches("abe", "smoke")
    ]

    def of_ended_jobs(done: Set[str]) -> list[str]:
        return [name for job in jobs if job <= done for name in job]

    deadline = time.monotonic() + KILLED_WITHIN_S
    while not (
        of_ended_jobs(digests(results).keys())
        and any(results.glob("runs/abe/*/.*.partial-*/observed.json"))
    ):
        assert time.monotonic() < deadline, "nothing was to be killed"
        time.sleep(0.001)
    assert docker("kill", "--signal", "KILL", running).returncode == 0
    finished = digests(results)
    assert 0 < len(finished) < len(whole), "it is to be killed in the middle"
    ended = of_ended_jobs(finished.keys())
    written = {name: (results / "runs" / name / "run.json").stat().st_ino for name in ended}

    done = sandglass(*SWEEP)
    assert done.returncode == 0, done.stdout + done.stderr
    assert digests(results) == whole
    assert {n: (results / "runs" / n / "run.json").stat().st_ino for n in ended} == written
    assert not list(results.rglob(".*.partial-*"))
    for name in ("fig03.csv", "fig03.svg", "fig03.png", "fig03.verdicts.csv"):
        assert (results / "abe" / name).read_bytes() == (reproduced / "abe" / name).read_bytes()


def layers(image: str) -> list[str]:
    found: list[str] = json.loads(
        docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", image).stdout
    )
    return found


def test_a_change_in_the_code_makes_the_last_layers_anew_only(image: str, tmp_path: Path) -> None:
    before = layers(image)
    checkout = tmp_path / "checkout"
    tracked = subprocess.check_output(["git", "ls-files"], cwd=builds.ROOT, text=True).splitlines()
    for name in tracked:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(builds.ROOT / name, checkout / name)
    for changed in CHANGED:
        with (checkout / changed).open("a") as file:
            file.write("# changed\n")
    try:
        build(checkout)
        after = layers(image)
    finally:
        build(builds.ROOT)
    code = -3  # the checkout, what is compiled of it, and what doctor leaves
    assert after[:code] == before[:code]
    assert after[code:] != before[code:]
    assert layers(image) == before


def test_nothing_of_this_network_stays_in_the_image(image: str) -> None:
    history = docker("history", "--no-trunc", image).stdout
    assert "COPY" in history
    assert "CERTIFICATE" not in history
    found = docker(
        "run", "--rm", "--entrypoint", "sh", image, "-c", "ls /usr/local/share/ca-certificates"
    )
    assert found.stdout == ""
