"""A cluster: a stand-in for Kubernetes' API, and the pod in which Snakemake runs."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandglass.install import builds
from tests.kubernetes.api import Cluster

PROFILE = builds.ROOT / "profiles" / "kubernetes"
WITHIN_S = 900.0
CONFIGURATION = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "here", "cluster": {"server": "URL"}}],
    "users": [{"name": "sandglass", "user": {}}],
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "sandglass"}}],
    "current-context": "here",
}


def run(*command: str | Path, **options: Any) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return str(done.stdout)


@pytest.fixture(scope="session")
def image() -> None:
    """The images of this checkout; what Docker has built of them is taken from its cache."""
    if not shutil.which("docker") or subprocess.run(["docker", "version"], check=False).returncode:
        pytest.fail("no Docker engine: apt-get install docker.io debootstrap, and start dockerd")
    run(builds.ROOT / "container" / "build")
    trusted = Path("/usr/local/share/ca-certificates").glob("*.crt")
    run(
        *("docker", "build", "--tag", "sandglass-cluster"),
        *("--build-arg", f"CERTIFICATES={''.join(path.read_text() for path in trusted)}"),
        *("--build-arg", "http_proxy", "--build-arg", "https_proxy", "-"),
        input=(PROFILE / "Dockerfile").read_text(),
    )


class Pod:
    """The pod of the manifest, with Snakemake in it, and what it and others leave on the volume."""

    def __init__(self, cluster: Cluster, volume: Path, log: Path) -> None:
        self.cluster = cluster
        self.volume = volume
        self.log = log

    def snakemake(self, *words: str) -> "subprocess.Popen[bytes]":
        """As a user starts it, by kubectl exec."""
        command = ["docker", "exec", "sandglass", "snakemake", "--profile", "profiles/kubernetes"]
        with self.log.open("ab") as log:
            return subprocess.Popen([*command, *words], stdout=log, stderr=log)

    def said(self) -> str:
        return self.log.read_text()

    def first_kept(self) -> None:
        """Wait until a run is in the cache of runs."""
        deadline = time.monotonic() + WITHIN_S
        while not list(self.volume.glob("runs/*.tar")):
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.2)

    def digests(self) -> dict[str, str]:
        """Of all runs in the storage, by the names of their directories."""
        return {
            path.parent.name: json.loads(path.read_text())["digest"]
            for path in self.volume.glob("results/runs/*/*/*/run.json")
        }

    def from_cache(self) -> int:
        logs = self.volume.glob("results/logs/*/*.log")
        return sum(log.read_text().count("from the cache") for log in logs)


@pytest.fixture
def pod(tmp_path: Path, image: None) -> Iterator[Pod]:
    manifest = yaml.safe_load_all((PROFILE / "sandglass.yaml").read_text())
    named = {document["kind"]: document for document in manifest}
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o777)
    volumes = {named["PersistentVolumeClaim"]["metadata"]["name"]: volume}
    with Cluster(volumes, named["Role"]["rules"], tmp_path / "pods") as cluster:
        configuration = tmp_path / "kubeconfig"
        configuration.write_text(json.dumps(CONFIGURATION).replace("URL", cluster.url))
        configuration.chmod(0o644)
        command = cluster.docker_run("sandglass", named["Pod"]["spec"], network="host")
        access = ["--volume", f"{configuration}:/config", "--env", "KUBECONFIG=/config"]
        run(*command[:2], "--detach", *access, *command[2:])
        try:
            yield Pod(cluster, volume, tmp_path / "snakemake.log")
        finally:
            run("docker", "kill", "sandglass")
