"""What an experiment leaves to chance, drawn from its seed."""

from __future__ import annotations

import hashlib


def uniform(seed: int, what: str, largest: int) -> int:
    """A number from 0 to `largest`, the same for the same seed and purpose on every machine."""
    digest = hashlib.sha256(f"{seed} {what}".encode()).digest()
    return int.from_bytes(digest[:16], "big") * (largest + 1) >> 128
