"""The page of `play`: its text, its script and its sheet, each whole, with the panels of `view`."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import jinja2

from sandglass.play.gallery import Card
from sandglass.results.view import page as view
from sandglass.terminal import shown

SCRIPTS = ("values", "knobs", "queue", "link", "runs", "sweep", "play")
"""In their order, after those that draw panels."""


def page(cards: Sequence[Card], file: Path | None) -> str:
    """The page, with the gallery, and the file that it opens if there is one."""
    template = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(_asset("page.html.jinja"))
    return template.render(cards=cards, file=shown(file) if file else None)


def script() -> str:
    """All of its JavaScript."""
    panels = [view.asset(f"{name}.js") for name in view.PANELS]
    return "\n".join([*panels, *(_asset(f"{name}.js") for name in SCRIPTS)])


def sheet() -> str:
    """All of its style."""
    return "".join([*(view.asset(f"{name}.css") for name in view.SHEETS), _asset("play.css")])


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
