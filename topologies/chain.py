"""Chain: routers in a row, a host at each.

    h1 -- r1 --- r2 --- r3 --- ... --- rN -- hN
                 |      |
                 h2     h3

Links have the names r1-r2, r2-r3, ...; what they are like stands in `links` of the experiment.
"""

from __future__ import annotations

import sys
from typing import Annotated

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.routed import Routed

MOST_ROUTERS = 60  # Linux sends packets that pass 64 routers


class Chain(Routed):
    """Routers r1, r2, ... and hosts h1, h2, ..."""

    def build(self, routers: Annotated[int, "routers in a row, 2 to 60"] = 6) -> None:
        if not 2 <= routers <= MOST_ROUTERS:
            raise ValueError(f"write 2 to {MOST_ROUTERS} routers, not {routers}")
        for number in range(1, routers + 1):
            self.addRouter(f"r{number}")
            self.addLink(self.addHost(f"h{number}"), f"r{number}")
            if number > 1:
                self.addLink(f"r{number - 1}", f"r{number}")


topos = {"chain": Chain}
