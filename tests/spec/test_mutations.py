"""Whatever stands in an experiment file, the reader gives an experiment or says what is wrong."""

from pathlib import Path

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.experiment import reading
from tests.spec import mutations

COUNT = 500


@pytest.mark.thorough
def test_mutated_files_are_read_or_refused() -> None:
    found = dict(mutations.read_many(range(COUNT)))
    assert {seed: said for seed, said in found.items() if said not in ("accepted", "refused")} == {}
    assert set(found.values()) == {"accepted", "refused"}, "or the mutations change too much"


def test_a_message_ends_before_it_fills_the_screen(tmp_path: Path) -> None:
    tree = yaml.safe_load(mutations.EXAMPLES[0])
    tree["flows"] = [{**flow, "cc": "cubik"} for flow in tree["flows"][:1]] * 60
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump(tree))
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    lines = caught.value.message.splitlines()
    assert len(lines) == reading.MOST_TOLD + 1 <= mutations.LONGEST
    assert lines[-1] == f"{path}: and {60 - reading.MOST_TOLD} more"
