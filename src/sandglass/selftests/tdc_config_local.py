"""Settings for tdc, which imports a module of this name: a case begins when its devices are there.

Without Python's pyroute2 tdc hands the making of its devices to another process, and does not wait
for it: which case finds none is a matter of chance. A virtual second is enough, and takes no time.
"""

import time
from collections.abc import Callable
from typing import Any

from TdcPlugin import TdcPlugin

__all__: list[str] = []
CREATES = "_ipr2_ns_create"
"""The method of tdc's plugin for namespaces that does not wait."""


def _patiently(made: Callable[[Any], None]) -> Callable[[Any], None]:
    def make(plugin: Any) -> None:
        made(plugin)
        if hasattr(plugin, CREATES):
            setattr(plugin, CREATES, _settled(getattr(plugin, CREATES)))

    return make


def _settled(create: Callable[[], object]) -> Callable[[], None]:
    def created() -> None:
        create()
        time.sleep(1)

    return created


TdcPlugin.__init__ = _patiently(TdcPlugin.__init__)
