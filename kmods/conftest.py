"""What the tests of modules are given, each in its module's folder, of what all tests have."""

from tests.conftest import shared
from tests.lab.conftest import lab, sandglass

__all__ = ["lab", "sandglass", "shared"]
