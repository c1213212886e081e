"""What an experiment sets for a host shows in its packets."""

import polars as pl
import pytest

from tests.lab.experiments import Lab, Run, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
SIZE = 1_000_000  # bytes; a flow takes less than 2 s
PLAIN, WINDOW, JUMBO, PACED, SLOW, FAR, NO_SACK = range(1, 8)
MS = 1_000_000


@pytest.fixture
def run(lab: Lab) -> Run:
    """Seven pairs with a setting each, whose flows of one size follow one another."""
    return lab(
        dumbbell(
            *[
                bulk(f"s{n}", f"d{n}", size=f"{SIZE // 1000}kB", start=f"{3 * n - 3}s")
                for n in range(1, 8)
            ],
            queue={"kind": "pfifo", "limit": 2000},
            rate="100mbit",
            pairs=7,
            duration="24s",
            hosts={
                f"s{WINDOW}": {"initcwnd": 3},
                f"s{JUMBO}": {"mtu": 9000},
                f"d{JUMBO}": {"mtu": 9000},
                f"s{PACED}": {"pacing": True},
                f"s{SLOW}": {"access_rate": "5mbit"},
                f"s{FAR}": {"rtt": "80ms"},
                f"s{NO_SACK}": {"sysctls": {"net.ipv4.tcp_sack": 0}},
            },
        )
    )


def data(run: Run, number: int) -> pl.DataFrame:
    """A flow's packets with data, in the order in which they came."""
    return run.packets(flow=number).filter(pl.col("payload_bytes") > 0).sort("enqueue_ns")


def first_flight(run: Run, number: int) -> int:
    """Packets sent before the first ACK of data can have come back."""
    times = data(run, number)["enqueue_ns"]
    return len(times.filter(times < times[0] + 30 * MS))


def test_a_sized_flow_ends_when_its_last_byte_has_come(run: Run) -> None:
    for row in run.content["flows"]:
        assert row["bytes"] == SIZE
        assert row["retransmits"] == 0
        assert 0.1 < row["fct_s"] < 3
        assert row["end_s"] - row["start_s"] == pytest.approx(row["fct_s"])
        assert row["goodput_mbit"] == pytest.approx(SIZE * 8 / row["fct_s"] / 1e6)
        last = data(run, row["id"])["dequeue_ns"].max()
        one_way = 40 if row["id"] == FAR else 20
        assert isinstance(last, int)
        assert row["end_s"] * 1e9 == pytest.approx(last + one_way * MS, abs=MS)


def test_initcwnd_is_the_size_of_the_first_flight(run: Run) -> None:
    assert first_flight(run, PLAIN) == 10
    assert first_flight(run, WINDOW) == 3


def test_mtu_is_the_size_of_packets(run: Run) -> None:
    assert data(run, PLAIN)["size_bytes"].max() == 1514
    assert data(run, JUMBO)["size_bytes"].max() == 9014


def test_without_delayed_acks_each_packet_has_its_ack(lab: Lab) -> None:
    """In steady state: a receiver whose window grows acknowledges each packet anyway."""
    run = lab(
        dumbbell(
            bulk(),
            bulk("s2", "d2"),
            queue={"kind": "fq_codel"},
            pairs=2,
            duration="20s",
            hosts={"d2": {"delayed_ack": False}},
        )
    )
    later = pl.col("enqueue_ns") > 10_000 * MS
    ratio = {
        number: len(run.packets("reverse", flow=number).filter(later))
        / len(data(run, number).filter(later))
        for number in (1, 2)
    }
    assert 0.5 <= ratio[1] < 0.6  # one for two packets, but for those in disorder
    assert ratio[2] == pytest.approx(1, abs=0.02)


def test_paced_packets_do_not_come_in_bursts(run: Run) -> None:
    waiting = {n: data(run, n)["sojourn_ns"].to_numpy().mean() for n in (PLAIN, PACED)}
    assert waiting[PACED] < 0.5 * waiting[PLAIN]


def test_access_rate_spaces_packets(run: Run) -> None:
    gaps = data(run, SLOW)["enqueue_ns"].diff().drop_nulls()
    # Two after idle time may be closer, by the byte that the card's bucket holds (1.6 us).
    assert gaps.min() == pytest.approx(1514 * 8 / 5e6 * 1e9, abs=1.7e3)
    assert run.content["flows"][SLOW - 1]["goodput_mbit"] < 5


def test_rtt_is_that_of_the_pair(run: Run) -> None:
    measured = run.content["observed"]["rtt_ms"]
    for number in (PLAIN, WINDOW, NO_SACK):
        assert measured[f"s{number}-d{number}"] == pytest.approx(40, abs=0.05)
    assert measured[f"s{FAR}-d{FAR}"] == pytest.approx(80, abs=0.05)


def test_sysctls_are_those_asked_for(run: Run) -> None:
    hosts = run.content["observed"]["hosts"]
    assert hosts[f"s{NO_SACK}"]["sysctls"]["net.ipv4.tcp_sack"] == "0"
    assert all("net.ipv4.tcp_sack" not in hosts[f"s{n}"]["sysctls"] for n in range(1, NO_SACK))


def test_ecn_is_negotiated_only_where_it_is_asked_for(lab: Lab) -> None:
    run = lab(
        dumbbell(bulk(ecn=True), bulk("s2", "d2"), queue={"kind": "codel", "ecn": True}, pairs=2)
    )
    with_ecn, without = run.content["flows"]
    assert with_ecn["ecn"] is True
    assert with_ecn["delivered_ce"] > 0
    assert without["ecn"] is False
    assert without["delivered_ce"] == 0
    assert set(data(run, 1)["ecn_in"].unique()) <= {0, 2}
    assert data(run, 2)["ecn_in"].unique().to_list() == [0]


@pytest.mark.parametrize("cc", ["cubic", "bbr", "dctcp", "vegas", "westwood"])
def test_the_congestion_control_is_the_one_asked_for(lab: Lab, cc: str) -> None:
    run = lab(
        dumbbell(
            bulk(cc=cc, ecn=cc == "dctcp"), queue={"kind": "codel", "ecn": True}, duration="3s"
        )
    )
    assert run.content["flows"][0]["cc"] == cc
    assert run.table("acks")["cc"].unique().to_list() == [cc]


def test_a_ping_sees_rate_and_round_trip(lab: Lab) -> None:
    run = lab(
        dumbbell(
            flow("ping", interval="100ms"),
            queue={"kind": "pfifo"},
            duration="4s",
            schedule=[{"at": "2050ms", "rtt": "80ms"}],
        )
    )
    answers = run.table("rtt")
    assert answers["sent_ns"].to_list() == list(range(0, 4000 * MS, 100 * MS))
    serialisation = 2 * 98 * 8 / 10e6 * 1e9
    base = pl.when(pl.col("sent_ns") < 2050 * MS).then(40 * MS).otherwise(80 * MS)
    error = answers.select((pl.col("rtt_ns") - base - serialisation).abs()).to_series()
    assert (error < 2_000).all()  # clock reads of the process that pings
