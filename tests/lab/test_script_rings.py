"""Rings of switches are found in the list of their links."""

from pathlib import Path

import pytest

from sandglass.run import loops

LINE = [("s1-eth2", "s2-eth1"), ("s2-eth2", "s3-eth1"), ("s4-eth1", "s5-eth1")]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ([], []),
        ([("s3-eth2", "s4-eth2")], []),
        (
            [("s3-eth2", "s1-eth3")],
            ["s2-eth2 - s3-eth1", "s1-eth2 - s2-eth1", "s3-eth2 - s1-eth3"],
        ),
        ([("s4-eth3", "s5-eth3")], ["s4-eth1 - s5-eth1", "s4-eth3 - s5-eth3"]),
    ],
    ids=["two lines", "one line", "a triangle", "two links of the same switches"],
)
def test_a_ring_is_told_by_its_links(more: list[tuple[str, str]], found: list[str]) -> None:
    assert sorted(loops.ring([*LINE, *more])) == sorted(found)


@pytest.mark.thorough
def test_a_long_line_is_none() -> None:
    assert loops.ring([(f"s{n}-eth2", f"s{n + 1}-eth1") for n in range(2000)]) == []


def test_only_plain_names_of_a_plain_file_are_told(tmp_path: Path) -> None:
    """The lab is a stranger's: what it writes may lead away, or speak to a terminal."""
    (tmp_path / loops.LINKS).write_text("s1-a s2-a\ns1-b s2-b\n\033[2Js1 s2\nx\n\n")
    said = loops.hint(tmp_path)
    assert said
    assert "s1-a - s2-a, s1-b - s2-b." in said
    assert "\033" not in said
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / loops.LINKS).symlink_to(tmp_path / loops.LINKS)
    assert loops.hint(tmp_path / "elsewhere") is None
    assert loops.hint(tmp_path / "nothing") is None
