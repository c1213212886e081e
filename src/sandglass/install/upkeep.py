"""Sandglass's checks of itself: tests, linters among them, and benchmarks."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandglass.errors import UsageError, nearest
from sandglass.install import builds
from sandglass.words import Words


def test(words: list[str], *, thorough: bool) -> int:
    """Run pytest, whose closing line is the last, and return its exit status.

    Without words of pytest's own, the tests that the usual lab is enough for, on all processors:
    all of them, or those that are not `thorough`. Those of a file stay together: they share what is
    costly, and labs wait for a processor of their own anyway.
    """
    number = len(os.sched_getaffinity(0)) + 1  # a fifth of the time a test waits for something
    chosen = "not newer" if thorough else "not newer and not thorough"
    usual = ["-m", chosen, "-n", str(number), "--dist=loadscope", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", *(words or usual)]
    return subprocess.run(command, cwd=builds.ROOT, check=False).returncode


def benchmarks(names: list[str]) -> list[Path]:
    """The scripts of bench/ with these names, all without any; raises UsageError on another."""
    scripts = {path.stem: path for path in sorted((builds.ROOT / "bench").glob("*.py"))}
    for name in names:
        if name not in scripts:
            raise UsageError(f"there is no benchmark {name!r}{nearest(name, scripts)}")
    return [scripts[name] for name in names or scripts]


def bench(scripts: list[Path]) -> int:
    """Run benchmarks one after the other; returns the first exit status that is not 0."""
    statuses = [
        subprocess.run(
            [sys.executable, "-m", f"bench.{script.stem}"], cwd=builds.ROOT, check=False
        ).returncode
        for script in scripts
    ]
    return next((status for status in statuses if status), 0)


class Pictures(Words):
    """Which pictures of its gallery the site has; the others are blank."""

    NONE = "none"
    FIGURES = "figures"
    """The papers', drawn from the tables in the repository."""
    ALL = "all"
    """The examples' too, each of which is run."""


def site(out: Path | None, pictures: Pictures) -> int:
    """Make the site in `out`, whole or not at all, and return mkdocs' exit status.

    Raises UsageError when something else is there.
    """
    place = (out or builds.ROOT / "results" / "site").absolute()
    if place.exists() and not (place / "search" / "search_index.js").is_file():
        raise UsageError(f"{place} is there, and no site of ours", "name another directory")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as scratch:
        made = Path(scratch) / "site"
        status = mkdocs(pictures, "build", "--strict", "--site-dir", str(made))
        if status == 0:
            shutil.rmtree(place, ignore_errors=True)
            made.rename(place)
            print(f"open {place / 'index.html'}")
    return status


def serve(pictures: Pictures) -> int:
    """Show the site at a local address until it is interrupted; returns mkdocs' exit status."""
    return mkdocs(pictures, "serve")


def mkdocs(pictures: Pictures, *words: str) -> int:
    """Run mkdocs on docs/site, and return its exit status."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(builds.ROOT / "src"), str(builds.ROOT)]),
        "NO_MKDOCS_2_WARNING": "1",
        "SANDGLASS_SITE_PICTURES": pictures,
    }
    settings = builds.ROOT / "docs" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", *words, "--config-file", str(settings)]
    return subprocess.run(command, env=environment, cwd=builds.ROOT, check=False).returncode
