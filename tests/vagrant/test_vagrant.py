"""`vagrant up` to the figure, whole: docs/host.md, with an imported lab.

    sudo -E ./sandglass test tests/vagrant

It takes half an hour, in software emulation.
"""

import json
import re
import subprocess

from sandglass.install import builds
from tests.vagrant.conftest import Machine

FIGURE = "./sandglass reproduce abe/fig05 --profile smoke"
DIGESTS = "cat results/runs/abe/fig05/*/run.json | grep '\"digest\"'"


def digests(text: str) -> list[str]:
    """Of runs, in their order."""
    return re.findall(r'"digest": "([0-9a-f]{64})"', text)


def test_its_lab_is_the_one_of_the_file(machine: Machine) -> None:
    listed = machine.run("./sandglass lab list")
    assert re.search(rf"^{builds.lab().id}\b.*in use; from a file", listed, re.M), listed


def test_a_figure_is_reproduced_from_the_same_bytes_as_here(machine: Machine) -> None:
    machine.run(FIGURE)
    there = digests(machine.run(DIGESTS))
    subprocess.run(FIGURE, shell=True, cwd=machine.checkout, check=True)
    here = subprocess.check_output(DIGESTS, shell=True, cwd=machine.checkout, text=True)
    assert there == digests(here)
    assert there


def test_its_own_kernel_has_the_modules(machine: Machine) -> None:
    queue = "bottleneck.queue={kind: predict, limit: 50, ecn: true, standing: true}"
    run = f"./sandglass run tests/vm/smoke.yaml --backend host --set '{queue}' --out ~/host"
    machine.run(f"sudo -E {run}")
    content = machine.run("cat ~/host/run.json")
    result = json.loads(content[content.index("{") :])
    assert result["bottleneck"]["marks"] > 0
