"""What the tests of docs/ are given of what all tests have."""

from tests.lab.conftest import newer_kernel

__all__ = ["newer_kernel"]
