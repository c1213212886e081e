"""The lab's fixtures, for self-checks of suites."""

from tests.lab.conftest import lab

__all__ = ["lab"]
