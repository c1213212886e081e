"""The figures' code lies in the checkout, not in the package."""

import sys

from sandglass import cache

sys.path.insert(0, str(cache.ROOT))
