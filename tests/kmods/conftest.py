"""Congestion controls and qdiscs of kmods/, in the lab and out of it."""

from tests.lab.conftest import lab, sandglass

__all__ = ["lab", "sandglass"]
