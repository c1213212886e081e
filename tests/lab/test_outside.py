"""Workload, topology, module and paper in somebody else's directory: used by path, and told of."""

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from sandglass.install.builds import ROOT
from tests.lab.conftest import Cli

pytestmark = pytest.mark.lab
AUTHORS = ROOT / "examples" / "module-repository"
MADE = (".git", ".snakemake", "results")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The author's, at another place than ours."""
    copy = shutil.copytree(AUTHORS, tmp_path / "theirs")
    monkeypatch.setenv("SANDGLASS_KMODS", str(copy / "kmods"))
    return Path(copy)


def files(root: Path) -> dict[Path, int]:
    """The files of a checkout with the times of their last change, without what is made there."""
    return {
        path: path.stat().st_mtime_ns
        for folder in sorted({*root.iterdir()} - {root / name for name in MADE})
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.is_file() and "cache" not in str(path.relative_to(root))
    }


def test_workload_topology_and_module(sandglass: Cli, repository: Path, tmp_path: Path) -> None:
    before = files(ROOT)
    out = tmp_path / "out"
    done = sandglass(
        "run",
        repository / "experiments" / "answers.yaml",
        *("--set", "duration=4s", "--out", out),
    )
    assert done.returncode == 0, done.stderr
    answers = pl.read_parquet(out / "exchanges.parquet")
    assert answers["flow"].to_list() == [2] * 20
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows["cc"].to_list() == ["gaimd", "cubic"]
    assert flows["slowest_s"].to_list() == [None, max(answers["took_ns"].to_list()) / 1e9]
    assert flows["bytes"][1] == 20 * 20_000
    shown = sandglass("show", out)
    assert "requests.py" in shown.stdout
    assert "gaimd" in shown.stdout
    assert "slowest_s" in shown.stdout
    listed = sandglass("list", repository).stdout
    for name in ("topologies/two_paths.py", "workloads/requests.py", "papers/sharing/fig1"):
        assert str(repository / name) in listed
    assert "gaimd" in listed
    assert files(ROOT) == before


def test_a_modules_counters(sandglass: Cli, repository: Path, tmp_path: Path) -> None:
    """A column of acks.parquet; the last value, of the data's sender, in run.json and by show."""
    share = repository / "experiments" / "share.yaml"
    done = sandglass("run", share, "--set", "duration=5s", "--out", "out")
    assert done.returncode == 0, done.stderr
    acks = pl.read_parquet(tmp_path / "out" / "acks.parquet")
    gaimd, reno = acks.filter(flow=1), acks.filter(flow=2)
    assert gaimd["reductions"].is_sorted()
    assert gaimd["reductions"][0] == 0
    # each time that the sender leaves Open or Disorder, it reduces its window
    calm = gaimd["ca_state"].cast(pl.String).is_in(["Open", "Disorder"])
    assert gaimd["reductions"][-1] >= (calm.shift() & ~calm).sum() > 0
    assert reno["reductions"].is_null().all()
    flows = json.loads((tmp_path / "out" / "run.json").read_text())["flows"]
    last = {"reductions": gaimd["reductions"][-1], "undone": gaimd["undone"][-1]}
    assert [flow.get("counters") for flow in flows] == [last, None]
    shown = sandglass("show", "out")
    assert f"reductions={last['reductions']:.0f} undone={last['undone']:.0f}" in shown.stdout


def test_a_modules_sysctl(sandglass: Cli, repository: Path, tmp_path: Path) -> None:
    """With half of the window left, and a segment for each round trip, gaimd is Reno."""
    as_reno = repository / "experiments" / "as_reno.yaml"
    runs = {}
    for name, change in {
        "as_reno": "seed=1",
        "reno": "flows.0.cc=reno",
        "gaimd": "hosts.s1.sysctls.net.ipv4.tcp_gaimd.beta=7",
    }.items():
        done = sandglass("run", as_reno, "--set", change, "--out", name)
        assert done.returncode == 0, done.stderr
        runs[name] = pl.read_parquet(tmp_path / name / "packets.parquet")
    assert runs["as_reno"].equals(runs["reno"])
    assert not runs["as_reno"].equals(runs["gaimd"])


@pytest.mark.parametrize("value", ["0", "8", "half"])
def test_a_modules_sysctl_out_of_its_range(sandglass: Cli, repository: Path, value: str) -> None:
    as_reno = repository / "experiments" / "as_reno.yaml"
    sysctl = "net.ipv4.tcp_gaimd.beta"
    done = sandglass("run", as_reno, "--set", f"hosts.s1.sysctls.{sysctl}={value}", "--out", "no")
    assert done.returncode == 1
    assert f"sysctl {sysctl} on host s1 refuses {value}" in done.stderr
    assert "Write a whole number from 1 to 7, in 1/8." in done.stderr


@pytest.mark.thorough
def test_a_paper(sandglass: Cli, repository: Path, clone: Path) -> None:
    """Its report is in our results/, of what git keeps of the checkout nothing is changed."""
    before = files(clone)
    done = sandglass(
        "reproduce", repository / "papers" / "sharing", "--profile", "smoke", root=clone
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = clone / "results" / "sharing"
    report = (results / "report.html").read_text()
    assert "How gaimd shares" in report
    verdicts = pl.read_csv(results / "verdicts.csv")
    assert verdicts["verdict"].to_list() == ["holds", "holds"]
    assert re.search(r"tcp_gaimd:[0-9a-f]+", (results / "runs.csv").read_text())
    assert files(clone) == before
