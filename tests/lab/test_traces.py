"""Traces outside of the bottleneck: what sends by one, and the command that writes them."""

import subprocess
from pathlib import Path

import pytest

from sandglass.experiment import reading, synthetic
from sandglass.experiment.trace import parsed
from tests.lab.conftest import command
from tests.lab.experiments import Lab, bulk, dumbbell, flow, run, written

MS = 1_000_000
PFIFO = {"kind": "pfifo", "limit": 1000}


@pytest.mark.lab
def test_datagrams_are_sent_when_a_trace_says(tmp_path: Path) -> None:
    """Each as many as a burst has, and again from the end of the trace."""
    (tmp_path / "video").write_text("0\n0\n33\n66\n100\n")
    stream = flow("udp", pattern="trace", trace="video", burst=2, packet_size=500, duration="230ms")
    done = run(dumbbell(stream, queue=PFIFO, duration="1s"), tmp_path)
    first = [0, 0, 0, 0, 33, 33, 66, 66, 100, 100]
    due = [*first, *(100 + ms for ms in first), *(200 + ms for ms in first[:4])]
    assert done.datagrams()["due_ns"].to_list() == [ms * MS for ms in due]
    assert (done.path / "times-video").read_text() == "0\n0\n33\n66\n100\n"


@pytest.mark.thorough
@pytest.mark.lab
def test_any_link_may_follow_a_trace(lab: Lab) -> None:
    """Both ways, each with its own; what is in force is what the experiment says."""
    links = {"r1-r2": {"rate": {"trace": "wifi"}, "reverse": {"rate": {"trace": "cellular"}}}}
    done = lab(
        {
            "title": "test",
            "topology": "chain",
            "routers": 2,
            "links": links,
            "flows": [flow("udp", *ends, rate="60mbit") for ends in (("h1", "h2"), ("h2", "h1"))],
            "duration": "20s",
            "record": ["packets", "r1-r2"],
        }
    )
    for number, name in enumerate(("wifi", "cellular")):
        carried = sum(ms <= 20_000 for ms in synthetic.opportunities(name)) * 12e3 / 20e6
        payload = done.content["flows"][number]["goodput_mbit"]
        assert payload == pytest.approx(carried * 1472 / 1500, rel=0.01)
    [link] = done.content["bottlenecks"].values()
    for way in (link, link["reverse"]):  # full packets use each opportunity, and no more than all
        assert 0.99 < way["utilisation"] <= 1
    left = done.packets(bottleneck="r1-r2")["dequeue_ns"].drop_nulls()
    assert (left % MS < 2_000).all()


def test_the_command_writes_what_an_experiment_would_follow(tmp_path: Path) -> None:
    out = tmp_path / "own.trace"
    done = subprocess.run(
        command(Path(), "trace", "wifi", "--seconds", "5", "--seed", "3", "--out", str(out)),
        capture_output=True,
        text=True,
        check=True,
    )
    made = parsed(out.read_text(), "own.trace")
    assert made.ms == synthetic.opportunities("wifi", 3, 5)
    assert made.period_ms == 5000
    assert f"{len(made.ms)} opportunities in 5 s, {made.mean_bps / 1e6:.2f} Mb/s" in done.stdout


def test_a_filled_experiment_means_the_same(tmp_path: Path) -> None:
    """Rates and noise as the file has them, with their units."""
    experiment = dumbbell(
        bulk(),
        queue=PFIFO,
        rate={"trace": "wifi", "start": "10s"},
        noise={"phase": "packet", "host": "tail", "wan": "100us"},
    )
    loaded = reading.load(written(experiment, tmp_path / "one.yaml"))
    filled = loaded.filled()
    assert filled["bottleneck"]["rate"] == {"trace": "wifi", "start": "10s"}
    assert filled["noise"] == {
        "phase": "packet", "host": "tail", "nic": "0s", "wan": "100us", "wan_step": "10ms",
    }  # fmt: skip
    again = reading.load(written(filled, tmp_path / "two.yaml"))
    assert again.filled() == filled


def test_the_schema_knows_them() -> None:
    described = reading.schema()["properties"]["noise"]
    assert {"const": "testbed"}.items() <= described["anyOf"][0].items()
