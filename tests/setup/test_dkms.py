"""What DKMS is given; tests/vm installs it on a kernel of Debian's."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds, dkms

FOR_THE_LAB = {folder.name for folder in builds.modules_for_the_lab()}
MODULES = sorted(
    {path.parent.name for path in (builds.ROOT / "kmods").glob("*/Kbuild")} - FOR_THE_LAB
)
EXAMPLE = builds.ROOT / "examples" / "module-repository" / "kmods"
ARRAYS = ("BUILT_MODULE_NAME", "BUILT_MODULE_LOCATION", "DEST_MODULE_LOCATION")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a module of a user's own."""
    copy = shutil.copytree(EXAMPLE, tmp_path / "own")
    monkeypatch.setenv("SANDGLASS_KMODS", str(copy))
    return copy


def test_it_has_every_module_where_dkms_looks_for_it(own: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    dkms.write_package("1-0123456789ab", package)
    # DKMS reads it as bash does
    script = ["set -eu", f"source {package}/dkms.conf"]
    script += [f'echo "${{{name}[@]}}"' for name in ARRAYS]
    script += ['echo "$PACKAGE_NAME $PACKAGE_VERSION"']
    lines = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        env={"kernel_source_dir": "", "dkms_tree": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    names, places, targets, version = (line.split() for line in lines)
    assert names == places == sorted([*MODULES, "tcp_gaimd"])
    assert dkms.modules(package) == set(names)
    assert set(targets) == {"/updates/dkms"}
    assert version == ["sandglass", "1-0123456789ab"]
    assert all((package / name / "Kbuild").exists() for name in names)
    assert (package / "Kbuild").exists()
    assert (package / "qdisc.h").exists()
    assert not any((package / name).exists() for name in FOR_THE_LAB)


def test_a_changed_module_is_another_version(own: Path) -> None:
    before = dkms.version()
    assert dkms.version() == before
    source = own / "tcp_gaimd" / "tcp_gaimd.c"
    source.write_text(source.read_text() + "\n")
    assert dkms.version() != before
