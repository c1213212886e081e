"""The kernel whose lab an experiment runs in."""

from collections.abc import Iterator, Mapping

from sandglass.errors import UsageError
from sandglass.experiment.experiment import Experiment
from sandglass.install import builds
from sandglass.install.modules import Module


def wanted(experiment: Experiment) -> str | None:
    """The series or lab that its file names, else the series that something in it needs, or None.

    Raises UsageError when something in it needs a newer one than the file or the environment says.
    """
    needed = _needed({**experiment.filled(), "title": None})
    with builds.on(experiment.lab or (needed[1] if needed else None)):
        chosen = builds.chosen_kernel()
    if needed and builds.age(chosen) < builds.age(needed[1]):
        name, least = needed
        raise UsageError(
            f"{name} needs Linux {least}, and a lab of {chosen} is asked for",
            f"Write lab: {least}, or leave it out, and unset SANDGLASS_KERNEL and SANDGLASS_LAB.",
        )
    return experiment.lab or (needed[1] if needed else None)


def least(*parts: object) -> str | None:
    """The oldest series that has all that is named in parts of experiment files; None: any."""
    needed = _needed(parts)
    return needed[1] if needed else None


def _needed(data: object) -> tuple[str, str] | None:
    """What in some data needs the newest kernel, and that kernel; None when any will do."""
    named = set(_names(data))
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


def _names(data: object) -> Iterator[str]:
    """All texts in some data, keys and values, and key paths as they are written."""
    match data:
        case Mapping():
            for key, value in data.items():
                yield str(key)
                yield from _names(value)
        case list() | tuple():
            for each in data:
                yield from _names(each)
        case str():
            yield data
