"""What runs in a lab finds it there: of other people's code, Python's own and Mininet."""

import sys

import grimp
import pytest

GUEST = ("sandglass.agent", "topologies", "workloads")
THERE = sys.stdlib_module_names | {"mininet"}


@pytest.mark.parametrize("part", GUEST)
def test_it_imports_nothing_that_the_guest_has_not(part: str) -> None:
    graph = grimp.build_graph(
        "sandglass", "topologies", "workloads", include_external_packages=True
    )
    modules = {part, *graph.find_descendants(part)}
    assert len(modules) > 3
    for module in modules:
        for imported in graph.find_modules_directly_imported_by(module):
            theirs = imported.split(".")[0] in THERE
            assert theirs or imported.startswith(GUEST), f"{module} imports {imported}"
