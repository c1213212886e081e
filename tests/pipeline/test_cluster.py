"""What a cluster is asked for."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.install import builds
from sandglass.papers import grid, shelf
from sandglass.run import plan
from sandglass.studies.jobs import Task

PROFILES = builds.ROOT / "profiles"
KUBERNETES = PROFILES / "kubernetes"
RULES = (builds.ROOT / "pipelines" / "rules.smk").read_text()


@pytest.fixture(params=["slurm", "kubernetes"])
def profile(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read_profile(request.param)


def read_profile(name: str) -> dict[str, Any]:
    content = yaml.safe_load((PROFILES / name / "config.yaml").read_text())
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize("paper", shelf.papers())
def test_the_largest_lab_finds_room(paper: str) -> None:
    """Of each experiment the first and the last point of the full grids."""
    ends: dict[str, list[Task]] = {}
    for figure in shelf.paper(paper).figures:
        for point in grid.points(paper, figure, "paper"):
            ends.setdefault(point.source, [point, point])[1] = point
    for points in ends.values():
        for point in points:
            wanted = point.load()
            needed = 2 * plan.resolve(wanted, wanted.facts)["memory_mb"] + 500
            assert needed <= shelf.paper(paper).head.memory_mb, point.directory


def test_the_rules_that_are_grouped_are_there(profile: dict[str, Any]) -> None:
    rules = set(re.findall(r"^rule (\w+):", RULES, re.M))
    grouped = dict(entry.split("=") for entry in profile["groups"])
    assert grouped.keys() <= rules


def test_the_executor_is_one_that_set_up_adds(profile: dict[str, Any]) -> None:
    wanted = Path(builds.ROOT / "requirements-cluster.lock").read_text()
    assert f"\nsnakemake-executor-plugin-{profile['executor']}==" in wanted


def test_pods_find_the_volume_where_snakemake_does() -> None:
    """Its claim and mount stand in the manifest, and three times in the profile."""
    profile = read_profile("kubernetes")
    manifest = yaml.safe_load_all((KUBERNETES / "sandglass.yaml").read_text())
    named = {document["kind"]: document for document in manifest}
    claim = named["PersistentVolumeClaim"]["metadata"]["name"]
    (container,) = named["Pod"]["spec"]["containers"]
    (mount,) = container["volumeMounts"]
    (volume,) = named["Pod"]["spec"]["volumes"]
    assert volume == {"name": mount["name"], "persistentVolumeClaim": {"claimName": claim}}
    assert profile["kubernetes-persistent-volumes"] == [f"{claim}:{mount['mountPath']}"]
    assert profile["default-storage-prefix"] == mount["mountPath"]
    assert f"volume={mount['mountPath']} " in profile["precommand"]
    assert profile["container-image"] == container["image"]


def test_a_pods_storage_is_one_that_set_up_adds() -> None:
    wanted = (builds.ROOT / "requirements-cluster.lock").read_text()
    storage = read_profile("kubernetes")["default-storage-provider"]
    assert f"\nsnakemake-storage-plugin-{storage}==" in wanted


def test_a_pod_calls_the_script_that_its_image_has() -> None:
    """Below the working directory of the container, of which the checkout is in the image."""
    path = re.search(r"\. (/\S+)$", read_profile("kubernetes")["precommand"])
    assert path
    home = re.search(r"^WORKDIR (\S+)$", (builds.ROOT / "container/Dockerfile").read_text(), re.M)
    assert home
    assert (builds.ROOT / Path(path[1]).relative_to(home[1])).is_file()
