"""Sandglass: a network laboratory that runs real Linux in virtual time.

What a script or a notebook uses is here, and is imported when it is first used: `run`, `load`,
`study`, `load_study` and `view`, which hand out a `Run` or a `StudyResult`. Failures are
`SandglassError`, with `message` and `hint`. docs/python.md is the guide.
"""

import importlib
import sys
from types import ModuleType

TYPE_CHECKING = False  # of typing, whose import would be most of the time until Ctrl-C is caught
if TYPE_CHECKING:
    from typing import Any

    from sandglass.errors import SandglassError as SandglassError
    from sandglass.library.runs import load as load
    from sandglass.library.runs import run as run
    from sandglass.library.runs import view as view
    from sandglass.library.studies import StudyResult as StudyResult
    from sandglass.library.studies import load_study as load_study
    from sandglass.library.studies import study as study
    from sandglass.results.series import Run as Run

__version__ = "0.1.0"

OFFERED = {
    "Run": "sandglass.results.series",
    "SandglassError": "sandglass.errors",
    "StudyResult": "sandglass.library.studies",
    "load": "sandglass.library.runs",
    "load_study": "sandglass.library.studies",
    "run": "sandglass.library.runs",
    "study": "sandglass.library.studies",
    "view": "sandglass.library.runs",
}
"""Where each name is from."""


class _Package(ModuleType):
    """Imports what is offered when it is asked for.

    One of the folders is called `run` as well: when Python imports it, it must not take the
    function's place. `from sandglass.run import …` finds it all the same.
    """

    def __getattr__(self, name: str) -> "Any":
        if name in OFFERED:
            try:
                return getattr(importlib.import_module(OFFERED[name]), name)
            except ModuleNotFoundError as error:
                from sandglass.install import extras  # noqa: PLC0415 as above

                raise extras.wanted(error) or error from None
        raise AttributeError(f"module 'sandglass' has no attribute {name!r}")

    def __setattr__(self, name: str, value: "Any") -> None:
        if name not in OFFERED:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *OFFERED]


sys.modules[__name__].__class__ = _Package
