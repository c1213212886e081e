"""A web page: what is fetched over which connection, and how long it takes."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.install.builds import ROOT
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow, run
from workloads import page

pytestmark = pytest.mark.lab
RATE, RTT_S = 10_000_000, 0.04
PAYLOAD, PACKET = 1448, 1514  # bytes of a full packet, without and with headers
ROOMY = {"kind": "pfifo", "limit": 1000}
HTML = 20_000
OBJECTS = [30_000, 2_000, 100_000, 1_000, 5_000, 40_000, 3_000, 70_000, 1, 12_000]
RANDOM = {"count": 10, "size": {"lognormal": {"median": "12kB", "sigma": 1.2, "most": "200kB"}}}


def written(sizes: list[int]) -> list[str]:
    return [f"{size}B" for size in sizes]


def load(**keys: Any) -> Mapped:
    """A page of ten objects, with `keys` of its flow's."""
    page = {"html": f"{HTML}B", "objects": written(OBJECTS), "start": "1s"}
    return dumbbell(flow("page", **(page | keys)), queue=ROOMY)


def random_pages(**keys: Any) -> Mapped:
    """Two pages whose objects are drawn, and that start at random."""
    pages = flow("page", html="20kB", objects=RANDOM, start_within="1s", count=2, cc="reno")
    return dumbbell(pages, queue={"kind": "codel"}, record=[], **keys)


@pytest.fixture
def one(lab: Lab) -> Run:
    return lab(load(cc="reno", ecn=True))


def test_what_comes_is_the_html_and_the_objects_that_it_names(one: Run) -> None:
    assert one.table("objects")["object"].to_list() == list(range(len(OBJECTS) + 1))
    assert one.table("objects")["bytes"].to_list() == [HTML, *OBJECTS]
    [found] = one.content["flows"]
    assert found["bytes"] == HTML + sum(OBJECTS)
    sent = one.packets(flow=1)["payload_bytes"].sum()
    answers = sent - found["bytes"]
    assert 200 < answers / (len(OBJECTS) + 1) < 300, "besides, the header of each answer"


def test_the_html_comes_first_and_then_six_connections_are_busy(one: Run) -> None:
    objects = one.table("objects")
    html, others = objects.filter(object=0), objects.filter(pl.col("object") > 0)
    assert (others["start_ns"] > html["end_ns"].item()).all()
    # One request at a time on each.
    for _, each in objects.sort("start_ns").group_by("connection"):
        assert (each["start_ns"][1:] > each["end_ns"][:-1]).all()
    # The first object goes on with the HTML's connection, the next ones open their own.
    assert others["connection"][:6].to_list() == [1, 2, 3, 4, 5, 6]
    # Each that follows is asked for when a connection has become idle, and over that one.
    for later in others[6:].iter_rows(named=True):
        idle = objects.filter(pl.col("end_ns") < later["start_ns"], connection=later["connection"])
        assert later["start_ns"] - idle["end_ns"].max() < 10_000
    assert one.packets("reverse", flow=1)["sport"].n_unique() == 6


def test_it_takes_three_round_trips_and_the_transmission_at_least(one: Run) -> None:
    """Handshake, the HTML's request, the objects' requests, and every byte over the link."""
    [found] = one.content["flows"]
    sent = (HTML + sum(OBJECTS)) * PACKET / PAYLOAD
    assert 3 * RTT_S + sent * 8 / RATE < found["plt_s"] < 1
    assert found["end_s"] == pytest.approx(1 + found["plt_s"])
    assert found["end_s"] == pytest.approx(max(one.table("objects")["end_ns"]) / 1e9)
    assert one.table("flows")["plt_s"].to_list() == [found["plt_s"]]


def test_a_page_of_one_small_object_takes_just_that(lab: Lab) -> None:
    [found] = lab(load(html="1kB", objects=["1kB"])).content["flows"]
    assert found["plt_s"] == pytest.approx(3 * RTT_S, abs=3e-3)
    assert found["ttfb_s"] == pytest.approx(2 * RTT_S, abs=2e-3)


def test_the_server_s_sockets_have_the_flow_s_congestion_control_and_ecn(one: Run) -> None:
    [found] = one.content["flows"]
    assert (found["cc"], found["ecn"]) == ("reno", True)
    assert one.table("acks").filter(src="s1", flow=1)["cc"].unique().to_list() == ["reno"]
    data = one.packets(flow=1).filter(pl.col("payload_bytes") > 0)
    assert data["ecn_in"].unique().to_list() == [2]


def test_losses_are_those_of_all_connections(lab: Lab) -> None:
    short = dumbbell(
        flow("page", html="20kB", objects=written(OBJECTS)), queue={"kind": "pfifo", "limit": 20}
    )
    found = lab(short)
    data = found.packets(flow=1).filter(pl.col("payload_bytes") > 0)
    lost = data.filter(pl.col("drop_ns").is_not_null())
    assert lost["dport"].n_unique() > 1
    assert found.content["flows"][0]["retransmits"] >= len(lost)


def test_pages_on_the_same_hosts_are_told_apart(lab: Lab) -> None:
    pages = [flow("page", html="20kB", objects=written(sizes)) for sizes in (OBJECTS, [50_000])]
    both = lab(dumbbell(*pages, bulk(duration="1s"), queue=ROOMY))
    for number, sizes in ((1, OBJECTS), (2, [50_000])):
        assert both.table("objects").filter(flow=number)["bytes"].to_list() == [HTML, *sizes]
        sent = both.packets(flow=number)["payload_bytes"].sum()
        assert 0 < sent - HTML - sum(sizes) < 300 * (len(sizes) + 1)


def test_twice_gives_the_same_digest(lab: Lab, tmp_path: Path) -> None:
    experiment = random_pages()
    assert run(experiment, tmp_path).content["digest"] == lab(experiment).content["digest"]


def test_a_repetition_is_a_run(lab: Lab) -> None:
    repeated = lab(random_pages(repeat=3))
    objects = repeated.table("objects")
    assert objects.filter(pl.col("object") > 0)["bytes"].n_unique() > 50  # of 60
    for seed in (1, 3):
        alone = lab(random_pages(), seed)
        for table in ("flows", "objects"):
            assert alone.table(table).equals(repeated.table(table).filter(seed=seed))


def test_the_example_loads_a_page_of_40_objects_in_each_repetition(lab: Lab) -> None:
    example = yaml.safe_load((ROOT / "examples" / "page.yaml").read_text())
    run = lab(example | {"repeat": 3})
    assert run.table("objects").group_by("seed").len()["len"].to_list() == [41, 41, 41]
    pages = run.table("flows").filter(workload="page")
    assert pages["plt_s"].is_between(3 * 0.05, 5).all()


@pytest.mark.parametrize("objects", [1, 9, 10, 999, 1000])
def test_html_has_room_for_the_names_in_the_least_size_allowed(objects: int) -> None:
    """The least size is the experiment's, experiment.HTML_HEAD and HTML_LINE."""
    least = 100 + 20 * objects
    written = page.html(least, objects)
    assert len(written) == least
    assert [int(name) for name in page.IMAGE.findall(written)] == list(range(1, objects + 1))
