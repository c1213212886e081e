"""Where the links of an HTML page lead."""

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value: None for name, value in attrs if name in ("href", "src") and value}


def beside(page: str) -> list[str]:
    """The files that a page leads to or shows, relative to it, as paths; not what is elsewhere."""
    links = _Links()
    links.feed(page)
    parts = map(urlsplit, links.found)
    paths = [unquote(part.path) for part in parts if not part.scheme and not part.netloc]
    return list(dict.fromkeys(filter(None, paths)))
