"""What the recorder makes of a drop, from what a kernel's tracepoints tell, without a clock."""

import ctypes
import json
from pathlib import Path

import pytest

from sandglass.run import lab, records
from tests.kmods.userspace import compiled

OVERLIMIT, ENQUEUE, DEQUEUE = 1, 2, 3


class Drop(ctypes.Structure):
    """struct drop of kmods/recorder/outcome.h."""

    _fields_ = [
        (name, ctypes.c_bool) for name in ("taken", "latest", "full", "listed", "congested")
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled("recorder", "recorder", tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize(
    ("what", "told", "outcome"),
    [
        ("a tail drop", "latest full listed", OVERLIMIT),
        ("RED or PIE on arrival", "latest listed", ENQUEUE),
        ("the same on 7.2, which says so", "latest listed congested", ENQUEUE),
        ("the same while another processor's packet arrives", "listed", ENQUEUE),
        ("a reason of the qdisc's own, as of fq", "latest", ENQUEUE),
        ("pushed out by another packet's arrival", "taken listed", OVERLIMIT),
        ("CoDel up to 6.18, which frees it itself", "taken", DEQUEUE),
        ("the same packet was the last to come", "taken latest", DEQUEUE),
        ("CoDel on 7.2, freed with what arrivals drop", "taken listed congested", DEQUEUE),
        ("the same packet had met a full queue", "taken full listed congested", DEQUEUE),
        ("taken with NET_XMIT_CN, then CoDel", "full", DEQUEUE),
        ("taken with NET_XMIT_CN, then CoDel on 7.2", "full listed congested", DEQUEUE),
        ("taken with NET_XMIT_CN, then pushed out", "full listed", OVERLIMIT),
    ],
)
def test_a_drop_is_what_it_was(library: ctypes.CDLL, what: str, told: str, outcome: int) -> None:
    drop = Drop(**dict.fromkeys(told.split(), True))
    assert library.outcome_of_drop(ctypes.byref(drop)) == outcome, what


@pytest.mark.lab
def test_a_congestion_control_that_is_gone_keeps_its_name(tmp_path: Path) -> None:
    lab.run_program("kmods/recorder/tests/unload.py", tmp_path)
    assert "cc 0 reno_acks\n" in (tmp_path / "control.txt").read_text()


REAL_CLOCK_DROPS = {
    "pfifo": ("limit 30", OVERLIMIT),
    "pfifo_head_drop": ("limit 30", OVERLIMIT),
    "red": ("limit 60000 min 3000 max 9000 avpkt 1000 burst 5 probability 1", ENQUEUE),
    "codel": ("limit 1000 target 1ms interval 10ms", DEQUEUE),
}


@pytest.mark.lab
def test_drops_are_what_they_were_on_a_clock_that_never_stops(tmp_path: Path) -> None:
    options = {kind: words for kind, (words, _) in REAL_CLOCK_DROPS.items()}
    (tmp_path / "drops.json").write_text(json.dumps(options))
    lab.run_program("kmods/recorder/tests/drops.py", tmp_path, clock=())
    packets = records.read(tmp_path / "packets.bin", records.PACKET)
    for number, (kind, (_, outcome)) in enumerate(REAL_CLOCK_DROPS.items()):
        dropped = packets["outcome"][packets["watch"] == number]
        assert set(dropped[dropped != records.SENT]) == {outcome}, kind
