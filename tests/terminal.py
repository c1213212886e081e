"""A terminal of 100 columns, at which somebody types."""

import io
import os
import pty
import select
from collections.abc import Mapping
from pathlib import Path


def at_a_terminal(
    folder: Path, command: list[str], environment: Mapping[str, str], type_at: str, keys: bytes
) -> tuple[int, str]:
    """A command's exit status and all that its terminal got; `keys` are typed at `type_at`."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execvpe(command[0], command, {**environment, "TERM": "xterm", "COLUMNS": "100"})
    seen = io.BytesIO()
    while select.select([terminal], [], [], 60)[0]:
        try:
            seen.write(os.read(terminal, 4096))
        except OSError:
            break
        if keys and type_at.encode() in seen.getvalue():
            os.write(terminal, keys)
            keys = b""
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), seen.getvalue().decode()
