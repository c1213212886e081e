"""doctor: what is missing is named, with what to do."""

import os
from pathlib import Path

import pytest

from sandglass.cage import cage
from sandglass.cage import system_calls as system
from sandglass.install import doctor, setup_lab
from tests.cli.conftest import Cli


def test_without_a_lab_kernel_it_says_so_and_exits_1(sandglass: Cli, empty_cache: Path) -> None:
    done = sandglass("doctor")
    assert done.returncode == 1
    rows = [line for line in done.stdout.splitlines() if "  lab kernel" in line]
    assert len(rows) == 1
    assert rows[0].startswith("missing")
    assert "./sandglass setup" in rows[0]
    assert not empty_cache.exists()


def test_it_lists_packages_with_versions_and_the_machine(sandglass: Cli) -> None:
    rows = sandglass("doctor").stdout.splitlines()
    for thing in (
        "processors",
        "ptrace",
        "memory that holds code",
        "sandbox of labs",
        "free memory",
        "package patch",
    ):
        assert any(line.startswith("ok") and thing in line for line in rows), thing


def test_it_says_in_the_end_whether_experiments_can_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    there, absent = doctor.Finding("a", "1"), doctor.Finding("b", "", needed=True)
    unneeded = doctor.Finding("c", "", needed=False)
    assert doctor.report([there, unneeded])
    told = capsys.readouterr().out
    assert "ready: experiments can run" in told
    assert "- is not there, and not needed" in told
    assert not doctor.report([there, absent])
    assert "not ready: missing are b" in capsys.readouterr().out


def test_each_package_is_listed_once() -> None:
    things = [finding.thing for finding in doctor.packages()]
    assert sorted(things) == sorted({*things})


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
    remedies = {finding.thing: finding.remedy for finding in findings}
    assert "sudo ./sandglass setup --system" in remedies["package build-essential"]
    assert "sudo ./sandglass setup --host" in remedies["package mininet"]


@pytest.mark.parametrize("built", [True, False])
def test_to_build_with_is_needed_only_while_there_is_no_lab_kernel(
    monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    kernel = doctor.Finding("lab kernel", "6.12" if built else "")
    monkeypatch.setattr(doctor, "lab_kernel", lambda: kernel)
    needed = {finding.thing: finding.needed for finding in doctor.packages()}
    assert not needed["package mininet"]
    assert needed["package build-essential"] == (not built)


def test_a_machine_that_forbids_code_in_memory_files_is_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert doctor.lab_memory().found
    monkeypatch.setattr(system, "call", lambda *_: os.open("/dev/null", os.O_RDONLY))
    missing = doctor.lab_memory()
    assert not missing.found
    assert "vm.memfd_noexec" in missing.remedy


@pytest.mark.parametrize("layer", cage.LAYERS)
def test_the_sandbox_is_named_and_what_it_leaves_open(
    monkeypatch: pytest.MonkeyPatch, layer: cage.Layer
) -> None:
    monkeypatch.setattr(cage, "layer", lambda: layer)
    found = doctor.sandbox()
    assert found.found
    assert bool(found.remedy) == (layer in {"landlock-files", "none"})


def test_a_processor_without_avx2_needs_another_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it ends in the middle of a run, by an illegal instruction."""
    assert doctor.tables({"avx2"}).found
    monkeypatch.setattr(setup_lab, "python_version", lambda name: None)
    assert not doctor.tables({"avx"}).found
    assert "no AVX2" in doctor.tables({"avx"}).remedy
    monkeypatch.setattr(setup_lab, "python_version", {"polars-runtime-compat": "2.1.0"}.get)
    assert "2.1.0" in doctor.tables({"avx"}).found
