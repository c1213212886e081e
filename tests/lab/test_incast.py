"""examples/incast.yaml: what DCTCP was made for."""

from pathlib import Path

import polars as pl
import pytest

from sandglass.experiment import reading
from sandglass.install.builds import ROOT
from sandglass.run import runs

pytestmark = pytest.mark.lab
EXAMPLE = ROOT / "examples" / "incast.yaml"
LEAST_RTO_S = 0.2  # TCP_RTO_MIN of <net/tcp.h>


def flows(directory: Path, *overrides: str) -> pl.DataFrame:
    experiment = reading.load(EXAMPLE, ["repeat=10", *overrides])
    path = runs.run(experiment, EXAMPLE, directory).path
    return pl.read_parquet(path / "flows.parquet")


def p99(found: pl.DataFrame) -> float:
    return float(found["fct_s"].quantile(0.99, "nearest") or 0)


@pytest.mark.thorough
def test_dctcp_spares_the_timeouts_that_cubic_has(tmp_path: Path) -> None:
    dctcp = flows(tmp_path / "dctcp")
    cubic = flows(tmp_path / "cubic", "flows.0.cc=cubic", "flows.0.ecn=false")
    assert len(dctcp) == len(cubic) == 320
    # All that 32 servers send, over the client's link.
    together_s = 32 * 256_000 * 8 / 1e9
    assert dctcp["rtos"].sum() == dctcp["retransmits"].sum() == 0
    assert together_s < p99(dctcp) < 1.1 * together_s
    assert cubic["rtos"].sum() > 0
    assert cubic["delivered_ce"].sum() == 0
    assert p99(cubic) > LEAST_RTO_S > 2 * p99(dctcp)
