"""A kernel that is newer than the host's tools."""

import pytest

from sandglass.agent import kernel
from tests.lab.experiments import Lab, bulk, dumbbell

SHOWN_BY_TC_6_1 = """[{"kind":"htb","handle":"1:","root":true,"options":{"r2q":10}},
{"kind":"dualpi2","handle":"10:","parent":"1:1","options":{[Unknown qdisc, optlen=112] }}]"""


def test_a_qdisc_that_tc_does_not_know_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "run", lambda command, where: SHOWN_BY_TC_6_1)
    shown = kernel.show_qdiscs("qdisc", "show", where="r1")
    assert [(q["kind"], q["handle"]) for q in shown] == [("htb", "1:"), ("dualpi2", "10:")]


@pytest.mark.lab
def test_a_queue_that_only_a_newer_kernel_has(lab: Lab, newer_kernel: str) -> None:
    """With a DCTCP flow: DualPI2 marks, and nothing overflows."""
    run = lab(dumbbell(bulk(cc="dctcp", ecn=True), queue={"kind": "dualpi2"}, duration="5s"))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    assert run.content["bottleneck"]["marks"] > 0
    assert run.content["bottleneck"]["drops"] == 0
