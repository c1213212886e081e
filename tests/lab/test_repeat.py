"""Many seeds in one lab give what each gives in a lab of its own."""

from typing import Any

import polars as pl
import pytest

from tests.lab.experiments import Lab, bulk, dumbbell

pytestmark = pytest.mark.lab
SEEDS = 5
QUEUES: dict[str, dict[str, Any]] = {
    "pfifo": {"kind": "pfifo", "limit": 40},
    "codel": {"kind": "codel", "ecn": True},
    "pie": {"kind": "pie", "ecn": True},
    "fq_codel": {"kind": "fq_codel"},
}


def short_flows(queue: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Three flows that start at random and share a bottleneck for some seconds."""
    flow = bulk(cc="reno", ecn=True, size="600kB", start_within="1s", count=3)
    return dumbbell(flow, queue=queue, record=[], **keys)


DRAWING = {"links": {"d1-r2": {"delay": "2ms", "jitter": "1ms", "loss": "1%"}}}


def is_a_run_each(lab: Lab, kind: str, **keys: Any) -> None:
    """Whether each repetition is what its seed gives in a lab that runs nothing else."""
    repeated = lab(short_flows(QUEUES[kind], repeat=SEEDS, **keys)).table("flows")
    for seed in (1, 2, SEEDS):
        alone = lab(short_flows(QUEUES[kind], **keys), seed).table("flows")
        assert alone.equals(repeated.filter(seed=seed))


@pytest.mark.parametrize("kind", QUEUES)
def test_a_repetition_is_a_run(lab: Lab, kind: str) -> None:
    is_a_run_each(lab, kind)


@pytest.mark.parametrize("keys", [{}, {"noise": "testbed"}])
def test_a_repetition_on_a_wire_that_draws_is_a_run(lab: Lab, keys: dict[str, str]) -> None:
    is_a_run_each(lab, "codel", **DRAWING, **keys)


def test_every_seed_differs(lab: Lab) -> None:
    flows = lab(short_flows(QUEUES["codel"], repeat=SEEDS)).table("flows")
    assert flows["seed"].unique(maintain_order=True).to_list() == list(range(1, SEEDS + 1))
    assert flows["start_s"].n_unique() == flows.height
    assert flows["start_s"].is_between(0, 1).all()


def test_round_trips_are_drawn(lab: Lab) -> None:
    """A flow of one window lasts a round trip and a half, and what it takes to send it."""
    one_window = dumbbell(
        bulk(size="2kB"), queue={"kind": "pfifo"}, record=[], rtt="100ms", rtt_spread="10ms"
    )
    round_trips_ms = lab(one_window | {"repeat": 40}).table("flows")["fct_s"] / 1.5 * 1e3
    assert round_trips_ms.n_unique() == 40
    assert (round_trips_ms >= 90).all()
    assert (round_trips_ms <= 113).all()
    assert (round_trips_ms < 95).any()
    assert (round_trips_ms > 107).any()


def test_its_time_is_that_of_its_flows(lab: Lab) -> None:
    run = lab(short_flows(QUEUES["codel"], repeat=SEEDS))
    ends = run.table("flows").group_by("seed").agg(pl.col("end_s").max())["end_s"]
    assert run.content["virtual_s"] == pytest.approx(ends.sum())
    assert run.content["bottleneck"] is None
