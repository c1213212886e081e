"""What is published is made in a clone: git knows what belongs to it."""

import shutil

import pytest

from sandglass.install import builds

NEEDS_CLONE = pytest.mark.skipif(
    not shutil.which("git") or not (builds.ROOT / ".git").exists(), reason="this is no clone"
)
