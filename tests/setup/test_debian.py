"""Private apt sources, derived from the host's own in both formats."""

from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds, debian

DEB822 = """\
# the distribution
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS
 -----END PGP PUBLIC KEY BLOCK-----

Enabled: no
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm-backports
Components: main

Types: deb
URIs: http://elsewhere.example/node
Suites: nodistro
Components: main
"""
ONE_LINE = """\
deb [signed-by=/k.gpg arch=amd64,i386] http://mirror.example/security bookworm-security main # c
# deb http://off.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian bookworm contrib
"""


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "off.sources.disabled").write_text(DEB822)
    (tmp_path / "sources.list").write_text(ONE_LINE)
    monkeypatch.setattr(debian, "APT_ETC", tmp_path)
    monkeypatch.setattr(debian, "codename", lambda: "bookworm")
    return tmp_path


def test_sources_keep_mirror_and_key_and_gain_non_free(etc: Path) -> None:
    texts = debian.private_sources("bookworm").strip().split("\n\n")
    security, own = (next(debian.deb822(text)) for text in texts)
    assert security["URIs"] == "http://mirror.example/security"
    assert security["Signed-By"] == "/k.gpg"
    assert security["Architectures"] == "amd64 i386"
    assert own["URIs"] == "http://mirror.example/debian"
    assert own["Suites"] == "bookworm bookworm-updates"
    assert own["Signed-By"].count("\n") == 4
    for stanza in (security, own):
        assert stanza["Types"] == "deb"
        assert stanza["Components"] == "main non-free"


def test_a_later_suite_comes_from_the_distributions_own_mirror(etc: Path) -> None:
    (later,) = debian.deb822(debian.private_sources("trixie"))
    assert later["URIs"] == "http://mirror.example/debian"
    assert later["Suites"] == "trixie"


@pytest.mark.parametrize("own", ["bookworm", "trixie"])
def test_an_earlier_suite_comes_with_its_security_updates(
    etc: Path, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    """A machine that knows no more than its own suite knows where those are."""
    (etc / "sources.list").write_text(f"deb http://mirror.example/debian {own} main\n")
    (etc / "sources.list.d" / "debian.sources").unlink()
    monkeypatch.setattr(debian, "codename", lambda: own)
    texts = debian.private_sources("bookworm").strip().split("\n\n")
    found = [next(debian.deb822(text)) for text in texts]
    assert [(stanza["URIs"], stanza["Suites"]) for stanza in found] == [
        ("http://mirror.example/debian", "bookworm"),
        ("http://mirror.example/debian-security", "bookworm-security"),
    ]


def test_later_suites_are_no_older_ones() -> None:
    assert debian.later_than("bookworm") == ("trixie", "forky", "sid")
    assert debian.later_than("trixie") == ("forky", "sid")
    assert debian.later_than("forky") == ("sid",)


def test_a_host_that_is_no_debian_is_told_so(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "codename", lambda: "noble")
    with pytest.raises(SandglassError, match="no source of Debian noble"):
        debian.private_sources("bookworm")


def test_apt_reads_and_writes_only_below_the_cache(
    etc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    options = dict(word.split("=", 1) for word in debian.private_apt("bookworm") if "=" in word)
    for key in ("Dir::Etc::sourcelist", "Dir::State::lists", "Dir::Cache"):
        assert Path(options[key]).is_relative_to(tmp_path / "cache")
        assert Path(options[key]).exists()
    assert options["Dir::Etc::sourceparts"] == "/dev/null"


@pytest.mark.usefixtures("etc")
def test_lists_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path / "cache"))
    asked: list[str] = []

    def apt(_tool: str, *words: str, **_: object) -> str:
        asked.extend(words)
        return ""

    monkeypatch.setattr(debian, "apt", apt)
    for _ in range(2):
        debian.refreshed_apt("bookworm", tmp_path)
    assert asked == ["update"]


def test_a_package_in_the_cache_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    kept = builds.directory() / "debs" / "netperf_2.7.0-0.1_amd64.deb"
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert debian.fetch("netperf") == kept
