"""What an agent tells on its console, among whatever else is written there."""

import json
from typing import Any


def read(line: bytes) -> dict[str, Any] | None:
    """A message: a line that starts with @ and holds JSON with its kind; None: another line.

    Such as one in the middle of which something else has written.
    """
    if not line.startswith(b"@"):
        return None
    try:
        message = json.loads(line[1:])
    except ValueError:
        return None
    return message if isinstance(message, dict) and "kind" in message else None
