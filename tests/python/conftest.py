"""What the tests of the Python surface are given of what the lab's tests have."""

from tests.lab.conftest import lab, sandglass

__all__ = ["lab", "sandglass"]
