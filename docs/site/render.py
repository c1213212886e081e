"""Pages made of templates."""

from html import escape
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, **values: object) -> str:
    """The Markdown of a template with values."""
    return ENVIRONMENT.get_template(f"{template}.md.jinja").render(values)


def code(value: object) -> str:
    """A value as an experiment file has it."""
    written = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return f"`{written.removesuffix(chr(10)).removesuffix('...').strip()}`"


def cell(markdown: str) -> str:
    """Markdown in one cell of a table."""
    return " ".join(markdown.split()).replace("|", "\\|")


def plain(text: str) -> str:
    """Text that is no Markdown, in one line."""
    kept = escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{letter}" if letter in "*_|`[]" else letter for letter in kept)


ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {"cell": cell, "plain": plain}
ENVIRONMENT.globals["macros"] = ENVIRONMENT.get_template("macros.jinja").module
