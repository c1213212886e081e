"""Pages of results, each one file with all that it shows: base.html.jinja is their frame."""

import base64
import math
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

MINUS, THIN_SPACE = "\u2212", "\u2009"
HERE = Path(__file__).parent


def environment(folder: Path) -> Environment:
    """Templates of a folder, which may build on those here.

    Everything is escaped but what a template marks as safe.
    """
    made = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["markdown"] = MarkdownIt("js-default").render
    made.filters["data_uri"] = data_uri
    made.filters["number"] = number
    return made


def data_uri(svg: bytes) -> str:
    """A picture as the address that holds it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def number(value: float | None, digits: int = 4) -> str:
    """To so many digits, whole from 10,000 on, with thin spaces; nothing is nothing."""
    if value is None:
        return ""
    if not math.isfinite(value) or abs(value) < 1e4:
        return f"{value:.{digits}g}".replace("-", MINUS)
    return f"{value:,.0f}".replace(",", THIN_SPACE).replace("-", MINUS)
