"""Web load as the evaluation's generator has it: as the workload `web`, with its sizes.

Its list of 100,000 sizes is not at hand. From 1 kB to 1 MB, with a median of 2.15 kB, 12.6 kB of
nine in ten, 141 kB of 99 in 100, 9.1 kB on average: Pareto's distribution between these bounds,
with a shape of 0.9, has 2.16, 12.7, 137 and 9.0.
"""

from __future__ import annotations

import math

from sandglass.agent.declare import TEXT, Option
from workloads import web

TCP, IPV6, OPENER = web.TCP, web.IPV6, web.OPENER
OPTIONS = web.OPTIONS | {"answers": Option(TEXT, "Sizes of the answers.", "evaluation")}
COLUMNS, PARTS = web.COLUMNS, web.PARTS
problems, packets, run = web.problems, web.packets, web.run

LEAST, MOST, SHAPE = 1_000, 1_000_000, 0.9
CUT = 1 - math.pow(LEAST / MOST, SHAPE)


def size(seed: int, what: str) -> int:
    """A size, by the inverse of the distribution."""
    return round(LEAST * math.pow(1 - CUT * web.share(seed, what), -1 / SHAPE))


def mean() -> float:
    """Of `size`, in bytes."""
    tail = math.pow(MOST / LEAST, 1 - SHAPE) - 1
    return LEAST * SHAPE / (1 - SHAPE) * tail / CUT


web.SIZES["evaluation"] = (size, mean)
