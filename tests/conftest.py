"""What all tests have in common."""

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("sandglass", deadline=None)
settings.load_profile("sandglass")
