"""Downloads over QUIC beside TCP, as examples/quic/ has them, each in small."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from sandglass.experiment import reading
from sandglass.install import setup_lab
from sandglass.install.builds import ROOT
from sandglass.results import series
from sandglass.run import runs
from tests.lab.experiments import Run

pytestmark = [pytest.mark.lab, pytest.mark.thorough]
EXAMPLES = ROOT / "examples" / "quic"
MADE_BY = {"quic-go": "go", "quinn": "cargo"}
STACKS = [
    pytest.param(
        path.stem,
        marks=pytest.mark.skipif(
            shutil.which(MADE_BY.get(path.stem, "sh")) is None, reason="what makes it is not here"
        ),
    )
    for path in sorted(EXAMPLES.glob("*.yaml"))
    if path.stem != "path"
]
SERVER, CLIENT, TCP = 1, 2, 3


def short(stack: str) -> list[str]:
    """Settings that have an example last some seconds."""
    argv = reading.load(EXAMPLES / f"{stack}.yaml").flows[1].command_lines["argv"]
    return ["duration=8s", f"flows.1.argv.{argv.index('27')}=6", "flows.2.duration=6s"]


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_shares_a_link_twice_alike_and_its_log_tells_what_became_of_its_packets(
    stack: str, tmp_path: Path
) -> None:
    source = EXAMPLES / f"{stack}.yaml"
    experiment = reading.load(source, short(stack))
    setup_lab.lab(None, experiment.packages)
    one, other = (runs.run(experiment, source, tmp_path / name) for name in ("one", "other"))
    assert one.content["digest"] == other.content["digest"]
    found = Run(one.path, one.content)
    sent = found.packets(flow=CLIENT).filter(pl.col("src") == "s1")
    assert sent["dequeue_ns"].count() > 1000
    assert found.packets(flow=TCP)["dequeue_ns"].count() > 1000
    told = series.sending(found.table("qlog"))
    assert {*told["flow"]} == {CLIENT}
    assert {*told["end"]} <= {"server", "unknown"}
    assert {path.partition("/")[0] for path in told["file"].unique()} == {f"command-{SERVER}"}
    # The path was empty when the first packets went. quinn writes seconds: docs/quic.md.
    least_us = told["min_rtt_us"].drop_nulls()[-1] * (1000 if stack == "quinn" else 1)
    assert 100_000 <= least_us < 103_000
    lost = told["lost_packets"][-1]
    dropped = sent["drop_ns"].count()
    assert dropped > 0
    assert lost == pytest.approx(dropped, abs=3), "those of the last round trip are not told"
    largest = sent["payload_bytes"].max()
    assert told["largest_bytes"].max() == largest
