"""Leaf and spine: every leaf is linked to every spine; flows are spread over the spines (ECMP).

         spine1      spine2
         /  |  \\    /  |  \\
        /   |   \\  /   |   \\
    leaf1  leaf2   ...  leafL
    / | \\  / | \\        / | \\
   h1 h2 h3 ...              hN

Hosts h1, h2, ... are numbered leaf by leaf.
"""

from __future__ import annotations

import sys
from typing import Annotated

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.routed import CommonDelay, CommonRate, Routed


class LeafSpine(Routed):
    """Routers leaf1, ..., spine1, ... and hosts h1, h2, ..."""

    ecmp = True

    def build(
        self,
        leaves: Annotated[int, "leaves, 2 to 64"] = 4,
        spines: Annotated[int, "spines, 1 to 64"] = 2,
        per_leaf: Annotated[int, "hosts at each leaf, 1 to 250"] = 4,
        bw: CommonRate = None,
        delay: CommonDelay = None,
    ) -> None:
        bounds = {
            "leaves": (leaves, 2, 64),
            "spines": (spines, 1, 64),
            "per_leaf": (per_leaf, 1, 250),
        }
        for name, (value, least, most) in bounds.items():
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: write {least} to {most}")
        like = {"bw": bw, "delay": delay}
        tops = [self.addRouter(f"spine{number}") for number in range(1, spines + 1)]
        for leaf in range(1, leaves + 1):
            router = self.addRouter(f"leaf{leaf}")
            for top in tops:
                self.addLink(router, top, **like)
            for number in range(1, per_leaf + 1):
                self.addLink(self.addHost(f"h{(leaf - 1) * per_leaf + number}"), router, **like)


topos = {"leaf_spine": LeafSpine}
