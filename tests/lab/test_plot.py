"""A run drawn over time: what is drawn adds up to what run.json tells."""

from pathlib import Path

import polars as pl
import pytest

from sandglass.errors import UsageError
from sandglass.results import plot, series
from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
DURATION_S = 4
STEP_NS = DURATION_S * 1_000_000_000 // plot.STEPS
CODEL = {"kind": "codel"}


@pytest.fixture
def run(lab: Lab) -> Run:
    """Two flows that share a link, and pings."""
    flows = (bulk(cc="cubic"), bulk(cc="reno", start="2s"), flow("ping", interval="500ms"))
    return lab(dumbbell(*flows, queue=CODEL, duration=f"{DURATION_S}s"))


def panels(run: Run) -> dict[str, pl.DataFrame]:
    return dict(plot.panels(series.load(run.path, {}), STEP_NS))


def test_throughput_adds_up_to_what_each_flow_sent(run: Run) -> None:
    drawn = panels(run)["Throughput, bottleneck (Mb/s)"]
    for number in (1, 2):
        sent = run.packets(flow=number).filter(
            pl.col("payload_bytes") > 0,
            pl.col("dequeue_ns").is_between(0, DURATION_S * 1_000_000_000, closed="left"),
        )
        megabits = sum(drawn.filter(flow=number)["y"]) * STEP_NS / 1e9
        assert megabits == pytest.approx(8e-6 * sum(sent["size_bytes"]))
    before = drawn.filter(pl.col("flow") == 2, pl.col("step") < plot.STEPS // 2)
    assert before["y"].to_list() == [0] * (plot.STEPS // 2)


def test_windows_delays_and_pings_are_those_recorded(run: Run) -> None:
    drawn = panels(run)
    window = drawn["Congestion window (packets)"].filter(flow=1, step=50)["y"].item()
    acks = run.table("acks").filter(flow=1).filter(pl.col("time_ns") // STEP_NS == 50)
    assert window == pytest.approx(acks["cwnd_packets"].mean())
    delays = run.content["bottleneck"]["queue_delay_ms"]
    assert 0 < max(drawn["Queueing delay, bottleneck (ms)"]["y"]) <= delays["max"]
    answers = drawn["Round-trip time of pings (ms)"]
    assert answers["y"].to_list() == (run.table("rtt")["rtt_ns"] / 1e6).to_list()


def test_the_picture_repeats(run: Run, tmp_path: Path) -> None:
    for name in ("one", "again.svg"):  # with or without its ending
        plot.plot(run.path, tmp_path / "below" / name)
    pictures = [(tmp_path / "below" / f"{name}.svg").read_bytes() for name in ("one", "again")]
    assert pictures[0] == pictures[1]


def test_it_lies_beside_the_run_and_says_what_the_packets_met(run: Run) -> None:
    plot.plot(run.path, None)
    assert (run.path / "plot.svg").is_file()
    assert (run.path / "plot.png").is_file()
    loaded = series.load(run.path, {})
    assert plot.origin(loaded).startswith("bottleneck codel, 10mbit; RTT 40ms. Seed 1, digest ")


def test_many_flows_have_one_line_each_and_one_name(lab: Lab) -> None:
    crowd = lab(dumbbell(bulk(cc="reno", count=9), queue=CODEL, duration="1s"))
    shown = plot.draw(series.load(crowd.path, {})).data
    assert isinstance(shown, pl.DataFrame)
    assert shown["flow"].n_unique() == 9
    assert shown["label"].unique().to_list() == [plot.ALL]


def test_without_records_it_is_how_long_flows_took(lab: Lab) -> None:
    flows = bulk(cc="reno", size="100kB", start_within="1s")
    runs = lab(dumbbell(flows, queue=CODEL, duration="2s", record=[], repeat=3))
    shown = plot.draw(series.load(runs.path, {})).data
    assert isinstance(shown, pl.DataFrame)
    assert shown["took"].to_list() == sorted(runs.table("flows")["fct_s"])
    assert shown["share"].to_list() == pytest.approx([1 / 3, 2 / 3, 1])


def test_without_records_it_says_so(lab: Lab) -> None:
    bare = lab(dumbbell(bulk(cc="reno"), queue=CODEL, duration="1s", record=[]))
    with pytest.raises(UsageError, match="recorded nothing to draw"):
        plot.draw(series.load(bare.path, {}))
