"""The list of what is known to fail."""

import re
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.install import builds
from sandglass.selftests import known
from sandglass.selftests.targets import TARGETS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "it is no list"),
        ("- x", "[0]: it is no mapping"),
        ("- {tests: ['net:a'], verdict: fail}", "[0].why: it is missing"),
        ("- {tests: ['net:a'], verdict: fails, why: x}", "[0].verdict: it is none of"),
        ("- {tests: ['net:a'], verdict: fail, why: ''}", "[0].why: it is no text"),
        ("- {tests: ['net:a'], verdict: fail, why: x, when: y}", "[0].when: there is no such key"),
        ("- {tests: [a], verdict: fail, why: x, kernels: [6.12]}", "[0].kernels: it is no list of"),
        ("- {tests: [a, a], verdict: fail, why: x}", "[0].tests: a is there twice"),
        ("- [", "while parsing"),
    ],
)
def test_a_fault_is_told_by_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(text)
    with pytest.raises(SandglassError, match=re.escape(said)) as error:
        known.read("6.12", path)
    assert str(path) in error.value.message


@pytest.mark.parametrize("series", builds.kernels())
def test_the_list_kept_is_sound(series: str) -> None:
    found = known.read(series)
    names = {target.name for target in TARGETS}
    assert found.entries
    for test in found.entries:
        assert test.partition(":")[0] in names


def test_a_part_of_the_list_may_be_of_one_kernel(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text("- {tests: ['net:a'], verdict: fail, why: x, kernels: ['7.2']}")
    assert not known.read("6.12", path).entries
    assert known.read("7.2", path).entries["net:a"].why == "x"
