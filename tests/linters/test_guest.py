"""What runs in a lab finds it there: of other people's code, Python's own and Mininet."""

import json
import subprocess
import sys

import pytest

from sandglass.experiment import python_file
from sandglass.install import builds
from sandglass.install.root import within

# As the lab starts the agent, with its own Python.
IMPORT = """
import importlib, json, pathlib, sys
root, part, packages = pathlib.Path(sys.argv[1]), *sys.argv[2:]
sys.path[0:1] = [str(root / "src"), str(root)]
sys.path.append(packages)
own = set(sys.modules)
import mininet.net, mininet.topo
theirs = {name.partition(".")[0] for name in set(sys.modules) - own}
for path in sorted((root / part).glob("*.py")):
    if not path.stem.startswith("__"):
        name = ".".join((root / part / path.stem).relative_to(root).parts).removeprefix("src.")
        importlib.import_module(name)
print(json.dumps([name for name in sys.modules if name.partition(".")[0] not in theirs]))
"""
OURS = ("__main__", "sandglass.agent", "topologies", "workloads")


@pytest.mark.parametrize("part", ["src/sandglass/agent", "topologies", "workloads"])
def test_it_imports_nothing_that_the_guest_has_not(part: str) -> None:
    """At once, that is: a workload's functions for the host import what they need of its."""
    root = builds.lab_kernel().root
    packages = root / python_file.PYTHON_PACKAGES
    words = [*within(root, "usr/bin/python3"), "-SBs", "-c", IMPORT]
    words += map(str, (builds.ROOT, part, packages))
    environment = {"PYTHONHOME": str(root / "usr")}
    imported = set(json.loads(subprocess.check_output(words, env=environment)))
    foreign = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert len(foreign) > 3
    assert all(name == "sandglass" or name.startswith(OURS) for name in foreign), foreign
