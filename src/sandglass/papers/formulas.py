"""The closed formulas that papers put beside their measurements.

Symbols follow CAIA-TR-150710A, section II-A: a single flow in congestion avoidance (linear
increase of one packet per round trip) through a DropTail buffer `b`, on a path whose
bandwidth-delay product is `d`, multiplying its window by `beta` at a congestion event. `b` and `d`
share any one unit (packets, bytes, seconds at the link's rate); only their ratio counts.
All that take them raise ValueError outside 0 < beta < 1, b >= 0, d > 0.
"""

import math

import numpy as np
import scipy


def full_buffer(beta: float, d: float) -> float:
    """The smallest buffer that keeps the link busy (eq. 1), in the unit of `d`."""
    _check(beta, 0.0, d)
    return d * (1 - beta) / beta


def full_beta(b: float, d: float) -> float:
    """The smallest decrease factor that keeps the link busy with a buffer `b` (eq. 2)."""
    _check(0.5, b, d)
    return d / (b + d)


def utilisation(beta: float, b: float, d: float) -> float:
    """The share of the link's capacity that the flow uses (eq. 5, and 1 where eq. 1 holds)."""
    _check(beta, b, d)
    if b >= full_buffer(beta, d):
        return 1.0
    peak = b + d
    return 1 - (d - beta * peak) ** 2 / (2 * d * (1 - beta) * peak)


def throughput(capacity: float, beta: float, b: float, d: float) -> float:
    """Capacity times utilisation (eq. 6), in the unit of `capacity`."""
    return capacity * utilisation(beta, b, d)


def trough(beta: float, b: float, d: float) -> float:
    """What is left in the queue after a back-off from a full buffer, in the unit of `b`.

    The window falls from b + d to beta * (b + d) (Fig. 1), of which d is on the path. Holds for
    every law of increase, since only the decrease enters.
    """
    _check(beta, b, d)
    return max(0.0, beta * (b + d) - d)


def mean_queue(beta: float, b: float, d: float) -> float:
    """The mean queue that packets meet over a saw-tooth of eq. 5's model, in the unit of `b`.

    Derived: a round trip at window w carries w packets, which meet a queue of max(0, w - d), while
    w grows from beta * (b + d) to b + d.
    """
    _check(beta, b, d)
    peak = b + d
    low = max(d, beta * peak)
    waited = (peak**3 - low**3) / 3 - d * (peak**2 - low**2) / 2
    return 2 * waited / (peak**2 * (1 - beta**2))


def cubic_window(time_s: float, largest: float, after: float) -> float:
    """CUBIC's window so long after a back-off to `after` (RFC 9438, eq. 1 and 2), in packets.

    `largest` is W_max, which fast convergence may have lowered.
    """
    scale = 0.4  # C of RFC 9438, section 5.1
    return scale * (time_s - float(np.cbrt((largest - after) / scale))) ** 3 + largest


def dctcp_alpha(window: float) -> float:
    """DCTCP's fixed point where a queue marks above a step (Alizadeh et al., 2010, section 3.3).

    `window` is W*, at which a flow's queue reaches the step, in packets. Marked is the one round
    trip of each saw-tooth in which the window grows from W* to W* + 1.
    """
    if not window > 0:
        raise ValueError(f"window is {window}: it has more than 0 packets")
    marked = (2 * window + 1) / (window + 1) ** 2
    return float(scipy.optimize.brentq(lambda a: a**2 * (1 - a / 4) - marked, 0, 2))


def waiting(load: float, service: float, square: float) -> float:
    """Pollaczek and Khinchine's mean wait of Poisson arrivals, in the unit of `service`.

    `service` is the mean time of a transmission, `square` the mean of its square: service**2 of
    M/D/1, 2 * service**2 of M/M/1.
    """
    if not 0 <= load < 1:
        raise ValueError(f"load is {load}: a queue with a mean has 0 or more, and less than 1")
    return load * square / (2 * service * (1 - load))


def path_packets(rate_bps: float, rtt_s: float, packet_bytes: float, ack_bytes: float) -> float:
    """The window that just fills a path whose queue is empty, in full packets.

    The model's d counts all of the round trip without a queue: propagation, and the transmission of
    a packet and of its acknowledgement at the bottleneck's rate.
    """
    on_path = rate_bps * rtt_s / 8 + packet_bytes + ack_bytes
    return on_path / packet_bytes


def halving(beta: float) -> int:
    """The number of back-offs that at least halve the window: the bound log_beta(0.5), rounded up.

    CAIA-TR-150710A, section III-A: the round trips that a slow-start overshoot takes to end.
    """
    _check(beta, 0.0, 1.0)
    # 0.5 = beta**n exactly has to give n: the logarithm alone may land a rounding error above it.
    return math.ceil(math.log(0.5) / math.log(beta) - 1e-9)


def _check(beta: float, b: float, d: float) -> None:
    if not 0 < beta < 1:
        raise ValueError(f"beta is {beta}: a decrease factor lies between 0 and 1")
    if not (b >= 0 and math.isfinite(b)):
        raise ValueError(f"b is {b}: a buffer is 0 or more")
    if not (d > 0 and math.isfinite(d)):
        raise ValueError(f"d is {d}: a bandwidth-delay product is more than 0")
