"""The list of digests by which a lab is known to give the same bytes elsewhere."""

from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import kernel, reading
from sandglass.run import known
from tests.lab.conftest import Cli

QUICK = ("examples/udp.yaml", "pipelines/ls_aimd/experiments/1-ramp.yaml")


@pytest.mark.lab
def test_the_lab_gives_what_it_gave_elsewhere(sandglass: Cli) -> None:
    done = sandglass("lab", "check", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("2 of 2 equal\n")


@pytest.mark.lab
def test_another_digest_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And stands in the list once that is renewed."""
    listed = tmp_path / "digests.csv"
    listed.write_text(f"experiment,settings,digest\n{QUICK[0]},seed=2,0123\n{QUICK[1]},,4567\n")
    found = known.run(known.read([QUICK[0]], listed)[0], lambda done, whole: None)
    assert found.digest not in {"0123", known.read([QUICK[0]])[0].digest}
    known.renew([found], listed)
    assert known.read(path=listed) == [found, known.Known(QUICK[1], "", "4567")]


def test_a_name_that_is_not_in_the_list() -> None:
    with pytest.raises(UsageError, match=r"has no 'examples/udp.yml', did you mean"):
        known.read(["examples/udp.yml"])


def test_all_examples_and_a_part_of_each_paper_are_in_it() -> None:
    listed = {Path(each.experiment) for each in known.read()}
    # It is a lab's list, that of the usual kernel: `lab check` runs all of it in one lab.
    usual = {
        path
        for folder in ("examples", "pipelines/*/experiments")
        for path in Path().glob(f"{folder}/*.yaml")
        if kernel.wanted(reading.load(path)) is None
    }
    examples = {path for path in usual if path.parent == Path("examples")}
    assert examples <= listed
    assert {path.parent for path in usual} == {path.parent for path in listed}
