"""A kernel that is newer than the host's tools."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.agent.tc import Tc
from sandglass.errors import SandglassError
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
@pytest.mark.newer
def test_a_queue_that_only_a_newer_kernel_has(lab: Lab, newer_kernel: str) -> None:
    """With a DCTCP flow: DualPI2 marks, and nothing overflows."""
    run = lab(dumbbell(bulk(cc="dctcp", ecn=True), queue={"kind": "dualpi2"}, duration="5s"))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    assert run.content["bottleneck"]["marks"] > 0
    assert run.content["bottleneck"]["drops"] == 0


@pytest.mark.lab
@pytest.mark.newer
def test_what_it_says_of_our_samples_ends_no_run(lab: Lab, newer_kernel: str) -> None:
    """FQ-CoDel's statistics, asked for without RTNL: a warning, in other words than before."""
    run = lab(dumbbell(bulk(), queue={"kind": "fq_codel"}, duration="5s", record=["queues"]))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    assert len(run.table("queues")) > 100


@pytest.mark.lab
@pytest.mark.newer
def test_dualpi2_runs_where_it_is_and_has_the_options_that_were_written(
    lab: Lab, newer_kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word on the kernel. What the plugin sends is what it reads back from the qdisc."""
    monkeypatch.delenv("SANDGLASS_KERNEL")
    options = {
        **{"limit": 500, "target": "20ms", "tupdate": "8ms", "alpha": 0.25, "beta": 2},
        **{"step_thresh": "2ms", "min_qlen_step": 2, "coupling_factor": 3},
        **{"classic_protection": "25%", "overflow": True, "drop_enqueue": True},
        **{"any_ect": True, "split_gso": False},
    }
    run = lab(dumbbell(bulk(), queue={"kind": "dualpi2", **options}, duration="2s"))
    assert run.content["kernel"]["release"].startswith(newer_kernel)
    (shown,) = [q for q in run.content["observed"]["qdiscs"]["r1"] if q["kind"] == "dualpi2"]
    told = shown["options"]
    # in 1/256 Hz, and the kernel rounds again
    assert (told.pop("alpha"), told.pop("beta")) == pytest.approx((0.25, 2), abs=2 / 256)
    assert told == {
        **{"limit": 500, "memlimit": 500 * 2 * 1514, "target": 20000, "tupdate": 8000},
        **{"step_thresh": 2000, "min_qlen_step": 2},
        **{"coupling_factor": 3, "classic_protection": 25, "overflow": True},
        **{"drop_enqueue": True, "any_ect": True, "no_split_gso": True},
    }


@pytest.mark.lab
@pytest.mark.newer
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"classic_protection": "101%"}, 'classic_protection "101%" is out of range'),
        ({"alpha": 0.001}, "a gain of 0.001 Hz is out of range"),
        ({"step_thresh": "few"}, '"few" is no time or number of packets for "step_thresh"'),
    ],
)
def test_what_dualpi2_does_not_take(
    lab: Lab, newer_kernel: str, options: dict[str, object], said: str
) -> None:
    with pytest.raises(SandglassError, match=re.escape(said)):
        lab(dumbbell(bulk(), queue={"kind": "dualpi2", **options}, duration="2s"))


@pytest.mark.lab
@pytest.mark.newer
@pytest.mark.parametrize(
    ("options", "alpha", "beta"),
    [
        ({"max_rtt": "100ms", "typical_rtt": "15ms"}, 38, 768),
        ({"typical_rtt": "15ms"}, 47, 853),  # the largest is six times as long
        ({"alpha": 0.0465, "beta": 3.0}, 11, 768),  # 11.9: the rest is cut off
    ],
)
def test_dualpi2_gets_the_gains_that_iproute2_would_give_it(
    lab: Lab, newer_kernel: str, options: dict[str, Any], alpha: int, beta: int
) -> None:
    """In 1/256 Hz; RFC 9332, appendix A.1, for round trips. The kernel then cuts off one more."""
    run = lab(dumbbell(bulk(), queue={"kind": "dualpi2", **options}, duration="2s"))
    (shown,) = [q for q in run.content["observed"]["qdiscs"]["r1"] if q["kind"] == "dualpi2"]
    told = shown["options"]
    tupdate = 15000 if "typical_rtt" in options else 16000
    assert (told["target"], told["tupdate"]) == (15000, tupdate)
    assert [round(told[gain] * 256) for gain in ("alpha", "beta")] == [alpha - 1, beta - 1]


@pytest.mark.lab
@pytest.mark.newer
def test_datagrams_choose_their_queue_by_their_label(lab: Lab, newer_kernel: str) -> None:
    """ECT(1) goes to the low-latency queue, ECT(0) to the classic one."""
    for label, queue in (("l4s", "packets_in_l"), ("ecn", "packets_in_c")):
        flow = {"workload": "udp", "from": "s1", "to": "d1", "rate": "1mbit", label: True}
        run = lab(dumbbell(flow, queue={"kind": "dualpi2"}, duration="5s"))
        sent = run.content["flows"][0]["datagrams_sent"]
        last = run.table("queues").filter(pl.col("direction") == "forward").tail(1)
        assert last[queue].item() >= sent - 2
