"""A web transient: parallel flows of random sizes that start within a window."""

import pytest

from sandglass.agent import draws
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell

pytestmark = pytest.mark.lab
ROOMY = {"kind": "pfifo", "limit": 1000}
SIZE = {"median": "30kB", "sigma": 1.2, "least": "1kB", "most": "200kB"}
COUNT = 8


def transient(*others: Mapped, count: int = COUNT, **keys: object) -> Mapped:
    """Flows of random sizes that start within 100 ms, and what flows besides."""
    flows = bulk(count=count, start="1s", start_within="100ms", size={"lognormal": SIZE})
    return dumbbell(flows, *others, queue=ROOMY, record=[], **keys)


def test_flows_have_the_sizes_and_starts_that_the_seed_draws(lab: Lab) -> None:
    flows = lab(transient()).table("flows")
    drawn = [
        draws.lognormal(1, f"size of flow {number}", 30_000, 1.2, 1000, 200_000)
        for number in range(1, COUNT + 1)
    ]
    assert flows["bytes"].to_list() == drawn
    assert flows["bytes"].n_unique() == flows["start_s"].n_unique() == COUNT
    assert flows["start_s"].is_between(1, 1.1).all()
    assert (flows["fct_s"] > 1.5 * 0.04).all()


def test_a_flow_draws_the_same_whatever_else_flows(lab: Lab) -> None:
    drawn = ("start_s", "bytes")
    alone = lab(transient(count=3)).table("flows").select(drawn)
    among = lab(transient(bulk(size="50kB", cc="reno"))).table("flows").select(drawn)
    assert among.head(3).equals(alone)


def test_a_list_gives_a_flow_for_each_size_in_each_copy(lab: Lab) -> None:
    sizes = bulk(size=["10kB", "2kB", "30kB"], count=2)
    flows = lab(dumbbell(sizes, queue=ROOMY, record=[])).table("flows")
    assert flows["bytes"].to_list() == 2 * [10_000, 2_000, 30_000]


def test_a_repetition_is_a_run(lab: Lab) -> None:
    repeated = lab(transient(repeat=3)).table("flows")
    assert repeated["bytes"].n_unique() > 2 * COUNT
    for seed in (1, 3):
        assert lab(transient(), seed).table("flows").equals(repeated.filter(seed=seed))
