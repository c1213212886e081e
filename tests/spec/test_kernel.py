"""In which lab an experiment runs: by its file, by what it names, by the environment."""

from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import kernel, reading
from sandglass.install import builds
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
