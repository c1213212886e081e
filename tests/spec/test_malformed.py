"""Malformed experiments, one per file: each says in its `# expect:` lines what must be said of it.

Each expectation is part of a line of the message, and each line is expected.
"""

import re
from pathlib import Path

import pytest

from sandglass.errors import UsageError
from sandglass.experiment import reading

FILES = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))


def expectations(path: Path) -> list[str]:
    return re.findall(r"^# expect: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_refused_with_a_reason(path: Path) -> None:
    expected = expectations(path)
    assert expected, "a malformed experiment says what is expected"
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    message = caught.value.message
    assert caught.value.exit_code == 2
    for line in message.splitlines():
        assert line.startswith(str(path)), "each line names the file"
        assert any(text in line for text in expected), "nothing else is complained about"
    for text in expected:
        assert text in message


def test_there_are_enough() -> None:
    assert len(FILES) >= 45
