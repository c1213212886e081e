"""Synthetic traces: rates as of a cellular link, a wireless LAN and a satellite link.

Real traces cannot be shipped. Each of these is made of a rate for each millisecond, by a model with
few parameters, and always from the same random numbers; an opportunity comes when 12,000 bits have
gathered, as Mahimahi makes traces of rates. What a trace is to resemble stands with its model; the
models are ours.
"""

import functools
import math
import random
from collections.abc import Callable, Iterable, Iterator

from sandglass.agent.plan import OPPORTUNITY_BITS

SECONDS = 60
MS = 1000


def cellular(chance: random.Random) -> Iterator[float]:
    """As an LTE downlink: rates in bit/s, one for each ms.

    The logarithm of the rate goes at random about its mean (Ornstein and Uhlenbeck), and now and
    then nothing is sent for a while. Its magnitudes are those of Mahimahi's trace
    Verizon-LTE-short.down: in the mean 5.0 Mb/s, 5 % of the time below 1.1, 95 % below 11.1, and
    no opportunity for 1.4 s at the longest.
    """
    median, deviation, memory_ms = 4.2e6, 0.7, 1500
    between_ms, longest_ms = 20_000, 1400
    kept = math.exp(-1 / memory_ms)
    spread = deviation * math.sqrt(1 - kept**2)
    level = 0.0
    outage = chance.randint(1, 2 * between_ms)
    while True:
        level = level * kept + spread * _normal(chance)
        if outage < 0:
            outage += 1
            yield 0
            continue
        outage -= 1
        if outage == 0:
            outage = -chance.randint(200, longest_ms)
        elif outage == -1:
            outage = chance.randint(1, 2 * between_ms)
        yield median * math.exp(level)


def wifi(chance: random.Random) -> Iterator[float]:
    """As a station of IEEE 802.11n, one stream in 20 MHz, among others: rates, one for each ms.

    What is sent goes at once, in aggregates of up to 4 ms; before each the station waits for the
    aggregates of 0 to 3 others, of 1 to 4 ms. Its modulation goes up or down a step at random, and
    so does how many others there are.
    """
    modulations = (6.5e6, 13e6, 19.5e6, 26e6, 39e6, 52e6, 58.5e6, 65e6)
    efficiency = 0.8
    modulation, others = 5, 1
    while True:
        if chance.random() < 0.02:
            modulation = min(max(modulation + chance.choice((-1, 1)), 0), len(modulations) - 1)
        if chance.random() < 0.005:
            others = min(max(others + chance.choice((-1, 1)), 0), 3)
        for _ in range(others):
            if chance.random() < 0.5:
                yield from [0] * chance.randint(1, 4)
        aggregate_ms = chance.randint(1, 4)
        yield from [0] * (aggregate_ms - 1)  # the receiver has it when all of it is there
        yield aggregate_ms * efficiency * modulations[modulation]


def satellite(chance: random.Random) -> Iterator[float]:
    """As a terminal of a low constellation: rates in bit/s, one for each ms.

    Every 15 s it gets another satellite or another share of one, as Starlink's do; nothing is sent
    for 40 to 200 ms then, at every fourth time for up to 1 s, and the rate is another one, from 10
    to 40 Mb/s, from which it goes off by some percent.
    """
    slot_ms = 15_000
    slot = 0
    while True:
        gap_ms = chance.randint(40, 1000 if slot % 4 == 3 else 200)
        rate = chance.uniform(10e6, 40e6)
        yield from [0] * gap_ms
        level = 0.0
        for _ in range(slot_ms - gap_ms):
            level = 0.995 * level + 0.005 * _normal(chance)
            yield rate * (1 + level)
        slot += 1


TRACES: dict[str, Callable[[random.Random], Iterator[float]]] = {
    "cellular": cellular,
    "wifi": wifi,
    "satellite": satellite,
}


def _normal(chance: random.Random) -> float:
    """Nearly a normal number, by sums and products alone: the same on every machine."""
    return sum(chance.random() for _ in range(12)) - 6


@functools.cache
def opportunities(name: str, seed: int = 1, seconds: int = SECONDS) -> tuple[int, ...]:
    """The milliseconds of a trace's opportunities; the last is that in which it begins again."""
    rates = TRACES[name](random.Random(f"{name} {seed}"))
    made = tuple(_gathered(rates, seconds * MS))
    return made if made and made[-1] == seconds * MS else (*made, seconds * MS)


def _gathered(rates: Iterable[float], end_ms: int) -> Iterator[int]:
    """An opportunity at the end of each millisecond in which 12,000 bits have gathered."""
    bits = 0
    for ms, rate in zip(range(1, end_ms + 1), rates, strict=False):
        bits += round(rate / MS)
        for _ in range(bits // OPPORTUNITY_BITS):
            yield ms
        bits %= OPPORTUNITY_BITS
