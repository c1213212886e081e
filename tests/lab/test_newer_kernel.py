"""A kernel that is newer than the host's tools."""

from pathlib import Path

import pytest

from sandglass.agent.tc import Tc
from tests.lab.experiments import Lab, bulk, dumbbell

SHOWN_BY_TC_6_1 = """[{"kind":"htb","handle":"1:","root":true,"options":{"r2q":10}},
{"kind":"dualpi2","handle":"10:","parent":"1:1","options":{[Unknown qdisc, optlen=112] }}]"""


@pytest.mark.usefixtures("terminals")
def test_a_qdisc_that_tc_does_not_know_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tc"
    program.write_text(f"#!/bin/sh\nread -r line\ncat <<'END'\n{SHOWN_BY_TC_6_1}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    shown = Tc(None).qdiscs()
    assert [(q["kind"], q["handle"]) for q in shown] == [("htb", "1:"), ("dualpi2", "10:")]


@pytest.mark.lab
def test_a_queue_that_only_a_newer_kernel_has(lab: Lab, newer_kernel: str) -> None:
    """With a DCTCP flow: DualPI2 marks, and nothing overflows."""
    run = lab(dumbbell(bulk(cc="dctcp", ecn=True), queue={"kind": "dualpi2"}, duration="5s"))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    assert run.content["bottleneck"]["marks"] > 0
    assert run.content["bottleneck"]["drops"] == 0


@pytest.mark.lab
def test_what_it_says_of_our_samples_ends_no_run(lab: Lab, newer_kernel: str) -> None:
    """FQ-CoDel's statistics, asked for without RTNL: a warning, in other words than before."""
    run = lab(dumbbell(bulk(), queue={"kind": "fq_codel"}, duration="5s", record=["queues"]))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    assert len(run.table("queues")) > 100
