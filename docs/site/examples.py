"""The examples, run and drawn: experiments and studies."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml
from mkdocs.exceptions import PluginError

from docs.site import links
from sandglass.install.builds import ROOT

HOME = ROOT / "examples"
STUDIES = HOME / "studies"
BLANK_PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 420"/>'
BLANK_PAGE = b"<!doctype html><title>Not run</title><p>The site was made without runs.</p></html>"


def single() -> list[Path]:
    """Experiments."""
    return sorted(HOME.glob("*.yaml"))


def studies() -> list[Path]:
    return sorted(STUDIES.glob("*.yaml"))


def is_study(example: Path) -> bool:
    return example.parent == STUDIES


def page_of(example: Path) -> str:
    """Where an example's page is on the site, in Markdown."""
    return f"{example.relative_to(ROOT)}.md"


def pictures_of(example: Path) -> list[str]:
    """Where its pictures are on the site."""
    name = str(example.relative_to(ROOT).with_suffix(""))
    if not is_study(example):
        return [f"{name}.svg"]
    plots = yaml.safe_load(example.read_text())["plots"]
    return [f"{name}/plot{number}.svg" for number in range(1, len(plots) + 1)]


def look_of(example: Path) -> str:
    """Where the page of its run is, or the study's."""
    name = str(example.relative_to(ROOT).with_suffix(""))
    return f"{name}/index.html" if is_study(example) else f"{name}.run.html"


def blank() -> dict[str, bytes]:
    """What stands for all that, when nothing is run."""
    wanted = [
        path for each in [*studies(), *single()] for path in [*pictures_of(each), look_of(each)]
    ]
    return {path: BLANK_PICTURE if path.endswith(".svg") else BLANK_PAGE for path in wanted}


def drawn() -> dict[str, bytes]:
    """Pictures and pages of all examples, by where they are on the site.

    As many at once as processors, studies one by one, and runs from the cache. Raises PluginError
    with what a command said that failed.
    """
    processors = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        with ThreadPoolExecutor(processors) as pool:
            made = [*pool.map(lambda path: _experiment(path, Path(scratch)), single())]
        made += [_study(path, Path(scratch)) for path in studies()]
    return {path: content for each in made for path, content in each.items()}


def _experiment(example: Path, scratch: Path) -> dict[str, bytes]:
    run = scratch / example.stem
    picture, look = run.with_suffix(".svg"), run.with_suffix(".html")
    _sandglass("run", example, "--cached", "--out", run)
    _sandglass("plot", run, "--out", picture)
    _sandglass("view", run, "--out", look)
    return {pictures_of(example)[0]: picture.read_bytes(), look_of(example): look.read_bytes()}


def _study(example: Path, scratch: Path) -> dict[str, bytes]:
    """Its page, and the files to which that leads: pictures, tables and runs."""
    out = scratch / "studies" / example.stem
    _sandglass("study", example, "--out", out)
    look = look_of(example)
    wanted = [Path(look).name, *links.beside((out / Path(look).name).read_text())]
    return {str(Path(look).parent / name): (out / name).read_bytes() for name in wanted}


def _sandglass(*words: str | Path) -> None:
    command = [sys.executable, "-P", "-m", "sandglass", *map(str, words)]
    if words[0] in ("run", "study"):
        print(f"runs {words[1]}", file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PluginError(f"{' '.join(command[3:])} failed:\n{done.stdout}{done.stderr}")
