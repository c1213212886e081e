"""In which lab an experiment runs: by its file, by what it names, by the environment."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import kernel, reading
from sandglass.install import builds
from sandglass.run import runs
from sandglass.run.plan import resolve
from sandglass.studies import reading as studies
from tests.lab.experiments import bulk, dumbbell


def wanted(kind: str = "pfifo", **more: Any) -> str | None:
    experiment = dumbbell(bulk(), queue={"kind": kind}, duration="5s")
    return kernel.wanted(reading.parse({**experiment, **more}, Path("experiment.yaml")))


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANDGLASS_KERNEL", raising=False)
    monkeypatch.delenv("SANDGLASS_LAB", raising=False)


def test_any_lab_will_do_for_most() -> None:
    assert wanted() is None
    assert wanted("pie") is None
    assert wanted(title="dualpi2") is None


def test_what_is_named_decides() -> None:
    assert wanted("dualpi2") == "7.2"
    assert wanted(hosts={"s1": {"sysctls": {"net.ipv4.tcp_ecn_option": 3}}}) == "7.2"


@pytest.mark.parametrize("written", ["7.2", 7.2])
def test_the_file_decides(written: str | float) -> None:
    assert wanted(lab=written) == "7.2"
    assert wanted("dualpi2", lab="7.2-debug") == "7.2-debug"


@pytest.mark.parametrize("written", ["7.3", 6.1, "", True, ["7.2"]])
def test_a_kernel_that_there_is_no_lab_of(written: object) -> None:
    with pytest.raises(UsageError, match=r"no kernel: write 6\.12 or 7\.2"):
        wanted(lab=written)


def test_an_older_kernel_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"dualpi2 needs Linux 7\.2"):
        wanted("dualpi2", lab="6.12")
    monkeypatch.setenv("SANDGLASS_KERNEL", "6.12-debug")
    with pytest.raises(UsageError, match=r"a lab of 6\.12-debug is asked for"):
        wanted("dualpi2")


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_KERNEL", "7.2")
    with builds.on(wanted(lab="6.12")):
        assert builds.chosen_kernel() == "7.2"


def test_each_kernel_has_a_lab_of_its_own_while_all_is_settled() -> None:
    """What is looked up once is looked up once for each kernel."""
    with builds.settled():
        first = builds.lab_build()
        with builds.on("7.2"):
            other = builds.lab_build()
        assert builds.lab_build() == first != other


def test_runs_of_two_labs_lie_apart() -> None:
    """Their plans are equal."""

    def directory(lab: str | None) -> Path:
        text = dumbbell(bulk(), queue={"kind": "pfifo"}, duration="5s")
        experiment = reading.parse(text | ({"lab": lab} if lab else {}), Path("e.yaml"))
        return runs.default_directory(experiment, None, resolve(experiment, experiment.facts))

    assert len({directory(lab) for lab in (None, "6.12", "7.2")}) == 3


def test_all_points_of_a_study_run_in_one_lab(tmp_path: Path) -> None:
    """In that which its most demanding point needs, so that they compare."""
    queues = {kind: {"bottleneck.queue": {"kind": kind}} for kind in ("codel", "dualpi2")}
    study = {
        "experiment": dumbbell(bulk(), queue={"kind": "pfifo"}, duration="5s"),
        "vary": {"queue": {"values": queues}},
        "metrics": {"goodput": "flows.0.goodput_mbit"},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    read = studies.load(tmp_path / "study.yaml")
    assert [kernel.wanted(run.load()) for run in read.runs()] == ["7.2", "7.2"]
    del queues["dualpi2"]
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    read = studies.load(tmp_path / "study.yaml")
    assert [kernel.wanted(run.load()) for run in read.runs()] == [None]


@pytest.mark.parametrize("name", ["Iperf3", "iperf3=1", "", 3, "--config", "a b"])
def test_a_package_has_a_name_of_debians(name: object) -> None:
    with pytest.raises(UsageError, match=r"packages\[0\]: .* is no name of a Debian package"):
        wanted(packages=[name])
