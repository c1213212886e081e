"""What an agent says is told from what else is written on its console."""

import pytest

from sandglass.lab import messages


def test_a_message_is_read() -> None:
    assert messages.read(b'@{"kind": "done"}\n') == {"kind": "done"}


@pytest.mark.parametrize(
    "line",
    [
        b"sch_red: loaded\n",
        b"@home\n",
        b'@{"kind": "progress", "virtu[    1.2] eth0: up\n',
        b'@{"kind": "warning", "message": "\xff"}\n',
        b"@[1]\n",
        b'@{"key": 1}\n',
    ],
)
def test_what_is_none_is_a_line_of_the_console(line: bytes) -> None:
    assert messages.read(line) is None
