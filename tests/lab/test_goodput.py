"""The goodput record: the flows' bytes over time, taken from the ACKs."""

import polars as pl
import pytest

from tests.lab.experiments import Lab, bulk, dumbbell

pytestmark = pytest.mark.lab
TWO_FLOWS = dumbbell(bulk(), bulk(start="2s"), queue={"kind": "codel"}, duration="5s")


def test_it_is_the_acks_last_count_in_each_step(lab: Lab) -> None:
    run = lab(TWO_FLOWS | {"record": ["acks", "goodput"]})
    step_ns = 10_000_000
    last = (
        run.table("acks")
        .with_columns(time_ns=(pl.col("time_ns") // step_ns + 1) * step_ns)
        .group_by("time_ns", "flow", maintain_order=True)
        .agg(bytes=pl.col("bytes_acked").last())
    )
    goodput = run.table("goodput")
    assert goodput.equals(last)
    assert (goodput.filter(flow=2)["time_ns"] > 2 * 10**9).all()


def test_alone_it_leaves_no_acks(lab: Lab) -> None:
    run = lab(TWO_FLOWS | {"record": ["goodput"]})
    assert not (run.path / "acks.parquet").exists()
    both = lab(TWO_FLOWS | {"record": ["acks", "goodput"]})
    assert run.table("goodput").equals(both.table("goodput"))
