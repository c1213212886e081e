"""flent's own tests run in the lab, and their data files are kept whole."""

import gzip
import json
from pathlib import Path

import pytest

from sandglass.agent import pyfile
from sandglass.errors import SandglassError
from sandglass.install import builds
from tests.lab.conftest import Cli
from tests.lab.experiments import Lab, Run, dumbbell, flow
from tests.lab.experiments import run as once

pytestmark = pytest.mark.lab


@pytest.fixture
def run(lab: Lab) -> Run:
    """tcp_upload of 5 s; flent itself measures 5 s before and after."""
    return lab(
        dumbbell(
            flow("flent:tcp_upload", duration="5s"),
            queue={"kind": "fq_codel"},
            duration="16s",
            title="An upload",
        )
    )


def test_the_data_file_is_kept(run: Run) -> None:
    file = run.path / run.content["flows"][0]["data"]
    assert file.name == "flent-1.flent.gz"
    data = json.loads(gzip.decompress(file.read_bytes()))
    assert data["metadata"]["NAME"] == "tcp_upload"
    assert data["metadata"]["TITLE"] == "An upload"
    assert len(data["x_values"]) == len(data["results"]["TCP upload"])
    upload = [value for value in data["results"]["TCP upload"] if value is not None]
    assert sum(upload) / len(upload) == pytest.approx(9.5, rel=0.1)
    ping = [value for value in data["results"]["Ping (ms) ICMP"] if value is not None]
    assert min(ping) == pytest.approx(40.2, abs=0.2)


def test_its_packets_are_recorded_as_the_flow_s(run: Run) -> None:
    packets = run.packets(flow=1)
    assert packets["size_bytes"].to_numpy().sum() * 8 / 5 / 10e6 == pytest.approx(1, abs=0.1)


@pytest.mark.thorough
def test_a_tests_parameters_and_further_hosts(lab: Lab) -> None:
    many = flow("flent:tcp_nup", duration="5s", parameters={"upload_streams": 3})
    two = flow(
        "flent:rtt_fair4be", "s2", "d1", hosts=["d2", "d1", "d2"], duration="5s", start="17s"
    )
    found = lab(dumbbell(many, two, queue={"kind": "fq_codel"}, duration="33s", pairs=2, record=[]))
    for number, series in ((0, "TCP upload::3"), (1, "TCP upload")):
        file = found.path / found.content["flows"][number]["data"]
        results = json.loads(gzip.decompress(file.read_bytes()))["results"]
        assert any(name.startswith(series) for name in results), list(results)


@pytest.mark.parametrize("irtt", [True, False])
def test_voip_has_the_one_way_delay(lab: Lab, irtt: bool) -> None:
    """By irtt, whose datagrams hold 172 bytes; and by D-ITG."""
    call = flow("flent:voip", duration="5s", irtt=irtt)
    found = lab(dumbbell(call, queue={"kind": "fq_codel"}, duration="8s", record=[]))
    data = json.loads(gzip.decompress((found.path / "flent-1.flent.gz").read_bytes()))
    delays = [value for value in data["results"]["VoIP::delay"] if value is not None]
    assert len(delays) >= 20
    sent = 172 + 8 + 20 + 14 if irtt else 92 + 8 + 20 + 14
    assert min(delays) == pytest.approx(20 + sent * 8 / 10e3, abs=0.05)


@pytest.mark.parametrize(
    ("test", "parameters", "said"),
    [
        ("http", {}, "http-getter is not installed, flent:http needs it"),
        ("bursts", {}, "traffic-gen is not installed"),
        ("cubic_ledbat", {}, "the kernel has no congestion control ledbat"),
        ("tcp_nup", {}, "Missing required test parameter: upload_streams"),
        ("tcp_upload", {"tcp_cong_control": "fast"}, "the kernel has no congestion control fast"),
    ],
)
def test_what_a_test_lacks_is_said_before_it_starts(
    lab: Lab, test: str, parameters: dict[str, str], said: str
) -> None:
    lacking = flow(f"flent:{test}", duration="10s", parameters=parameters)
    with pytest.raises(SandglassError, match=said):
        lab(dumbbell(lacking, queue={"kind": "fq_codel"}, duration="20s", record=[]))


def test_cc_is_that_of_its_connections(lab: Lab) -> None:
    upload = flow("flent:tcp_upload", duration="5s", cc="reno")
    found = lab(dumbbell(upload, queue={"kind": "fq_codel"}, duration="16s", record=[]))
    data = json.loads(gzip.decompress((found.path / "flent-1.flent.gz").read_bytes()))
    assert data["metadata"]["SERIES_META"]["TCP upload"]["CONG_CONTROL"] == "reno"


def test_cc_of_a_test_that_chooses_itself_is_refused(lab: Lab) -> None:
    compared = flow("flent:cubic_reno", duration="5s", cc="bbr")
    with pytest.raises(SandglassError, match="cubic_reno does not take cc: bbr"):
        lab(dumbbell(compared, queue={"kind": "fq_codel"}, duration="16s", record=[]))


@pytest.mark.thorough
def test_a_batch_file_of_flents(sandglass: Cli, tmp_path: Path) -> None:
    """Without fair queueing its pings wait behind the upload."""
    (tmp_path / "flent.batch").write_text((builds.ROOT / "examples/flent.batch").read_text())
    done = sandglass("exec", "flent", "-B", "flent.batch", "-b", "queues")
    assert done.returncode == 0, done.stdout + done.stderr
    longest = {}
    for file in (tmp_path / "queues").glob("*.flent.gz"):
        data = json.loads(gzip.decompress(file.read_bytes()))
        pings = [value for value in data["results"]["Ping (ms) ICMP"] if value is not None]
        longest[data["metadata"]["TITLE"]] = max(pings)
    assert longest.keys() == {"pfifo", "codel", "fq_codel"}
    assert longest["fq_codel"] < 50 < longest["codel"] < longest["pfifo"]


@pytest.mark.thorough
@pytest.mark.parametrize("test", ["voip", "http", "rrul46"])
def test_a_line_of_the_table(test: str) -> None:
    """Two that work and one that cannot, in docs/flent.md as `bench flent` finds them."""
    bench = pyfile.load(str(builds.ROOT / "bench/flent.py"), "flent_bench")
    found = bench.outcome(test, bench.tests()[test])
    assert bench.row(found) in (builds.ROOT / "docs/flent.md").read_text().splitlines(True)


@pytest.mark.thorough
@pytest.mark.lab
def test_flows_that_overlap_share_the_servers_of_a_host(tmp_path: Path) -> None:
    """The second goes on, and starts, when the first has ended."""
    names = ("tcp_download", "rrul_be", "tcp_download")
    starts = ("0s", "2s", "9s")
    lasts = ("4s", "5s", "3s")
    experiment = dumbbell(
        *(
            flow(f"flent:{name}", source, start=start, duration=last)
            for name, source, start, last in zip(
                names, ("s1", "s2", "s1"), starts, lasts, strict=True
            )
        ),
        queue={"kind": "fq_codel"},
        pairs=2,
        duration="20s",
    )
    done = once(experiment, tmp_path)
    for number, name in enumerate(names, start=1):
        with gzip.open(done.path / f"flent-{number}.flent.gz", "rt") as file:
            data = json.load(file)
        for series, values in data["results"].items():
            assert any(value is not None for value in values[-25:]), (name, series)
