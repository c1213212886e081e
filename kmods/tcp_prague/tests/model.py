"""TCP Prague's sender in whole numbers, as the draft and L4STeam's module 0.6 have it.

It is told what Linux tells its congestion control: what each ACK delivers and reports, the
smoothed round-trip time, and the state that Linux comes to. From that it predicts alpha, the
window with its fraction, cwnd and ssthresh.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PACKET, ONE = 1 << 20, 1 << 24  # a window of 1, alpha of 1
INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH
DEFAULTS = {
    "rtt_mode": 1,
    "rtt_target": 25_000,
    "transition": 500,
    "alpha_start": 1,
    "loss_percent": 50,
    "loss_credit": 0,
}
LOSS = ("Recovery", "Loss")


@dataclass(frozen=True)
class Ack:
    """An ACK, and what Linux has made of it when it calls the congestion control."""

    us: int
    delivered: int
    """Packets so far."""
    marked: int
    """Of these, reported with a mark."""
    acknowledged: int
    """Sequence number up to which all has arrived; the SYN has 0."""
    sent: int
    """Up to which all had been sent before this ACK."""
    srtt_us: int
    state: str
    limited: bool = True
    """Whether the window was filled."""
    undone: bool = False
    """Whether it has shown that the last loss was none."""


@dataclass
class Sender:
    """A connection from its first data on."""

    us: int
    """When it was established."""
    settings: Mapping[str, int] = field(default_factory=lambda: DEFAULTS)
    window: int = 10 * PACKET
    cwnd: int = 10
    ssthresh: int = INFINITE
    alpha: int = 0
    rounds: int = 0
    state: str = "Open"
    srtt_us: int = 0

    def __post_init__(self) -> None:
        self.round_us, self.round_end = self.us, 1
        self.round_delivered = self.delivered = 1  # the SYN
        self.round_marked = self.marked = 0
        self.saw_mark = False
        self.cut_us, self.cut_alpha = -(1 << 62), 0
        self.high = 0  # what CWR or Recovery lasts beyond
        self.before_loss = self.ssthresh_before_loss = 0

    @property
    def shown(self) -> tuple[int, int, int, int, int]:
        """What can be seen of it."""
        return self.cwnd, self.ssthresh, self.window, self.alpha, self.rounds

    # --- what happens ---

    def ack(self, ack: Ack) -> None:
        """An ACK that delivers something, or that changes the state."""
        self.us, self.srtt_us = ack.us, ack.srtt_us
        self._enter(ack)
        delivered, marked = ack.delivered - self.delivered, ack.marked - self.marked
        self.delivered, self.marked = ack.delivered, ack.marked
        if marked:
            self._see_mark()
        if self.state not in LOSS and delivered > marked and ack.limited:
            self._grow(delivered - marked)
        else:
            self._follow()
        self._end_round(ack)

    def reordering_timeout(self, us: int, sent: int) -> None:
        """RACK has waited long enough for a packet, and Recovery begins without an ACK."""
        self.us = us
        self._lose()
        self.high, self.state = sent, "Recovery"

    def timeout(self, us: int, acknowledged: int, cwnd: int) -> None:
        """Linux leaves a packet more than is in flight, and tells of it once in a round."""
        self.us = us
        if self.state in ("Open", "Disorder") or acknowledged >= self.high:
            self._lose()
        self.cwnd, self.state = cwnd, "Loss"

    # --- reductions ---

    def stays(self, acknowledged: int) -> str:
        """The state after an ACK that reports nothing."""
        over = acknowledged > self.high - (self.state == "Recovery")
        return "Open" if self.state in ("CWR", "Recovery") and over else self.state

    def begins_recovery(self, ack: Ack) -> bool:
        """Whether it does, be it anew, when all of the last one has come."""
        anew = self.state != "Recovery" or ack.acknowledged >= self.high
        return ack.state == "Recovery" and anew

    def _enter(self, ack: Ack) -> None:
        if ack.undone:
            self.window = max(self.window, self.before_loss)
            self.cwnd = max(self.cwnd, packets(self.window))
            self.ssthresh = self.ssthresh_before_loss
        begins = self.begins_recovery(ack)
        before, self.state = self.state, ack.state
        if begins:
            self._lose()
            self.high = ack.sent
        elif ack.state == "CWR" and (before != "CWR" or ack.acknowledged > self.high):
            self._reduce()
            self.high = ack.sent

    def _see_mark(self) -> None:
        if not self.saw_mark:
            self.saw_mark = True
            self.alpha = ONE if self.settings["alpha_start"] else 0

    def _reduce(self) -> None:
        alpha = self.alpha if self.saw_mark else ONE
        self._see_mark()
        if self.cwnd < self.ssthresh:
            self.window = min(self.window, self.cwnd * PACKET)
        if self._rtt() == self.srtt_us or self.us - self.cut_us >= self._rtt():
            cut = ((alpha >> 4) * self.window + PACKET) >> 21
            self.window = max(self.window - cut, 2 * PACKET)
            self.cut_us, self.cut_alpha = self.us, alpha
        self.ssthresh = packets(self.window)

    def _lose(self) -> None:
        alpha = self.cut_alpha if self.us - self.cut_us < self._rtt() else 0
        self.before_loss = self.window
        # Linux's own, tcp_current_ssthresh()
        used = (self.cwnd >> 1) + (self.cwnd >> 2) if self.state in ("Open", "Disorder") else 0
        self.ssthresh_before_loss = max(self.ssthresh, used)
        left = -(-self.window * self.settings["loss_percent"] // 100)
        if self.settings["loss_credit"] == 1:
            left = left * 2 * ONE // (2 * ONE - alpha)
        elif self.settings["loss_credit"] == 2:
            left += left * alpha // (2 * ONE)
        self.window = max(min(left, self.window), 2 * PACKET)
        self.ssthresh = packets(self.window)

    # --- growth ---

    def _rtt(self) -> int:
        mode, target = self.settings["rtt_mode"], self.settings["rtt_target"]
        slow_start = self.cwnd < self.ssthresh
        if self.rounds < self.settings["transition"] or mode == 0 or slow_start:
            return self.srtt_us
        return max(self.srtt_us, target) if mode == 1 else self.srtt_us + target

    def _grow(self, unmarked: int) -> None:
        if self.cwnd < self.ssthresh:
            grown = min(unmarked, self.ssthresh - self.cwnd)
            self.cwnd += grown
            self.window = max(self.window, self.cwnd * PACKET)
            unmarked -= grown
            if not unmarked:
                return
        rtt = self._rtt()
        per_rtt = (self.srtt_us**2 * PACKET + rtt**2 // 2) // rtt**2
        increase = (unmarked * per_rtt * PACKET + self.window // 2) // self.window
        self.window += max(increase, unmarked)
        self._follow()

    def _follow(self) -> None:
        wanted = packets(self.window)
        self.cwnd += (wanted > self.cwnd) - (wanted < self.cwnd)

    def _end_round(self, ack: Ack) -> None:
        if ack.acknowledged <= self.round_end:
            return
        if self._rtt() > self.srtt_us and self.us - self.round_us < self._rtt():
            return
        delivered = self.delivered - self.round_delivered
        if self.saw_mark and delivered:
            share = min(self.marked - self.round_marked, delivered) * PACKET // delivered
            self.alpha = min(self.alpha - (self.alpha >> 4) + share, ONE)
        self.rounds += self.cwnd >= self.ssthresh
        self.round_us, self.round_end = self.us, ack.sent
        self.round_delivered, self.round_marked = self.delivered, self.marked


def packets(window: int) -> int:
    """A window in whole packets, rounded up."""
    return -(-window // PACKET)
