"""What the tests of modules are given, each in its module's folder."""

from tests.lab.conftest import lab, sandglass

__all__ = ["lab", "sandglass"]
