"""Files that are there whole or not at all."""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sandglass.errors import UsageError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Hands out a file that takes the place of `path` when the block ends well.

    Raises UsageError where `path` is a directory; one that it is to lie in is made.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a directory", "Name a file in it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
