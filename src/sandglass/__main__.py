"""`python -m sandglass` is the command line."""

import gc

# Importing makes many objects and no garbage: a tenth of a start went into looking for some.
gc.set_threshold(100_000)

from sandglass.cli import main  # noqa: E402

main()
