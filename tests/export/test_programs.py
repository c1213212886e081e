"""Wireshark's programs and flent's open what is written, and find what run.json tells."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.lab.conftest import Cli
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
NEEDS_TSHARK = pytest.mark.skipif(not shutil.which("tshark"), reason="Debian's tshark is missing")
RUNS: dict[str, tuple[Mapped, Mapped]] = {
    "FIFO that is full": ({"kind": "pfifo", "limit": 30}, {}),
    "CoDel that drops": ({"kind": "codel"}, {}),
    "CoDel that marks": ({"kind": "codel", "ecn": True}, {"ecn": True}),
    "IPv6": ({"kind": "pie"}, {"family": 6}),
}
HEADERS = {"record": ["packets", "headers"]}
MARKED = 'frame.comment matches "^CE mark"'
DROPPED = 'frame.comment matches "^dropped"'
SENT_AGAIN = "tcp.analysis.retransmission || tcp.analysis.out_of_order"


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest, lab: Lab) -> Run:
    """Two flows and pings through a queue."""
    queue, keys = RUNS[request.param]
    flows = (bulk(**keys), bulk(cc="reno", **keys), flow("ping"))
    return lab(dumbbell(*flows, queue=queue))


@pytest.fixture(params=["IPv6", "CoDel that marks"])
def with_headers(request: pytest.FixtureRequest, lab: Lab) -> Run:
    """The same, and the headers recorded."""
    queue, keys = RUNS[request.param]
    flows = (bulk(**keys), bulk(cc="reno", **keys), flow("ping"))
    return lab(dumbbell(*flows, queue=queue, **HEADERS))


def tshark(file: Path, *words: str) -> list[str]:
    """The lines that it writes of a file; it must not complain."""
    command = ["tshark", "-r", str(file), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Running as")]
    assert (done.returncode, complaints) == (0, [])
    return done.stdout.splitlines()


def within(run: Run) -> pl.DataFrame:
    """The packets that run.json counts in both directions."""
    end = round(run.content["virtual_s"] * 1e9)
    return run.table("packets").filter(pl.col("enqueue_ns").is_between(0, end))


@NEEDS_TSHARK
def test_tshark_finds_what_the_run_tells(run: Run, sandglass: Cli, tmp_path: Path) -> None:
    done = sandglass("export", run.path, "--pcapng", "arrival.pcapng")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "arrival.pcapng"
    bottleneck = run.content["bottleneck"]
    forward = 'frame.interface_name == "bottleneck forward"'
    assert len(tshark(file, "-Y", forward)) == bottleneck["packets"]
    assert len(tshark(file, "-Y", f"{forward} && {DROPPED}")) == bottleneck["drops"]
    assert len(tshark(file, "-Y", f"{forward} && {MARKED}")) == bottleneck["marks"]
    again = sum(flow["retransmits"] or 0 for flow in run.content["flows"])
    assert len(tshark(file, "-Y", SENT_AGAIN)) == again
    malformed = "_ws.malformed || ip.checksum.status == 0"
    assert tshark(file, "-o", "ip.check_checksum:TRUE", "-Y", malformed) == []
    assert within(run).height == len(tshark(file))


@NEEDS_TSHARK
def test_recorded_headers_have_what_is_else_unknown(
    with_headers: Run, sandglass: Cli, tmp_path: Path
) -> None:
    run = with_headers
    sandglass("export", run.path, "--pcapng", "run.pcapng")
    file = tmp_path / "run.pcapng"
    again = sum(flow["retransmits"] or 0 for flow in run.content["flows"])
    assert len(tshark(file, "-Y", SENT_AGAIN)) == again
    [client] = tshark(file, "-Y", "tcp.flags == 0x02 || tcp.flags == 0xc2", "-T", "fields",
                      "-e", "tcp.options.mss_val", "-c", "1")  # fmt: skip
    assert int(client) in (1440, 1460)
    echoes = tshark(file, "-Y", "icmp.type == 8", "-T", "fields", "-e", "icmp.seq")
    assert len(echoes) == run.content["flows"][2]["echoes"]
    assert tshark(file, "-Y", "_ws.malformed || tcp.analysis.ack_lost_segment") == []
    if run.content["flows"][0]["ecn"]:
        assert tshark(file, "-Y", "tcp.flags.ece == 1 && tcp.flags.syn == 0")


@NEEDS_TSHARK
def test_marks_are_in_the_headers_of_what_leaves(run: Run, sandglass: Cli, tmp_path: Path) -> None:
    sandglass("export", run.path, "--pcapng", "departure.pcapng", "--at", "departure")
    file = tmp_path / "departure.pcapng"
    bottleneck = run.content["bottleneck"]
    marked = "ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3"
    assert len(tshark(file, "-Y", marked)) == bottleneck["marks"]
    dropped = 'frame.interface_name == "bottleneck forward dropped"'
    assert len(tshark(file, "-Y", dropped)) == bottleneck["drops"]


@pytest.mark.skipif(not shutil.which("capinfos"), reason="Debian's wireshark-common is missing")
def test_capinfos_counts_the_packets(run: Run, sandglass: Cli, tmp_path: Path) -> None:
    sandglass("export", run.path, "--pcapng", "run.pcapng")
    told = subprocess.run(
        ["capinfos", "-M", "-c", "-o", str(tmp_path / "run.pcapng")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"Number of packets:   {within(run).height}\n" in told
    assert "Strict time order:   True" in told


def test_flent_shows_the_flows(lab: Lab, sandglass: Cli) -> None:
    flows = (bulk(), bulk(cc="reno"), flow("ping"))
    run = lab(dumbbell(*flows, queue={"kind": "pfifo", "limit": 30}))
    done = sandglass("export", run.path, "--flent", "run.flent.gz")
    assert done.returncode == 0, done.stderr
    assert "flent --plot upload_with_ping run.flent.gz" in done.stdout
    shown = sandglass("exec", "flent", "-f", "summary", "run.flent.gz").stdout
    found = {
        line.split(" : ")[0].strip(): float(line.split(" : ")[1].split()[0])
        for line in shown.splitlines()
        if " : " in line
    }
    for flow_ in run.content["flows"][:2]:
        name = f"TCP upload::{flow_['id']}"
        assert found[name] == pytest.approx(flow_["goodput_mbit"], rel=0.03)
    answers = run.table("rtt")["rtt_ns"].drop_nulls().to_numpy()
    assert found["Ping (ms) ICMP"] == pytest.approx(answers.mean() / 1e6, rel=0.01)


def test_tables_as_csv_are_the_tables(lab: Lab, sandglass: Cli, tmp_path: Path) -> None:
    run = lab(dumbbell(bulk(), queue={"kind": "codel"}))
    for _ in range(2):
        done = sandglass("export", run.path, "--csv", "below/tables")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is there already" in done.stderr
    written = sorted(path.name for path in (tmp_path / "below" / "tables").iterdir())
    assert written == ["acks.csv", "flows.csv", "packets.csv", "queues.csv"]
    packets = pl.read_csv(tmp_path / "below" / "tables" / "packets.csv", infer_schema_length=None)
    told = run.table("packets")
    assert packets.columns == told.columns
    assert packets["enqueue_ns"].equals(told["enqueue_ns"])


def test_export_says_what_it_can_do(lab: Lab, sandglass: Cli) -> None:
    run = lab(dumbbell(bulk(), queue={"kind": "codel"}, record=["goodput"]))
    nothing = sandglass("export", run.path)
    assert nothing.returncode == 2
    assert "--pcapng FILE" in nothing.stderr
    for words in (("--pcapng", "run.pcapng"), ("--flent", "run.flent.gz")):
        failed = sandglass("export", run.path, *words)
        assert failed.returncode == 1
        assert "the experiment has to record" in failed.stderr
