"""The extras of the installed package: what its commands want besides the core's few packages."""

import sys
from importlib.util import find_spec
from typing import Final

from sandglass.errors import UsageError
from sandglass.install import builds

DISTRIBUTION: Final = "sandglass-lab"
"""What the package is called in an index, where `sandglass` is another's."""
EXTRAS: Final = {
    "studies": ("matplotlib", "pandas", "plotnine", "scipy", "snakemake"),
    "notebook": ("jupyterlab",),
    "play": ("starlette", "uvicorn"),
}
"""What brings modules, by their import names: the optional dependencies of pyproject.toml."""
SNAKEMAKE_NEEDS: Final = (3, 11)
"""The Python that its packages in an index begin with."""


def require(extra: str) -> None:
    """Raises UsageError, with the words to type, where a module of an extra is not there."""
    for module in EXTRAS[extra]:
        if builds.INSTALLED and find_spec(module) is None:
            raise _missing(module, extra)


def wanted(error: Exception) -> UsageError | None:
    """What to say of an import that failed for want of an extra; None of all else."""
    if not isinstance(error, ModuleNotFoundError) or not builds.INSTALLED:
        return None
    module = (error.name or "").partition(".")[0]
    found = (extra for extra, modules in EXTRAS.items() if module in modules)
    return next((_missing(module, extra) for extra in found), None)


def _missing(module: str, extra: str) -> UsageError:
    if module == "snakemake" and sys.version_info < SNAKEMAKE_NEEDS:
        version = ".".join(map(str, SNAKEMAKE_NEEDS))
        return UsageError(f"this wants Snakemake, which wants Python {version}", words(extra))
    return UsageError(f"this wants {module}, which is not installed", words(extra))


def words(extra: str) -> str:
    """What installs the package with an extra."""
    return f"Type: pip install '{DISTRIBUTION}[{extra}]'"


def further(kernel: str) -> str:
    """What the package with the lab of another kernel than the usual is called in an index."""
    return f"{DISTRIBUTION}-linux-{kernel.replace('.', '-')}"


def checkout_only(what: str) -> None:
    """Raises UsageError for what an installed package has no sources for."""
    if builds.INSTALLED:
        raise UsageError(
            f"{what} is for a checkout, and this is an installed package",
            "Clone the sources, and do it there.",
        )
