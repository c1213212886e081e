"""The smoke profiles of the papers, but for the one that tests/pipeline runs."""

import pytest

from tests.conftest import Reproduced
from tests.pipeline.smoke import assert_as_it_was


@pytest.mark.lab
@pytest.mark.parametrize("paper", ["abe", "dctcp_internet", "dualq", "flow_startup"])
def test_smoke_is_as_it_was(paper: str, reproduced: Reproduced) -> None:
    assert_as_it_was(paper, reproduced)
