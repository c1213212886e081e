"""What a suite has to know of congestion controls: which there are, and their settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from sandglass.errors import UsageError, nearest
from sandglass.experiment import mainline, qdiscs
from sandglass.guide import offer
from sandglass.install.builds import module_directories
from sandglass.install.modules import FILE, Sysctl, read
from sandglass.results.series import Run
from sandglass.suites import at_path
from sandglass.suites.subject import Parameter

PREFIX: Literal["tcp_"] = "tcp_"
NOUN = "congestion control"


def found(name: str) -> str:
    """The name of a congestion control, or of that which a module at a path brings.

    Raises UsageError, which says what there is.
    """
    if "/" in name or Path(name).is_dir():
        return at_path.only(Path(name), PREFIX, NOUN)
    known = sorted(mainline.CONGESTION_CONTROLS.keys() | qdiscs.modules(PREFIX))
    if name not in known:
        raise UsageError(
            f"unknown congestion control '{name}'{nearest(name, known)} "
            f"There are {', '.join(known)}",
            "A module of yours is named by its folder, such as ../cc/kmods/tcp_mine.",
        )
    return name


def about(name: str) -> str:
    """What it is, in a sentence."""
    return dict(offer.congestion_controls([])).get(name, "")


def fits(name: str, option: str) -> bool:
    """Whether it takes an option of the baseline's: what stands beside a name is the flow's."""
    return True


def parameters(name: str, run: Run) -> list[Parameter]:
    """The sysctls of its module, as the hosts that the run reports have them."""
    hosts = run.field("observed.hosts").values()
    return [
        Parameter(each.name, _in_force(each.name, hosts), each.default, each.meaning)
        for each in _sysctls(name)
    ]


def _in_force(sysctl: str, hosts: object) -> str:
    """Its values; empty where the run set none, and so did not read it."""
    values = [host["sysctls"].get(sysctl) for host in hosts]  # type: ignore[attr-defined]
    return ", ".join(sorted({str(value) for value in values if value is not None}))


def _sysctls(name: str) -> Iterator[Sysctl]:
    for place in module_directories():
        for folder in sorted(place.glob(f"{PREFIX}*/")):
            if name in qdiscs.called(folder, PREFIX):
                yield from read(folder / FILE).sysctl


def tuned(name: str) -> dict[str, tuple[str, str]]:
    """None: Linux keeps settings of congestion controls by host, not by algorithm."""
    return {}
