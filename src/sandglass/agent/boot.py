"""Runs a program of ours with its modules out of one file. Usage: python3 boot.py PROGRAM [WORD]...

A module that is imported as usual takes a dozen system calls, each of which stops the program for
the lab's kernel, and a lab imports more than a hundred. IMAGE, which imaging.py makes, has the code
of all. What is not in it is imported as usual, and everything is where there is none.
"""

from __future__ import annotations

import _frozen_importlib as machinery
import gc
import marshal
import os
import sys

TYPE_CHECKING = False  # typing is an import of its own
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

IMAGE = "/run/sandglass/run/.image"
Held = dict[str, tuple[str, bool, bytes]]
"""By the name of a module or the path of a program: its file, whether it is a package, its code."""
Orders = dict[str, list[str]]
"""By the path of a program: the modules that it imports, each behind those that it needs."""


class Image:
    """Finds and loads what an image holds: a finder and loader of importlib's."""

    def __init__(self, held: Held, orders: Orders) -> None:
        self.held, self.orders = held, orders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's, or None of one that the image does not hold."""
        if name not in self.held:
            return None
        origin, is_package, _ = self.held[name]
        loader: Any = self
        spec = machinery.ModuleSpec(name, loader, origin=origin, is_package=is_package)
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(origin))
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code in it."""
        exec(self.code(module.__name__), module.__dict__)

    def code(self, name: str) -> CodeType:
        """Of a module or a program."""
        found: CodeType = marshal.loads(self.held[name][2])
        return found

    def load(self, name: str) -> None:
        """Import a module without importlib's locks, each of which asks what time it is.

        Not where a package imports the module before it is whole: importlib knows what to do.
        """
        package, _, child = name.rpartition(".")
        if name in sys.modules or (package and package not in sys.modules):
            return
        spec: Any = self.find_spec(name)
        module = sys.modules[name] = machinery.module_from_spec(spec)
        self.exec_module(module)
        if package:
            setattr(sys.modules[package], child, module)


def opened() -> Image:
    """The image; an empty one where there is none."""
    try:
        with open(IMAGE, "rb", buffering=0) as file:
            return Image(*marshal.loads(file.read()))
    except FileNotFoundError:
        return Image({}, {})


def run(program: str) -> None:
    """Run a program as Python itself does."""
    gc.set_threshold(100_000)  # importing makes many objects and no garbage
    image = opened()
    sys.meta_path.insert(0, image)
    sys.path[0] = os.path.dirname(program)
    for name in image.orders.get(program, ()):
        image.load(name)
    if program in image.held:
        code = image.code(program)
    else:
        with open(program, "rb") as file:
            code = compile(file.read(), program, "exec")
    module = type(sys)("__main__")
    module.__file__ = program
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    __name__ = "sandglass.agent.boot"  # of what is deprecated Python tells the main module alone
    del sys.argv[0]
    run(sys.argv[0])
