"""Programs that would start a daemon as packages are unpacked, and then found."""

import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds, debian, setup_lab

CONTENT = {"netperf": "usr/bin/netperf", "nginx": "usr/sbin/nginx"}


def package(name: str, folder: Path) -> Path:
    """A Debian package that holds one program."""
    program = folder / name / CONTENT[name]
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    control = folder / name / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: none\nDescription: none\n"
    )
    deb = folder / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--build", folder / name, deb], check=True, capture_output=True)
    return deb


@pytest.mark.parametrize("kept", [[], ["netperf"]], ids=["new", "of-an-earlier-version"])
def test_each_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: list[str]) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    unpacked = tmp_path / "cache" / "programs" / "usr" / "bin"
    unpacked.mkdir(parents=True)
    for name in kept:
        (unpacked / name).touch(mode=0o755)
    monkeypatch.setattr(builds, "search_path", lambda: str(unpacked))
    monkeypatch.setattr(debian, "fetch", lambda name: package(name, tmp_path))
    setup_lab.programs()
    for name in builds.UNPACKED:
        assert builds.program(name).parent == unpacked
