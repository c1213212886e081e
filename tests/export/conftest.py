"""What the tests of exports are given of what the lab's tests have."""

from tests.lab.conftest import lab, sandglass

__all__ = ["lab", "sandglass"]
