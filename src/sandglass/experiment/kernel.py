"""The kernel whose lab an experiment runs in."""

from sandglass.errors import UsageError
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds
from sandglass.install.modules import Module


def wanted(experiment: Experiment) -> str | None:
    """The series that its file names by `lab`, else the one that something in it needs, else None.

    Raises UsageError when something in it needs a newer one than the file or the environment says.
    """
    needed = _needed(experiment)
    with builds.on(experiment.lab or (needed[1] if needed else None)):
        chosen = builds.chosen_kernel()
    if needed and builds.age(chosen) < builds.age(needed[1]):
        name, least = needed
        raise UsageError(
            f"{name} needs Linux {least}, and a lab of {chosen} is asked for",
            f"Write lab: {least}, or leave it out, and unset SANDGLASS_KERNEL and SANDGLASS_LAB.",
        )
    return experiment.lab or (needed[1] if needed else None)


def _needed(experiment: Experiment) -> tuple[str, str] | None:
    """What in an experiment needs the newest kernel, and that kernel; None when any will do."""
    named = _names(experiment)
    found = [
        (name, module.kernel)
        for module in builds.described()
        if module.kernel
        for name in _brought(module)
        if name in named
    ]
    return max(found, key=lambda need: builds.age(need[1]), default=None)


def _brought(module: Module) -> list[str]:
    return [*module.qdiscs, *module.congestion_controls, *(each.name for each in module.sysctl)]


def _names(experiment: Experiment) -> set[str]:
    """All keys and values of an experiment that may be names, but for its title."""
    found: set[str] = set()
    left: list[object] = [{**experiment.filled(), "title": None}]
    while left:
        match left.pop():
            case dict() as table:
                found |= table.keys()
                left += table.values()
            case list() as items:
                left += items
            case str() as text:
                found.add(text)
    return found
