"""What all tests have in common."""

import os

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("sandglass", deadline=None)
settings.load_profile("sandglass")

# What is tested runs: a run that an earlier test or a user has kept would show nothing.
os.environ["SANDGLASS_RUNS_LIMIT"] = "0"
