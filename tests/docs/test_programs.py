"""The commands of docs/programs.md work as they stand there, and its example shows what it says."""

import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
import yaml

from sandglass.experiment import reading
from sandglass.install import setup_lab
from sandglass.install.builds import ROOT
from sandglass.run import runs
from tests.lab.experiments import dumbbell, written

TEXT = (ROOT / "docs" / "programs.md").read_text()
COMMANDS = re.findall(r"^\./sandglass .*$", TEXT, re.M)


@pytest.mark.lab
def test_a_program_of_python_shares_the_link_and_tells_its_window(clone: Path) -> None:
    for command in COMMANDS:
        subprocess.run(command, shell=True, cwd=clone, check=True, stdout=subprocess.DEVNULL)
    run = clone / "results" / "runs" / "own"
    told = pl.read_parquet(run / "series.parquet")
    assert {*told["name"]} == {"cwnd", "rtt.ms"}
    assert told.filter(pl.col("name") == "rtt.ms", pl.col("value") <= 40).is_empty()
    content = json.loads((run / "run.json").read_text())
    assert {*content["own_files"]} == {
        f"program/{name}.py" for name in ("aimd", "receiver", "sender")
    }
    assert content["bottleneck"]["utilisation"] > 0.9
    assert "aimd: cwnd" in (run / "view.html").read_text()


@pytest.mark.lab
@pytest.mark.thorough
def test_iperf3_of_debian_tells_its_intervals(tmp_path: Path) -> None:
    [told] = re.findall(r"^```yaml\n(packages: .*?)^```", TEXT, re.M | re.S)
    experiment = dumbbell(queue={"kind": "pfifo", "limit": 100}) | yaml.safe_load(told)
    source = written(experiment, tmp_path / "iperf3.yaml")
    read = reading.load(source)
    setup_lab.lab(None, read.packages)
    found = runs.run(read, source, tmp_path / "run")
    assert found.content["packages"].keys() == {"iperf3"}
    rows = pl.read_parquet(found.path / "series.parquet")
    rates = rows.filter(pl.col("name") == "bits_per_second")
    assert (rates["time_ns"] / 1e9).round(1).to_list() == [1, 2, 3, 4, 5]
    sent = pl.read_parquet(found.path / "packets.parquet").filter(flow=2, src="s1")
    # It counts what it has written, of which some is still in its socket at the end.
    assert sum(rates["value"]) == pytest.approx(8 * sent["payload_bytes"].sum(), rel=0.1)
    # iperf3 tells microseconds.
    assert min(rows.filter(pl.col("name") == "rtt")["value"]) >= 40_000
