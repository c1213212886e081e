"""What a suite judges, qdiscs or congestion controls: what the engine asks a module of them."""

import importlib
from typing import NamedTuple, Protocol

from sandglass.results.series import Run


class Parameter(NamedTuple):
    """An option of an algorithm."""

    name: str
    in_force: str
    """As the kernel reports it; empty where it does not."""
    default: str = ""
    """Empty where it is not known."""
    meaning: str = ""


class Subject(Protocol):
    """A module of this package, named by the key `subject` of suite.yaml."""

    NOUN: str

    def found(self, name: str) -> str:
        """The algorithm's name, of a name or the path of a module. Raises UsageError."""

    def about(self, name: str) -> str:
        """What it is, in a sentence; empty where it is not known."""

    def fits(self, name: str, option: str) -> bool:
        """Whether an algorithm takes an option that the baseline is given."""

    def parameters(self, name: str, run: Run) -> list[Parameter]:
        """All that can be set of it, as it was in a run."""

    def tuned(self, name: str) -> dict[str, tuple[str, str]]:
        """Half and double of each option that is a number and decides how it works."""


def subject(name: str) -> Subject:
    """The module of that name."""
    found: Subject = importlib.import_module(f"sandglass.suites.{name}")
    return found
