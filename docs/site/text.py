"""Markdown as the repository has it, made what mkdocs reads: links to files, and nested lists."""

import posixpath
import re
from collections.abc import Callable

from markdown_it import MarkdownIt

LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]*)(#[^)\s]*)?\)")
FENCED = re.compile(r"^( *)(```+).*?^\1\2`*$", re.DOTALL | re.MULTILINE)
INDENT = 4
"""Columns that Python-Markdown asks for at each level of a list; CommonMark goes by the marker."""


def linked(markdown: str, page: str) -> list[str]:
    """What the relative links of a page lead to, as paths in the repository."""
    return [_target(page, found[1]) for found in LINK.finditer(FENCED.sub("", markdown))]


def relinked(markdown: str, page: str, there: Callable[[str], str]) -> str:
    """The page with its relative links led to where `there` puts what they lead to."""

    def led(found: re.Match[str]) -> str:
        path = posixpath.relpath(there(_target(page, found[1])), posixpath.dirname(page) or ".")
        return f"]({path}{found[2] or ''})"

    prose = 0
    parts = []
    for fence in FENCED.finditer(markdown):
        parts += [LINK.sub(led, markdown[prose : fence.start()]), fence[0]]
        prose = fence.end()
    return "".join([*parts, LINK.sub(led, markdown[prose:])])


def _target(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def indented(markdown: str) -> str:
    """The page with the contents of lists as far to the right as Python-Markdown wants them."""
    lines = markdown.splitlines()
    level = 0
    before: list[int] = []  # lines that need an empty one before them
    for token in MarkdownIt().parse(markdown):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            level += 1
            if token.map and token.map[0] and lines[token.map[0] - 1].strip() and level == 1:
                before.append(token.map[0])
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            level -= 1
        elif token.type == "list_item_open" and token.map:
            first, last = token.map
            marker = re.match(r"\s*\S+\s+", lines[first])
            if not marker:
                continue
            now, wanted = len(marker[0]), INDENT * level
            for number in range(first + 1, last):
                if lines[number].startswith(" " * now):
                    lines[number] = " " * (wanted - now) + lines[number]
    for number in reversed(before):
        lines.insert(number, "")
    return "\n".join(lines) + "\n"
