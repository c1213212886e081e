"""doctor: what is missing is named, with what to do."""

from pathlib import Path

import pytest

from sandglass.install import doctor
from tests.cli.conftest import Cli


def test_without_a_lab_kernel_it_says_so_and_exits_1(sandglass: Cli, empty_cache: Path) -> None:
    done = sandglass("doctor")
    assert done.returncode == 1
    rows = [line for line in done.stdout.splitlines() if "lab kernel" in line]
    assert len(rows) == 1
    assert rows[0].startswith("missing")
    assert "./sandglass setup" in rows[0]
    assert not empty_cache.exists()


def test_it_lists_packages_with_versions_and_the_machine(sandglass: Cli) -> None:
    rows = sandglass("doctor").stdout.splitlines()
    for thing in ("processors", "ptrace", "temporary directory", "free memory", "package mininet"):
        assert any(line.startswith("ok") and thing in line for line in rows), thing


def test_a_package_that_is_not_installed_has_no_version() -> None:
    versions = doctor.installed_packages(["dpkg", "no-such-package-anywhere"])
    assert list(versions) == ["dpkg"]
    assert versions["dpkg"]


def test_a_missing_package_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "installed_packages", lambda names: {})
    findings = list(doctor.packages())
    assert len(findings) > 10
    assert all("sudo ./sandglass setup --system" in finding.remedy for finding in findings)
    assert not doctor.report(findings)


@pytest.mark.parametrize("built", [True, False])
def test_to_build_with_is_needed_only_while_there_is_no_lab_kernel(
    monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    kernel = doctor.Finding("lab kernel", "6.12" if built else "")
    monkeypatch.setattr(doctor, "lab_kernel", lambda: kernel)
    needed = {finding.thing: finding.needed for finding in doctor.packages()}
    assert needed["package mininet"]
    assert needed["package build-essential"] == (not built)
