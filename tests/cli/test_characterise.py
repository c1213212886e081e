"""What `characterise` is told that cannot be: a line on what is wrong, and status 2."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("codle", "unknown qdisc 'codle', did you mean 'codel'?"),
        ("codel --against pfifo,pye", "unknown qdisc 'pye', did you mean 'pie'?"),
        ("htb", "htb is no queue by itself"),
        (".", ". has no module of a qdisc"),
        ("codel --profile paper", "there is no profile paper"),
        ("codel --only 5.9", "no scenario 5.9"),
        ("codel --set target", "--set target: write OPTION=VALUE"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(
    sandglass: Cli, tmp_path: Path, words: str, said: str
) -> None:
    out = tmp_path / "out"
    done = sandglass("characterise", "qdisc", *words.split(), "--out", str(out))
    assert done.returncode == 2
    assert said in done.stderr
    assert not out.exists()
