"""A bottleneck's numbers say the same whether its packets were recorded or only counted."""

from typing import Any

import numpy as np
import pytest

from sandglass.records import records, summary
from tests.lab.experiments import Lab, Mapped, bulk, dumbbell, flow

RED = {
    **{"kind": "red", "limit": "100kB", "min": "10kB", "max": "30kB", "avpkt": 1000},
    **{"burst": 20, "probability": 0.1, "ecn": True},
}
ECN: Mapped = {"cc": "cubic", "ecn": True}
EXPERIMENTS = {
    "queue full at the end": dumbbell(bulk(**ECN), queue=RED),
    "queue empty at the end": dumbbell(bulk(**ECN, size="3MB"), queue=RED, duration="5s"),
    "packets every 12 us": dumbbell(
        bulk(**ECN),
        bulk("d2", "s2", **ECN),
        flow("udp", "s3", "d3", rate="300mbit"),
        queue={"kind": "codel", "ecn": True, "target": "500us", "interval": "5ms"},
        rate="1gbit",
        rtt="2ms",
        pairs=3,
        duration="1s",
    ),
    "drops": dumbbell(
        bulk(), bulk("d1", "s1"), queue={"kind": "pfifo", "limit": 20}, duration="3s"
    ),
}


def numbers(bottleneck: Mapped) -> list[dict[str, Any]]:
    """Of both directions, what the counters tell as well as the packets do."""
    keys = ("utilisation", "packets", "drops", "marks")
    return [{key: way[key] for key in keys} for way in (bottleneck, bottleneck["reverse"])]


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_recorded_or_not(lab: Lab, name: str) -> None:
    recorded = numbers(lab(EXPERIMENTS[name]).content["bottleneck"])
    counted = numbers(lab({**EXPERIMENTS[name], "record": []}).content["bottleneck"])
    if name == "queue full at the end":  # with marked packets in it, which are not sent
        assert recorded[0].pop("marks")
        assert counted[0].pop("marks") is None
    else:
        assert None not in counted[0].values()
    assert counted == recorded


@pytest.mark.lab
def test_what_is_told_apart_is_there(lab: Lab) -> None:
    red, fast, drops = (
        numbers(lab(EXPERIMENTS[name]).content["bottleneck"])
        for name in ("queue empty at the end", "packets every 12 us", "drops")
    )
    assert red[0]["marks"]
    assert fast[0]["marks"]
    assert drops[0]["drops"]
    assert drops[1]["drops"]


def test_marks_that_may_be_anothers_are_not_told() -> None:
    xstats = np.zeros(1, records.layout_of(records.xstats_of("codel")))
    xstats["ecn_mark"], xstats["ce_mark"] = 3, 4
    counted = {"queued": 5, "xstats": xstats.tobytes().hex()}
    assert summary.marks(counted, "codel", alone=True) == 7
    assert summary.marks(counted, "codel", alone=False) is None
    assert summary.marks(counted, "pfifo", alone=False) == 0
