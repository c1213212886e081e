"""What mkdocs makes the site of: the repository's own pages, and those that are generated.

Every page has the path on the site that it has in the repository, so that its links lead to the
same on the forge and here. Nothing of it is copied into the repository or committed.
"""

import functools
import json
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.site import examples, figures, gallery, python, reference, sources, text
from sandglass.experiment import reading
from sandglass.install.builds import ROOT
from sandglass.install.upkeep import Pictures
from sandglass.papers import coverage, failing, matrix

Nav = list[dict[str, Any]]

GUIDES = [
    *("experiment", "studies", "statistics", "characterise", "play", "view"),
    *("python", "export"),
    *("mininet", "workloads", "flent"),
    *("kmods", "kselftest", "pipeline", "ci", "container", "cluster", "bundle", "host", "lab"),
]
"""In the order in which they are of use; what is not named here comes after them."""
ELSEWHERE = ("limits", "agreement", "data-format", "glossary", "maintaining")
"""Pages of docs/ that are no guides."""
PROJECT = ("CONTRIBUTING.md", "docs/maintaining.md", "CHANGES.md")
"""For who changes Sandglass, and who wants to know what has changed."""
COVERAGE, FAILING, SET_UPS = (f"gallery/{name}.md" for name in ("coverage", "failing", "set-ups"))
"""What the papers state and what judges it; what of it does not hold; the same in variants."""
INSTEAD = {
    "examples": gallery.PAGE,
    "examples/studies": gallery.PAGE,
    "topologies": reference.TOPOLOGIES,
    "workloads": reference.WORKLOADS,
}
"""Pages that say more of these than a list of files would."""


@functools.cache
def pictures(wanted: Pictures) -> dict[str, bytes]:
    """Drawn once for all builds of `--serve`."""
    of_examples = examples.drawn() if wanted == Pictures.ALL else examples.blank()
    of_papers = figures.all_of(gallery.papers())
    return of_examples | (
        figures.blank(of_papers) if wanted == Pictures.NONE else figures.drawn(of_papers)
    )


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = _written() | reference.pages() | {python.PAGE: python.page()} | gallery.pages()
    pages |= {COVERAGE: coverage.page(), FAILING: failing.page(), SET_UPS: matrix.page()}
    config["nav"] = _nav(pages)
    beside = sources.pages(pages, INSTEAD)
    known = {*pages, *beside}
    for path, markdown in (pages | beside).items():
        led = text.relinked(markdown, path, lambda target: _there(target, known))
        where = InclusionLevel.INCLUDED if path in pages else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, path, content=text.indented(led), inclusion=where))
    schema = json.dumps(reading.schema(), indent=2)
    files.append(File.generated(config, str(reading.SCHEMA.relative_to(ROOT)), content=schema))
    drawn = pictures(Pictures(config.extra["pictures"]))
    for path, content in drawn.items():
        files.append(File.generated(config, path, content=content))
    for path in sorted(_as_they_are(pages) - drawn.keys()):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Give the front page its own look, of which the forge's reader sees nothing."""
    if not page.is_homepage:
        return markdown
    page.meta["hide"] = ["navigation", "toc"]
    return f'<div class="sg-home" markdown>\n\n{markdown}\n\n</div>\n'


def on_post_page(output: str, **_: Any) -> str:
    """Name the search, which Material leaves without a name."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def _written() -> dict[str, str]:
    """The pages that the repository has, by their paths in it."""
    found = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGES.md",
        *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
        *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "kmods").glob("*/README.md"))),
    ]
    return {path: (ROOT / path).read_text() for path in found}


def _as_they_are(pages: dict[str, str]) -> set[str]:
    """Pictures and data of the repository that pages show or lead to."""
    named = {target for path, markdown in pages.items() for target in text.linked(markdown, path)}
    return {
        path for path in named if path.endswith(sources.AS_THEY_ARE) and (ROOT / path).is_file()
    }


def _there(target: str, known: set[str]) -> str:
    """The page or file of the site that a path of the repository has."""
    chosen = INSTEAD.get(target, target)
    readme = str(PurePosixPath(chosen) / "README.md")
    for page in (chosen, readme, sources.page(chosen)):
        if page in known:
            return page
    return chosen


def _nav(pages: Collection[str]) -> Nav:
    docs = [PurePosixPath(path).stem for path in sorted(pages) if path.count("/") == 1]
    docs = [name for name in docs if f"docs/{name}.md" in pages]
    guides = [name for name in GUIDES if name in docs]
    guides += [name for name in docs if name not in (*GUIDES, *ELSEWHERE)]
    lessons = sorted(path for path in pages if path.startswith("docs/tutorial/"))
    modules = sorted(path for path in pages if path.startswith("kmods/"))
    shown = [
        {name: [examples.page_of(path) for path in paths]}
        for name, paths in (("Studies", examples.studies()), ("Examples", examples.single()))
        if paths
    ]
    figures = [
        {paper: [page for page in pages if page.startswith(f"gallery/{paper}/")]}
        for paper in gallery.papers()
    ]
    return [
        {"Start": "README.md"},
        {"Tutorial": ["docs/tutorial/README.md", *(p for p in lessons if "README" not in p)]},
        {"Guides": [f"docs/{name}.md" for name in guides]},
        {
            "Reference": [
                *reference.NAV,
                {"Python": python.PAGE},
                {"Tables of a run": "docs/data-format.md"},
                {"Modules": modules},
                {"Words": "docs/glossary.md"},
            ]
        },
        {"Limits": "docs/limits.md"},
        {"Agreement": "docs/agreement.md"},
        {"Gallery": [gallery.PAGE, *shown, *figures, COVERAGE, FAILING, SET_UPS]},
        {"Project": [*PROJECT]},
    ]
