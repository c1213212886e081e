"""What the tests of modules are given, each in its module's folder, of what all tests have."""

from tests.conftest import shared
from tests.lab.conftest import lab, newer_kernel, sandglass

__all__ = ["lab", "newer_kernel", "sandglass", "shared"]
