"""Flows have the code points that they ask for, and queues tell them apart by these."""

import pytest

from sandglass.errors import UsageError
from tests.lab.experiments import Lab, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
CAKE = {"kind": "cake", "diffserv4": True, "bandwidth": "9mbit"}


@pytest.mark.parametrize("family", [4, 6])
def test_every_packet_has_the_code_point_and_its_own_ecn_field(lab: Lab, family: int) -> None:
    run = lab(
        dumbbell(
            bulk(dscp="CS1", ecn=True, family=family),
            flow("udp", "s2", "d2", rate="1mbit", dscp="EF", ecn=True, family=family),
            flow("media", "s3", "d3", dscp="AF41", family=family),
            flow("restart", "s4", "d4", size="20kB", rounds=2, pause="500ms", dscp="LE"),
            queue={"kind": "codel", "ecn": True},
            pairs=4,
            duration="2s",
            record=["packets", "headers"],
        )
    )
    headers = run.table("headers")["header"]
    seen: dict[int, set[int]] = {}
    for number, each in zip(run.table("packets")["flow"], headers, strict=True):
        six = each[0] >> 4 == 6
        octet = int.from_bytes(each[:2]) >> 4 & 0xFF if six else each[1]
        seen.setdefault(number, set()).add(octet >> 2)
    assert (seen[1], seen[2], seen[3], seen[4]) == ({8}, {46}, {34}, {1})
    ecn = run.packets(flow=2)["ecn_in"]
    assert {*ecn} == {2}
    assert 2 in {*run.packets(flow=1)["ecn_in"]}


def test_cake_gives_the_background_what_the_others_leave(lab: Lab) -> None:
    # CAKE has to know the rate: its tins share that.
    background = bulk(dscp="CS1")
    run = lab(dumbbell(background, bulk("s2", "d2"), queue=CAKE, pairs=2, duration="10s"))
    slow, fast = (flow["goodput_mbit"] for flow in run.content["flows"])
    assert slow < fast / 4


def test_a_code_point_that_is_none_is_told(lab: Lab) -> None:
    with pytest.raises(UsageError, match=r"flows\[0\].dscp: there is no code point EX"):
        lab(dumbbell(bulk(dscp="EX"), queue=CAKE))
