"""The goodput record: the flows' bytes over time, taken from the ACKs."""

import polars as pl
import pytest

from tests.lab.experiments import Lab, bulk, dumbbell, flow

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


def test_of_a_page_it_is_the_sum_over_its_connections(lab: Lab) -> None:
    page = flow("page", html="20kB", objects=["30kB", "2kB", "100kB", "1kB", "5kB", "40kB", "3kB"])
    run = lab(dumbbell(page, queue={"kind": "codel"}, record=["acks", "goodput"]))
    goodput = run.table("goodput")
    assert (goodput["bytes"].cast(pl.Int64).diff().drop_nulls() >= 0).all()
    assert goodput["time_ns"].n_unique() == goodput.height
    of_server = pl.col("src") == run.content["flows"][0]["from"]
    client_port = pl.when(of_server).then("dport").otherwise("sport")
    of_connections = run.table("acks").group_by(client_port).agg(pl.col("bytes_acked").max())
    assert of_connections.height > 1
    assert goodput["bytes"].last() == of_connections["bytes_acked"].sum()


def test_a_flow_that_ends_before_its_handshake_has_brought_nothing(lab: Lab) -> None:
    """Its last packet waits for a second behind others, as the first one did."""
    run = lab(
        dumbbell(
            flow("udp", rate="11mbit", duration="20s"),
            bulk(source="s2", to="d2", start="15s", duration="1500ms"),
            pairs=2,
            queue={"kind": "pfifo", "limit": "1s"},
            duration="20s",
        )
    )
    late = run.content["flows"][1]
    assert (late["bytes"], late["goodput_mbit"]) == (0, 0)


def test_a_flow_whose_data_come_before_its_handshake_is_over_ends(lab: Lab) -> None:
    """Many flows on a slow link: of one, the last packet of the handshake is lost."""
    flows = bulk(cc="reno", size="50kB", count=16, start_within="100ms")
    queue = {"kind": "pie_draft", "limit": 50}
    run = lab(dumbbell(flows, queue=queue, rate="1mbit", rtt="100ms", duration="60s"))
    assert [each["bytes"] for each in run.content["flows"]] == [50_000] * 16
