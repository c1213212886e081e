"""What an experiment leaves to chance, drawn from its seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def uniform(seed: int, what: str, largest: int) -> int:
    """A number from 0 to `largest`, the same for the same seed and purpose on every machine."""
    if not largest:
        return 0
    import hashlib

    digest = hashlib.sha256(f"{seed} {what}".encode()).digest()
    return int.from_bytes(digest[:16], "big") * (largest + 1) >> 128


def whole(seed: int, what: str) -> int:
    """A number of 64 bits."""
    return uniform(seed, what, 2**64 - 1)


def size(seed: int, what: str, planned: int | Mapping[str, Any]) -> int:
    """A size in bytes: the one planned, or one of the distribution planned."""
    return planned if isinstance(planned, int) else lognormal(seed, what, **planned["lognormal"])


def exponential(seed: int, what: str, mean: float) -> int:
    """A whole number, exponential with this mean, by the inverse of its distribution."""
    scale = 1 << 53
    return round(-mean * math.log(1 - uniform(seed, what, scale - 1) / scale))


def lognormal(seed: int, what: str, median: int, sigma: float, least: int, most: int) -> int:
    """A whole number, lognormal with this median and standard deviation of its logarithm.

    Outside of its bounds it becomes the nearer one, so that the median stays. The normal number
    comes from two uniform ones: G. E. P. Box, M. E. Muller, A note on the generation of random
    normal deviates, 1958.
    """
    scale = 1 << 53
    radius = math.sqrt(-2 * math.log(1 - uniform(seed, f"{what}, radius", scale - 1) / scale))
    angle = 2 * math.pi * uniform(seed, f"{what}, angle", scale - 1) / scale
    # Processors may differ in the last of 53 bits; the whole number has far fewer.
    return min(max(round(median * math.exp(sigma * radius * math.cos(angle))), least), most)
