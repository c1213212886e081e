"""Where a capture is taken."""

from sandglass.words import Words


class Point(Words):
    """As packets come to a queue, or as they leave it."""

    ARRIVAL = "arrival"
    DEPARTURE = "departure"
