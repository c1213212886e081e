"""Any program as a flow: its words, its output, its end and its status."""

from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from tests.lab.experiments import Lab, Mapped, dumbbell, flow, run

pytestmark = pytest.mark.lab
QUEUE = {"kind": "pfifo", "limit": 100}


def program(*argv: str, source: str = "s1", to: str = "d1", **keys: object) -> Mapped:
    return flow("command", source, to, argv=list(argv), **keys)


def test_a_program_runs_on_its_host_and_its_output_is_kept(lab: Lab) -> None:
    server = program("iperf", "-s", source="d1", to="s1")
    client = program("iperf", "-c", "{to}", "-t", "5", "-f", "m", start="1s")
    found = lab(dumbbell(server, client, queue=QUEUE))
    told = found.content["flows"]
    assert [each["status"] for each in told] == [None, 0]  # the server is stopped at the end
    said = (found.path / told[1]["output"]).read_text()
    assert "connected with 10.2.1.1" in said
    assert 6 < told[1]["end_s"] < 6.6
    assert found.content["bottleneck"]["utilisation"] == pytest.approx(0.5, abs=0.05)


def test_packets_are_those_of_the_flow_that_opened_the_connection(lab: Lab) -> None:
    """And not of the server's, nor of another client's, where it is plain; else of none."""
    server = program("iperf", "-s", source="d1", to="s1")
    first, second, third = (
        program("iperf", "-c", "{to}", "-t", "1", start=start) for start in ("1s", "3s", "3s")
    )
    echo = flow("ping", start="0s", duration="2s", interval="500ms")
    found = lab(dumbbell(server, first, second, third, echo, queue=QUEUE, duration="6s"))
    packets = found.packets()
    early = packets.filter(packets["enqueue_ns"] < 3 * 10**9)
    assert {*early.filter(early["protocol"] == 6)["flow"]} == {2}
    assert {*early.filter(early["protocol"] == 1)["flow"]} == {5}
    late = packets.filter(packets["enqueue_ns"] > 3 * 10**9)
    assert {*late.filter(late["protocol"] == 6)["flow"]} == {0}, "two clients at one time"
    acks = found.table("acks")
    assert {*acks.filter(acks["time_ns"] < 3 * 10**9)["flow"]} == {2}


def test_its_environment_and_any_status(lab: Lab) -> None:
    words = ("sh", "-c", "echo $COLOUR {s1} {d1}; exit 3")
    odd = program(*words, environment={"COLOUR": "green"}, any_status=True, duration="1s")
    found = lab(dumbbell(odd, queue=QUEUE, duration="1s"))
    (told,) = found.content["flows"]
    assert told["status"] == 3
    assert (found.path / told["output"]).read_text() == "green 10.1.1.1 10.2.1.1\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("sh", "-c", "echo all is lost; exit 3"), "sh ended with status 3: all is lost"),
        (("no-such-program",), "no-such-program is not installed"),
        (("sh", "-c", "yes | head -c 300000000"), "sh has said 256 MiB, which is all that is kept"),
    ],
)
def test_what_fails_is_told(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    with pytest.raises(SandglassError) as caught:
        run(dumbbell(program(*argv), queue=QUEUE, duration="1s"), tmp_path)
    assert said in caught.value.message
    assert not (tmp_path / "run" / "run.json").exists()


def test_what_goes_on_is_stopped_with_all_that_it_started(lab: Lab) -> None:
    endless = program(
        "sh", "-c", "trap '' TERM; (while sleep 1; do echo on; done) & wait; sleep 99"
    )
    found = lab(dumbbell(endless, queue=QUEUE, duration="3s"))
    (told,) = found.content["flows"]
    assert told["status"] is None
    assert told["end_s"] == 3
    assert (found.path / told["output"]).read_text().count("on") <= 4  # killed a second later
