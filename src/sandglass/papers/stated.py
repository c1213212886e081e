"""Which settings a source states, as the comments of experiments say it: # stated (IV-A).

Three words stand beside settings and are used strictly: stated, derived, re-design. A word counts
for what its line sets, and for what stands below its line without a word of its own; or it stands
in the line above. "As the next two" makes it count for so many lines more. Of a key that no file
sets, since its default is meant, a comment says: # drop_max: stated (IV-A).
"""

import functools
import re
from pathlib import Path

from sandglass.experiment import document
from sandglass.experiment.document import Document
from sandglass.experiment.problems import KeyPath

WORD = re.compile(r"#\s*(stated|derived|re-design)\b")
NEXT = re.compile(r"as the next(?: (two|three|four|five|six))?\b")
NUMBERS = {None: 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
"""How many lines more a comment speaks of."""


def place(file: Path, at: KeyPath) -> str | None:
    """Where an experiment, or one of its bases, says that the source states a key: FILE:LINE.

    None where nothing does, or where its nearest word is another one.
    """
    found = _read(file)
    if not found.has(at):
        return _of_default(file, found, str(at[-1]))
    for depth in range(len(at), 0, -1):
        where = found.place(at[:depth])
        assert where
        name, _, line = where.rpartition(":")
        word = _word(Path(name), int(line))
        if word:
            return f"{Path(name)}:{line}" if word == "stated" else None
    return None


def _of_default(file: Path, found: Document, key: str) -> str | None:
    said = re.compile(rf"#\s*{re.escape(key)}: stated\b")
    for each in (file, *found.bases):
        for number, line in enumerate(_lines(each), 1):
            if said.search(line):
                return f"{each}:{number}"
    return None


def _word(file: Path, line: int) -> str | None:
    """The word for what a line sets."""
    lines = _lines(file)
    own = WORD.search(lines[line - 1])
    if own:
        return own[1]
    above = lines[line - 2].strip() if line > 1 else ""
    if above.startswith("#") and (found := WORD.match(above)):
        return found[1]
    for before in range(1, max(NUMBERS.values()) + 1):
        if line - 1 - before < 0:
            break
        text = lines[line - 1 - before]
        further = NEXT.search(text)
        if further and NUMBERS[further[1]] >= before and (found := WORD.search(text)):
            return found[1]
    return None


@functools.cache
def _read(file: Path) -> Document:
    return document.read(file)


@functools.cache
def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()
