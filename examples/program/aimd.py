"""A congestion control in a few lines: one packet more in a round trip, half of them on a loss."""


class Window:
    """How many packets may be in flight."""

    def __init__(self) -> None:
        self.size = 2.0
        self.srtt = 0.1  # seconds
        self._halved = 0.0

    @property
    def patience(self) -> float:
        """How long to wait for an answer, in seconds."""
        return 4 * self.srtt

    def acked(self, rtt: float) -> None:
        """A packet has come, and its answer too."""
        self.srtt += (rtt - self.srtt) / 8
        self.size += 1 / self.size

    def lost(self, now: float) -> None:
        """Halve it, once in a round trip."""
        if now - self._halved > self.srtt:
            self._halved = now
            self.size = max(1.0, self.size / 2)

    def timed_out(self) -> None:
        """Begin anew."""
        self.size = 1.0
