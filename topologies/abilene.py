"""A map like that of Abilene, the backbone of US research networks: eleven cities, a host at each.

    sttl ------ dnvr ------ kscy ------ ipls ------ chin ------ nycm
      |  \\      /             |            |                       |
      |   snva -+             |            |                       |
      |    |                  |            |                       |
      +----+                hstn -------- atla ----------------- wash
           |                  |
         losa ----------------+

Delays are those of light in fibre along the great circle between the cities' coordinates, times 1.4
for a cable's detours; which links there were is public, their lengths are ours. Routes are those of
the least delay. Routers have the names of Abilene's, hosts are h_sttl, h_dnvr, ...
"""

from __future__ import annotations

import math
import sys
from typing import Annotated

sys.path.append(".")  # for `mn --custom`, in the checkout: it tells a file nothing of its place
from topologies.routed import Routed

EARTH_KM, FIBRE_KM_PER_S, DETOUR = 6371.0, 204_000.0, 1.4
# Latitude and longitude in degrees.
CITIES = {
    "atla": (33.75, -84.39), "chin": (41.88, -87.63), "dnvr": (39.74, -104.99),
    "hstn": (29.76, -95.37), "ipls": (39.77, -86.16), "kscy": (39.10, -94.58),
    "losa": (34.05, -118.24), "nycm": (40.71, -74.01), "sttl": (47.61, -122.33),
    "snva": (37.37, -122.04), "wash": (38.91, -77.04),
}  # fmt: skip
LINKS = (
    ("atla", "hstn"), ("atla", "ipls"), ("atla", "wash"),
    ("chin", "ipls"), ("chin", "nycm"), ("dnvr", "kscy"),
    ("dnvr", "sttl"), ("dnvr", "snva"), ("hstn", "kscy"),
    ("hstn", "losa"), ("ipls", "kscy"), ("losa", "snva"),
    ("nycm", "wash"), ("sttl", "snva"),
)  # fmt: skip


def delay_us(one: str, two: str) -> int:
    """One-way delay between two cities, in microseconds."""
    (lat1, lon1), (lat2, lon2) = (map(math.radians, CITIES[city]) for city in (one, two))
    half = math.sin((lat2 - lat1) / 2) ** 2
    half += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return round(2 * EARTH_KM * math.asin(math.sqrt(half)) * DETOUR / FIBRE_KM_PER_S * 1e6)


class Abilene(Routed):
    """A router called after each city, and a host at it."""

    def build(
        self,
        bw: Annotated[
            float | None, "rate of the links between cities, in Mb/s; unlimited without"
        ] = None,
    ) -> None:
        for city in CITIES:
            self.addRouter(city)
            self.addLink(self.addHost(f"h_{city}"), city)
        for one, two in LINKS:
            delay = delay_us(one, two)
            self.addLink(one, two, bw=bw, delay=f"{delay}us", cost=delay)


topos = {"abilene": Abilene}
