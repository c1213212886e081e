"""What the examples say of themselves is so."""

from pathlib import Path

import polars as pl
import pytest

import sandglass
from sandglass.guide import offer
from sandglass.install.builds import ROOT

CODEL = ROOT / "examples" / "codel.yaml"
SLOW_START_NS = 2_000_000_000


@pytest.mark.lab
def test_codel_stays_below_its_target(tmp_path: Path) -> None:
    run = sandglass.run(CODEL, out=tmp_path / "run")
    waited = run.packets.filter(
        pl.col("direction") == "forward", pl.col("dequeue_ns") > SLOW_START_NS
    )["sojourn_ns"].to_numpy()
    told = " ".join(offer.comment(CODEL).split())
    assert "95 % of its packets wait less than CoDel's target, 5 ms" in told
    assert 0.95 < (waited < 5_000_000).mean() < 0.96
    assert "mean is 0.9 ms" in told
    assert waited.mean() == pytest.approx(900_000, abs=50_000)
    assert "uses 90 % of the link" in told
    assert run.field("bottleneck.utilisation") == pytest.approx(0.90, abs=0.005)
