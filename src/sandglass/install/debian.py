"""Fetch single Debian packages without root and without touching the host's apt.

The lab is made of packages of a suite of its own, whichever the host's is: a kernel's source, and
the programs that run in it. They are downloaded with a private apt configuration, derived from the
host's own sources.
"""

import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds

SUITES = ("bookworm", "trixie", "forky", "sid")
APT_ETC = Path("/etc/apt")
OPTION_NAMES = {"arch": "Architectures", "lang": "Languages", "target": "Targets"}

Stanza = dict[str, str]

_refreshing = threading.Lock()
"""One at a time fetches lists: apt gives up where another one does."""
_refreshed: set[tuple[Path, str]] = set()


def fetch(package: str, *, later_suites: bool = False) -> Path:
    """The package's .deb in the cache, downloaded on first use.

    With `later_suites`, a package that the lab's suite lacks is taken from the first that has it
    of those that follow. Raises SandglassError when it is nowhere to be had or the
    download fails.
    """
    archive = builds.directory() / "debs"
    if kept := newest(archive, package):
        return kept
    partial = archive / "partial"
    partial.mkdir(parents=True, exist_ok=True)
    for suite in [builds.SUITE, *(later_than(builds.SUITE) if later_suites else ())]:
        print(f"looking for {package} in Debian {suite}", flush=True)
        options = refreshed_apt(suite, partial)
        if not apt("apt-cache", "madison", package, options=options, folder=partial):
            continue
        print(f"downloading {package}", flush=True)
        apt("apt-get", "download", package, options=options, folder=partial)
        if found := newest(partial, package):
            return found.rename(archive / found.name)
    raise SandglassError(f"Debian has no package {package}", f"sources: {APT_ETC}")


def download(packages: Iterable[str], suite: str, folder: Path) -> list[Path]:
    """Packages of a suite with all that they depend on, as .deb files in `folder`.

    As for a machine on which nothing is installed yet. Raises UsageError when the suite has one of
    them not, and SandglassError when one is not to be had.
    """
    (folder / "partial").mkdir(parents=True)
    nothing = folder / "status"
    nothing.touch()
    options = refreshed_apt(suite, folder)
    for setting in (
        f"Dir::State::status={nothing}",
        f"Dir::Cache::archives={folder}",
        "APT::Install-Recommends=false",
        "Debug::NoLocking=true",
    ):
        options += ["-o", setting]
    wanted = list(packages)
    found = apt("apt-cache", "madison", *wanted, options=options, folder=folder)
    known = {line.partition("|")[0].strip() for line in found.splitlines()}
    if missing := [name for name in wanted if name not in known]:
        raise UsageError(f"Debian {suite} has no package {', '.join(missing)}")
    install = ("--download-only", "--yes", "install", *wanted)
    apt("apt-get", *install, options=options, folder=folder)
    return sorted(folder.glob("*.deb"))


def later_than(suite: str) -> tuple[str, ...]:
    """The suites that follow one, in their order."""
    return SUITES[SUITES.index(suite) + 1 :] if suite in SUITES else ()


def version(deb: Path) -> str:
    """The package's version, such as 6.12.117-1~deb12u1."""
    command = ["dpkg-deb", "--field", str(deb), "Version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def unpack(deb: Path, target: Path) -> None:
    """Lay the package's files below `target`; nothing of it is run."""
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(target)], check=True)


def newest(folder: Path, package: str) -> Path | None:
    debs = folder.glob(f"{package}_*.deb")
    return max(debs, key=lambda path: path.stat().st_mtime_ns, default=None)


def apt(tool: str, *arguments: str, options: list[str], folder: Path) -> str:
    """What a tool of apt's printed, run in `folder`; raises SandglassError with its own words."""
    command = [tool, "-q", *options, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        words = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        reason = "\n  ".join(words) or done.stderr.strip()
        raise SandglassError(f"{tool} {' '.join(arguments)} failed", reason)
    return done.stdout


def refreshed_apt(suite: str, folder: Path) -> list[str]:
    """Options of our own apt, whose lists of a suite this process has fetched."""
    with _refreshing:
        options = private_apt(suite)
        if (place := (builds.directory(), suite)) not in _refreshed:
            apt("apt-get", "update", options=options, folder=folder)
            _refreshed.add(place)
    return options


def private_apt(suite: str) -> list[str]:
    """Options that point apt-get at sources, lists and caches of our own."""
    home = builds.directory() / "apt" / suite
    for name in ("lists/partial", "cache/archives/partial"):
        (home / name).mkdir(parents=True, exist_ok=True)
    sources = home / "debian.sources"
    sources.write_text(private_sources(suite))
    settings = {
        "Dir::Etc::sourcelist": str(sources),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": str(home / "lists"),
        "Dir::Cache": str(home / "cache"),
        "Acquire::Languages": "none",
    }
    if os.geteuid() == 0:
        # apt's own user could not write into root's cache directory
        settings["APT::Sandbox::User"] = "root"
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def private_sources(suite: str) -> str:
    """Sources of a suite, with non-free, at the host's own mirrors (deb822).

    With its updates, those for security included, for the host's own release and those before.
    Raises SandglassError when the host has no source of its own release.
    """
    own = codename()
    stanzas = [s for s in host_sources() if any(x.startswith(own) for x in s["Suites"].split())]
    if not stanzas:
        raise SandglassError(
            f"no source of Debian {own} in {APT_ETC}",
            "Sandglass needs a Debian host: run it in the container or the virtual machine",
        )
    mirror = next((s for s in stanzas if own in s["Suites"].split()), stanzas[0])
    if suite in later_than(own):
        stanzas = [{**mirror, "Suites": suite}]
    else:
        stanzas = [{**s, "Suites": re.sub(rf"\b{own}\b", suite, s["Suites"])} for s in stanzas]
        security = f"{suite}-security"
        if not any(security in s["Suites"].split() for s in stanzas):
            place = re.sub(r"/debian/?$", "/debian-security", mirror["URIs"])
            stanzas.append({**mirror, "URIs": place, "Suites": security})
    wanted = {"Types": "deb", "Components": "main non-free", "Targets": "Packages"}
    texts = ("\n".join(f"{k}: {v}" for k, v in {**s, **wanted}.items()) for s in stanzas)
    return "\n\n".join(texts) + "\n"


def codename() -> str:
    """The host's release name, such as bookworm."""
    found = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    return found[1] if found else "unknown"


def host_sources() -> Iterator[Stanza]:
    """The host's binary sources of component main, in both of apt's formats."""
    files = [APT_ETC / "sources.list", *sorted((APT_ETC / "sources.list.d").glob("*"))]
    for path in files:
        if path.suffix not in {".list", ".sources"} or not path.is_file():
            continue
        parse = deb822 if path.suffix == ".sources" else one_line
        for stanza in parse(path.read_text()):
            usable = "deb" in stanza.get("Types", "").split()
            if usable and "main" in stanza.get("Components", "").split():
                yield stanza


def deb822(text: str) -> Iterator[Stanza]:
    """Stanzas of a .sources file; a field may go on over lines that begin with a space."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for block in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", block, re.M)
        stanza = {key.title(): value for key, value in fields}
        if stanza and stanza.pop("Enabled", "yes").strip() != "no":
            stanza["URIs"] = stanza.pop("Uris", "")
            yield stanza


def one_line(text: str) -> Iterator[Stanza]:
    """Stanzas of a .list file: `deb [option=value …] URI suite component …`."""
    pattern = re.compile(r"^\s*(deb\S*)\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#\n]+)", re.M)
    for kind, options, uri, suite, components in pattern.findall(text):
        stanza = {"Types": kind, "URIs": uri, "Suites": suite, "Components": components.strip()}
        for option in options.split():
            name, _, value = option.partition("=")
            stanza[OPTION_NAMES.get(name, name.title())] = value.replace(",", " ")
        yield stanza
