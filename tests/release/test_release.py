"""A release: the same bytes wherever and whenever it is made, and it names all that is in it."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sandglass import __version__
from sandglass.errors import UsageError
from sandglass.install import builds, checkout, labs
from sandglass.papers.bundle import code
from sandglass.release import release
from tests.release.conftest import NEEDS_CLONE
from tests.release.test_wheel import without_its_lab

pytestmark = NEEDS_CLONE
TOP = f"sandglass-{__version__}"
CHANGES = f"""\
# Changes

## {__version__} (2027-01-31)

- **New.** ([a page](docs/lab.md#a-part), [another](https://example.org))

## 0.0.9

Old.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A release that was made twice, by different users, with a lab in it that is none."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text("[tar]\n\tumask = 0\n[core]\n\tabbrev = 9\n")
    found = [tmp_path_factory.mktemp(name) / "dist" for name in ("one", "other")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDGLASS_CACHE", str(builds.directory()))
        patch.setattr(labs, "export", without_its_lab)
        patch.setattr(builds, "kernels", lambda: [builds.DEFAULT_KERNEL])
        commit = checkout.commit().removesuffix("-dirty")
        patch.setattr(code, "commit", lambda: commit)
        release.write(found[0])
        for variable, text in {"HOME": str(home), "TZ": "Asia/Tokyo", "LC_ALL": "C"}.items():
            patch.setenv(variable, text)
        before = os.umask(0o077)
        try:
            release.write(found[1])
        finally:
            os.umask(before)
    return found


@pytest.fixture(scope="module")
def bill(made: list[Path]) -> dict[str, dict[str, object]]:
    """The components of the bill by their names."""
    content = json.loads((made[0] / f"{TOP}.cdx.json").read_text())
    return {each["name"]: each for each in content["components"]}


@pytest.fixture(scope="module")
def sources(made: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    place = tmp_path_factory.mktemp("sources")
    subprocess.run(["tar", "-xzf", made[0] / release.ARCHIVE, "-C", place], check=True)
    return place


def test_two_are_equal_to_the_byte(made: list[Path]) -> None:
    one, other = ({path.name: path.read_bytes() for path in each.iterdir()} for each in made)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_its_checksums_are_of_all_that_is_in_it(made: list[Path]) -> None:
    command = ["sha256sum", "--check", "--strict", "--quiet", release.SUMS]
    subprocess.run(command, cwd=made[0], check=True)
    named = [line.split()[1] for line in (made[0] / release.SUMS).read_text().splitlines()]
    assert named == sorted({path.name for path in made[0].iterdir()} - {release.SUMS})


def test_the_bill_is_as_its_schema_wants_it(made: list[Path]) -> None:
    content = (made[0] / f"{TOP}.cdx.json").read_text()
    wrong = JsonStrictValidator(SchemaVersion.V1_7).validate_str(content)
    assert wrong is None, str(wrong)


def test_the_bill_has_every_package_of_the_lab(bill: dict[str, dict[str, object]]) -> None:
    root = builds.lab().places[2]
    listed = json.loads((root / builds.ROOT_LIST).read_text())
    assert len(listed) > 100
    for package in listed:
        told = bill[package["name"]]
        assert told["version"] == package["version"]
        assert told["hashes"] == [{"alg": "SHA-256", "content": package["sha256"]}]
        [source] = told["pedigree"]["ancestors"]  # type: ignore[index]
        assert f"{source['name']} {source['version']}" == package["source"]


def test_the_bill_has_every_patch_and_the_archive_has_it_too(
    bill: dict[str, dict[str, object]], sources: Path
) -> None:
    told = {
        patch["diff"]["url"]
        for each in bill.values()
        for patch in each.get("pedigree", {}).get("patches", [])  # type: ignore[attr-defined]
    }
    ours = [*builds.patches(builds.DEFAULT_KERNEL), *builds.root_patches()]
    assert told == {f"{TOP}/{path.relative_to(builds.ROOT)}" for path in ours}
    assert all((sources / path).is_file() for path in told)


def test_the_bill_has_what_an_installer_adds(bill: dict[str, dict[str, object]]) -> None:
    assert bill["numpy"]["versionRange"] == "vers:pypi/>=2"
    assert bill["polars"]["versionRange"] == "vers:pypi/>=1.30|!=2.0.0"
    assert bill["polars"]["scope"] == "required"
    assert bill["snakemake"]["scope"] == "optional"


def test_each_package_has_its_sources(made: list[Path], bill: dict[str, dict[str, object]]) -> None:
    text = (made[0] / "SOURCES").read_text()
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line][1:]
    carried = [name for name, each in bill.items() if str(each["purl"]).startswith("pkg:deb/")]
    assert [row[0] for row in rows] == carried
    kernel = next(row for row in rows if row[0] == "linux-source-6.12")
    assert kernel[2] == "linux"
    assert "kernel/patches/6.12/" in kernel[4]


def test_the_archive_is_the_commit_and_knows_it(made: list[Path], sources: Path) -> None:
    with gzip.open(made[0] / release.ARCHIVE) as archive:
        archive.read(1)
        assert archive.mtime == 0
    names = subprocess.check_output(
        ["git", "-C", str(builds.ROOT), "ls-tree", "-r", "--name-only", "-z", "HEAD"], text=True
    )
    laid = [path for path in (sources / TOP).rglob("*") if path.is_symlink() or path.is_file()]
    found = {str(path.relative_to(sources / TOP)) for path in laid}
    assert found == {*names.rstrip("\0").split("\0"), ".commit"}
    command = ["./sandglass", "--version"]
    told = subprocess.check_output(command, cwd=sources / TOP, text=True)
    assert f"commit {checkout.commit().removesuffix('-dirty')}\n" in told


def test_its_notes_are_the_versions() -> None:
    told = release.notes(CHANGES, [f"v{__version__}"])
    assert told == "- **New.** (`docs/lab.md`, [another](https://example.org))\n"


def test_a_tag_is_of_the_version() -> None:
    with pytest.raises(UsageError, match=r"tagged v9\.9, and its version is"):
        release.notes(CHANGES, ["v9.9"])
    with pytest.raises(UsageError, match="to come"):
        release.notes(CHANGES.replace("2027-01-31", "to come"), [f"v{__version__}"])
    with pytest.raises(UsageError, match="has nothing of"):
        release.notes(CHANGES.replace(__version__, f"{__version__}.1"), [])


def test_what_is_there_stays(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is there already"):
        release.write(tmp_path)


@pytest.mark.parametrize("variable", release.CHOICES)
def test_a_lab_of_somebodys_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "mine")
    with pytest.raises(UsageError, match=f"{variable} is set"):
        release.write(tmp_path / "dist")
    assert list(tmp_path.iterdir()) == []
