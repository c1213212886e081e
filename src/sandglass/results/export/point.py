"""Where a capture is taken."""

from enum import StrEnum


class Point(StrEnum):
    """As packets come to a queue, or as they leave it."""

    ARRIVAL = "arrival"
    DEPARTURE = "departure"
