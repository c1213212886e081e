"""Makes the image that boot.py runs programs out of, in the lab that it is for.

Usage, as the lab's one program: python3 imaging.py DIRECTORY

The file `python` in the directory gets the code of all modules that an agent has when it begins,
of the workloads and topologies that come with Sandglass, and of the agent's programs.
"""

from __future__ import annotations

import contextlib
import glob
import marshal
import os
import sys
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

BARE = frozenset(sys.modules)
"""What Python has loaded before it comes to us, however it finds modules."""
CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[0:1] = [os.path.join(CODE, "src"), CODE]

ORDER: list[str] = []
"""What was imported, each module behind those that it needs."""


def noting(execute: Callable[[Any, ModuleType], None]) -> Callable[[Any, ModuleType], None]:
    """A loader's exec_module that notes what it has done."""

    def exec_module(loader: Any, module: ModuleType) -> None:
        execute(loader, module)
        ORDER.append(module.__name__)

    return exec_module


setattr(SourceFileLoader, "exec_module", noting(SourceFileLoader.exec_module))  # noqa: B010

from sandglass.agent import script  # noqa: E402

OF_SCRIPT = len(ORDER)

from sandglass.agent import __main__ as agent  # noqa: E402
from sandglass.agent.boot import Held, Orders  # noqa: E402

PROGRAMS = {script: ORDER[:OF_SCRIPT], agent: ORDER}
FOLDERS = {
    "sandglass.agent": "src/sandglass/agent",
    "topologies": "topologies",
    "workloads": "workloads",
}
"""What a run may import besides, by the packages."""


def loaded() -> Held:
    """The modules that are loaded and have a file of Python."""
    held: Held = {}
    for name, module in sys.modules.items():
        spec = getattr(module, "__spec__", None)  # what stands in for one, as typing.io, has none
        if name in BARE or spec is None or not (spec.origin or "").endswith(".py"):
            continue
        code = spec.loader.get_code(name)
        is_package = spec.submodule_search_locations is not None
        held[name] = (spec.origin or "", is_package, marshal.dumps(code))
    return held


def ours() -> Held:
    """The modules of the folders. One with a fault is left to who imports it, and is told."""
    held: Held = {}
    for package, folder in FOLDERS.items():
        for path in sorted(glob.glob(os.path.join(CODE, folder, "*.py"))):
            name = os.path.basename(path).removesuffix(".py")
            with open(path, "rb") as file, contextlib.suppress(SyntaxError):
                code = compile(file.read(), path, "exec", dont_inherit=True)
                held[f"{package}.{name}"] = (path, False, marshal.dumps(code))
    return {name: own for name, own in held.items() if not name.endswith(".__init__")}


def main(directory: str) -> None:
    held = ours() | loaded()
    orders: Orders = {}
    for program, order in PROGRAMS.items():
        path = str(program.__file__)
        held[path] = held[program.__name__]
        named = [each.__name__ for each in PROGRAMS]
        orders[path] = [name for name in order if name in held and name not in named]
    with open(os.path.join(directory, "python"), "wb") as file:
        marshal.dump((held, orders), file)


if __name__ == "__main__":
    main(sys.argv[1])
