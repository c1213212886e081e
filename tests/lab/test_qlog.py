"""What QUIC programs write of themselves: qlog files become a table by the experiment's clock."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.records import qlog
from sandglass.records.qlog import QlogError, Trace
from sandglass.results import plot, series
from sandglass.results.view import streams
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow

WALL_MS = 1_700_000_030_000.0
"""A time in 2023."""
METRICS: Mapped = {"congestion_window": 12000, "bytes_in_flight": 2400, "smoothed_rtt": 40.5}
EVENTS: list[Mapped] = [
    {"time": 1, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}}},
    {"time": 2, "name": "recovery:metrics_updated", "data": METRICS},
    {"time": 3, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 7}}},
    {"time": 4, "name": "recovery:packet_lost", "data": {"is_mtu_probe_packet": True}},
    {"time": 5, "name": "recovery:congestion_state_updated", "data": {"new": "recovery"}},
    {"time": 6, "name": "recovery:metrics_updated", "data": {"cwnd": 6000, "ssthresh": 6000}},
]
HEAD: Mapped = {"qlog_version": "0.3", "trace": {"vantage_point": {"type": "server"}}}


def sequence(head: Mapped, events: list[Mapped], before: str = "\x1e") -> bytes:
    return "".join(f"{before}{json.dumps(each)}\n" for each in (head, *events)).encode()


def whole(events: list[Mapped], **common: object) -> bytes:
    trace = {"vantage_point": {"type": "server"}, "common_fields": common, "events": events}
    return json.dumps({"qlog_version": "0.3", "traces": [trace]}).encode()


def only(content: bytes) -> Trace:
    [found] = qlog.traces(content)
    return found


LATER = [
    each | {"name": each["name"].replace("recovery:", "quic:recovery_")}
    if "metrics" in each["name"]
    else each | {"name": f"quic:{each['name'].partition(':')[2]}"}
    for each in EVENTS
]


@pytest.mark.parametrize(
    "content",
    [
        whole(EVENTS),
        whole(LATER),
        json.dumps(json.loads(whole(EVENTS)), indent=1).encode(),
        sequence(HEAD, EVENTS),
        sequence(HEAD, EVENTS, before=""),
        sequence(HEAD, EVENTS) + b'\x1e{"time": 7, "name": "recov',
        sequence(HEAD, EVENTS, before="") + b'{"time": 7, "na',
    ],
)
def test_each_form_tells_the_state_after_each_event(content: bytes) -> None:
    """The names of drafts 0 and 10; a whole, a sequence, lines; one that was broken off."""
    found = only(content)
    assert (found.end, found.first_sent_ms) == ("server", 1)
    start = {"lost_packets": 0, "largest_bytes": 1200}
    first = {"cwnd_bytes": 12000, "inflight_bytes": 2400, "srtt_us": 40500} | start
    lost = first | {"lost_packets": 1}
    in_recovery = lost | {"state": "recovery"}
    last = in_recovery | {"cwnd_bytes": 6000, "ssthresh_bytes": 6000}
    told = [(row.pop("time_ms"), row) for row in found.rows]
    assert told == [(2, first), (3, lost), (5, in_recovery), (6, last)]


@pytest.mark.parametrize(
    ("common", "reference_ms"),
    [
        ({}, 0),
        ({"time_format": "relative", "reference_time": WALL_MS}, WALL_MS),
        ({"reference_time": {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"}}, 0),
        ({"reference_time": {"clock_type": "monotonic", "epoch": "unknown"}}, None),
        (
            {
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": "2023-11-14T22:13:50.000000000Z",
                }
            },
            WALL_MS,
        ),
    ],
)
def test_what_times_count_from(common: Mapped, reference_ms: float | None) -> None:
    assert only(whole(EVENTS, **common)).reference_ms == reference_ms


def test_times_may_be_differences() -> None:
    found = only(whole(EVENTS, time_format="relative_to_previous_event"))
    assert [row["time_ms"] for row in found.rows] == [3, 6, 15, 21]


def test_events_of_several_groups_are_several_connections() -> None:
    other = EVENTS[2] | {"group_id": "b2"}
    one, two = qlog.traces(sequence(HEAD, [each | {"group_id": "a1"} for each in EVENTS] + [other]))
    assert (len(one.rows), len(two.rows)) == (4, 1)


def test_a_threshold_that_is_not_set_yet_is_none() -> None:
    events = [EVENTS[1] | {"data": {"ssthresh": 2**64 - 1}}]
    assert only(whole(events)).rows[0]["ssthresh_bytes"] is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1e",
        b"no JSON",
        b"[1, 2]",
        b'{"traces": 3}',
        b'{"traces": [{"event_fields": [], "events": [[0, "recovery", "metrics_updated", {}]]}]}',
        b'{"traces": [{}]}',
        sequence(HEAD, EVENTS)[:60],
        whole([{"time": "soon", "name": "recovery:packet_lost"}]),
        whole([{"time": 1e400, "name": "recovery:packet_lost"}]),
        whole([EVENTS[1] | {"data": {"smoothed_rtt": "slow"}}]),
        whole([EVENTS[1] | {"data": {"congestion_window": float("nan")}}]),
        b"[" * 100_000,
        whole([EVENTS[1] | {"data": {"cwnd": 1}}]).replace(b": 1}", b": " + b"9" * 5000 + b"}"),
    ],
)
def test_what_is_no_qlog_is_refused(content: bytes) -> None:
    with pytest.raises(QlogError):
        list(qlog.traces(content))


@pytest.mark.parametrize("wrong", [{"cwnd": -5}, {"smoothed_rtt": 1e12}])
def test_numbers_that_no_column_takes_are_told(wrong: Mapped, tmp_path: Path) -> None:
    (tmp_path / "command-1").mkdir()
    (tmp_path / "command-1" / "a.qlog").write_bytes(whole([EVENTS[1] | {"data": wrong}]))
    planned: Any = {"flows": [{"id": 1, "options": {}, "start_ns": 0, "src": "s1", "dst": "d1"}]}
    told: list[str] = []
    assert qlog.table(planned, tmp_path, 0, told.append) is None
    [warning] = told
    assert warning.startswith("command-1/a.qlog is no qlog that can be read")


SENDER = """
import json, os, socket, sys, time

out, clock = os.environ["SANDGLASS_OUT"], sys.argv[2]
now = time.time if clock == "wall" else time.monotonic
events, begin = [], 0.0 if clock == "wall" else now()
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(1, 6):
    link.sendto(bytes(1000), (sys.argv[1], 4000))
    at = (now() - begin) * 1000
    events.append({"time": at, "name": "transport:packet_sent", "data": {"raw": {"length": 1000}}})
    told = {"congestion_window": 1000 * number, "bytes_in_flight": 500, "smoothed_rtt": 40.0}
    events.append({"time": at, "name": "recovery:metrics_updated", "data": told})
    time.sleep(0.1)
events.append({"time": at, "name": "recovery:packet_lost", "data": {}})
common = {} if clock == "wall" else {"time_format": "relative", "reference_time": 0}
head = {"trace": {"vantage_point": {"type": "client"}, "common_fields": common}}
with open(f"{out}/log.sqlog", "w") as file:
    for each in (head, *events):
        file.write(chr(30) + json.dumps(each) + chr(10))
"""
SERVER = """
import json, os, time
told = {"congestion_window": 500, "bytes_in_flight": 100, "smoothed_rtt": 40}
event = {"time": time.time() * 1000, "name": "recovery:metrics_updated", "data": told}
trace = {"vantage_point": {"type": "server"}, "events": [event]}
with open(os.environ["SANDGLASS_OUT"] + "/log.qlog", "w") as file:
    json.dump({"traces": [trace]}, file)
with open(os.environ["SANDGLASS_OUT"] + "/broken.qlog", "w") as file:
    file.write("{")
time.sleep(1000)
"""


@pytest.fixture
def told(lab: Lab) -> Run:
    """Two senders, by the wall clock and by one that begins with them; a server of the first's."""
    return lab(
        dumbbell(
            flow("command", "d1", "s1", role="server", argv=["python3", "-c", SERVER]),
            flow("command", argv=["python3", "-c", SENDER, "{to}", "wall"], start="500ms"),
            flow("command", "s2", "d2", argv=["python3", "-c", SENDER, "{to}", "own"], start="1s"),
            bulk("s2", "d2"),
            queue={"kind": "pfifo", "limit": 100},
            pairs=2,
            duration="2s",
        )
    )


@pytest.mark.lab
def test_rows_have_the_time_of_the_packets_that_they_are_of(told: Run) -> None:
    """A clock is read right after a packet is sent; a host sends at once."""
    rows = told.table("qlog").filter(pl.col("end") == "client")
    for number in (2, 3):
        sent = told.packets(flow=number).filter(pl.col("size_bytes") > 1000)["enqueue_ns"].sort()
        told_ns = rows.filter(flow=number, lost_packets=0)["time_ns"]
        assert len(sent) == len(told_ns) == 5
        for ours, theirs in zip(sent, told_ns, strict=True):
            assert abs(ours - theirs) < 1_000
    assert [row["lost_packets"] for row in rows.filter(flow=2).to_dicts()] == [0] * 5 + [1]


@pytest.mark.lab
def test_a_server_speaks_of_its_clients_flow_and_a_broken_file_is_told(told: Run) -> None:
    rows = told.table("qlog")
    assert rows.filter(pl.col("end") == "server")["flow"].to_list() == [2]
    [warning] = [each for each in told.content["warnings"] if "qlog" in each]
    assert warning.startswith("command-1/broken.qlog is no qlog that can be read")


@pytest.mark.lab
def test_the_sender_is_drawn_beside_tcp(told: Run) -> None:
    run = series.load(told.path, {})
    found = list(streams.of(run))
    [own] = [each for each in found if each.kind == "qlog" and each.flow == 2]
    assert own.table["cwnd"].to_list() == [1, 2, 3, 4, 5, 5]
    assert {each.flow for each in found if each.kind == "acks"} == {4}
    lost = [each.table["count"].sum() for each in found if each.kind == "resent" and each.flow != 4]
    assert lost == [1, 1]
    windows = dict(plot.panels(run, 20_000_000))["Congestion window (packets)"]
    assert {*windows["flow"]} == {2, 3, 4}
    assert windows.filter(flow=2)["y"].max() == 5
