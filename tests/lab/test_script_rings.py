"""Rings of switches are found in the list of their links."""

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


def test_a_long_line_is_none() -> None:
    assert loops.ring([(f"s{n}-eth2", f"s{n + 1}-eth1") for n in range(2000)]) == []
