"""The virtual machine, as its tests get it."""

from collections.abc import Iterator

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds
from tests.conftest import Say
from tests.vm.machine import Machine, booted

CONSOLE = builds.ROOT / "results" / "logs" / "vm-console.log"


@pytest.fixture(scope="session")
def machine(say: Say) -> Iterator[Machine]:
    """A machine in which everything but the modules is set up; what takes its time is told."""
    CONSOLE.parent.mkdir(parents=True, exist_ok=True)
    try:
        with booted(CONSOLE, say) as started:
            yield started
    except SandglassError as error:
        pytest.exit(f"{error.message}\n{error.hint or ''}", returncode=1)
