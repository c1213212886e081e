"""Where the numbers of a study come from, when it compares labs."""

from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import SandglassError
from sandglass.results.series import Run
from sandglass.studies.origin import origin


def made(lab: str | None, build: str, **modules: str) -> Run:
    """A run in a lab of a name."""
    document: dict[str, Any] = {
        "experiment": {"duration": "20s"} | ({} if lab is None else {"lab": lab}),
        "kernel": {"release": "6.12.117", "build": build, "modules": modules},
        "lab_build": f"of {build}",
        "commit": "123456789abc",
        "seed": 1,
        "digest": build,
        "virtual_s": 20.0,
        "wall_s": 1.0,
    }
    return Run(Path(f"runs/{lab}"), {}, document)


def test_each_lab_that_is_compared_is_named() -> None:
    runs = [made("base", "aa", recorder="1", tcp_abe="2"), made("patched", "bb", recorder="3")]
    found = origin(runs, "queues", by_lab=True)
    assert (found.kernel_release, found.kernel_build) == ("6.12.117", "aa, bb")
    assert found.lab_build == "of aa, of bb"
    assert found.modules == {"recorder": "1, 3", "tcp_abe": "2"}


@pytest.mark.parametrize("lab", ["patched", None])
def test_a_name_is_of_one_lab_in_a_study(lab: str | None) -> None:
    """One that was built again between two runs."""
    runs = [made("base", "aa"), made(lab, "bb"), made(lab, "cc")]
    with pytest.raises(SandglassError, match=rf"several builds of the lab kernel: bb .*{lab}"):
        origin(runs, "queues", by_lab=True)


def test_what_compares_no_labs_is_of_one() -> None:
    with pytest.raises(SandglassError, match="several builds of the lab kernel"):
        origin([made("base", "aa"), made("patched", "bb")], "fig03")
