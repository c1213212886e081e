"""Pipelines through Snakemake's executor for Kubernetes, as far as a machine without a cluster can
tell: the executor and the pods' containers are real, the API is a stand-in. Slow:
`./sandglass test tests/kubernetes`, as root."""

import subprocess

import pytest

from tests import by_hand
from tests.kubernetes.conftest import WITHIN_S, Pod

PAPER, FIGURE, PROFILE = "dctcp_internet", "fig07", "smoke"
WORDS = ("--config", f"profile={PROFILE}", "--", f"results/{PAPER}/{FIGURE}.html")


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of the figure's runs, each done by hand, by the names of their directories."""
    return by_hand.digests(PAPER, FIGURE, PROFILE, tmp_path_factory.mktemp("by-hand"))


def test_digests_are_those_of_runs_by_hand(pod: Pod, digests: dict[str, str]) -> None:
    """Each job's runs are a pod, the figure is another, and its page is made where Snakemake is."""
    assert pod.snakemake(*WORDS).wait(WITHIN_S) == 0, pod.said()
    assert pod.digests() == digests
    assert pod.from_cache() == 0
    made = {path.name for path in pod.volume.glob(f"results/{PAPER}/*")}
    assert made >= {f"{FIGURE}.{kind}" for kind in ("csv", "svg", "png", "verdicts.csv", "html")}
    *jobs, (figure_asked, _) = pod.cluster.history
    assert len(jobs) < len(digests)
    assert {asked["memory"] for asked, _ in jobs} == {"2500M"}
    assert figure_asked["memory"] == "2000M"  # its steps follow one another
    for _, done in jobs:
        assert "Provided cores: 1 " in done.result().stdout  # which no other pod has
    assert not pod.cluster.secrets
    assert pod.snakemake(*WORDS).wait(WITHIN_S) == 0
    assert "Nothing to be done" in pod.said()


def test_a_killed_pod_is_taken_up_again(pod: Pod, digests: dict[str, str]) -> None:
    """What it had done comes from the cache of runs, the rest is done."""
    first = pod.snakemake(*WORDS)
    pod.first_kept()
    for killed in list(pod.cluster.pods):
        subprocess.run(["docker", "kill", killed], check=True, capture_output=True)
    assert first.wait(WITHIN_S) != 0
    assert pod.snakemake(*WORDS).wait(WITHIN_S) == 0, pod.said()
    assert pod.digests() == digests
    assert pod.from_cache() >= 1
