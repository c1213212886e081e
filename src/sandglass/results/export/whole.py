"""Files that are there whole or not at all."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from sandglass.errors import UsageError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Hands out a file that takes the place of `path` when the block ends well.

    Raises UsageError where `path` is a directory; one that it is to lie in is made. An OSError of
    the block's that names no file, as of a full disk, names this one.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a directory", "Name a file in it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a device or a pipe, which nothing may replace
        with path.open("wb") as file:
            yield file
        return
    partial = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write files, each in place of its path when all are written."""
    with contextlib.ExitStack() as stack:
        for path, content in files.items():
            stack.enter_context(whole_file(path)).write(content)
