"""Labels that are quantities are numbers of one unit, in order; names stay as they come."""

import pytest

from sandglass.experiment.document import Value
from sandglass.studies import quantity


@pytest.mark.parametrize(
    ("labels", "numbers", "unit"),
    [
        (["100ms", "20ms", "1s"], {"20ms": 20, "100ms": 100, "1s": 1000}, "ms"),
        (["0s", "2s"], {"0s": 0, "2s": 2}, "s"),
        (["250us", "1ms"], {"250us": 250, "1ms": 1000}, "µs"),
        (["100mbit", "1gbit"], {"100mbit": 100, "1gbit": 1000}, "Mb/s"),
        (["1kB", "30kB"], {"1kB": 1, "30kB": 30}, "kB"),
        (["2bdp", "0.5bdp"], {"0.5bdp": 0.5, "2bdp": 2}, "BDP"),
        (["64p", "8p"], {"8p": 8, "64p": 64}, "packets"),
        (["1%", "0.5%"], {"0.5%": 0.5, "1%": 1}, "%"),
        ([8, 2, 0.7], {0.7: 0.7, 2: 2, 8: 8}, ""),
        (["8", "2"], {"2": 2, "8": 8}, ""),
    ],
)
def test_quantities(labels: list[Value], numbers: dict[Value, float], unit: str) -> None:
    found = quantity.scale(labels)
    assert found is not None
    assert found.numbers == pytest.approx(numbers)
    assert found.unit == unit
    assert list(found.numbers) == list(numbers)
    assert quantity.ordered(labels) == list(numbers)


@pytest.mark.parametrize(
    "labels", [["PIE", "CoDel"], ["20ms", "slow"], ["20ms", "1kB"], [True, False], [64, "8p"], []]
)
def test_names(labels: list[Value]) -> None:
    assert quantity.scale(labels) is None
    assert quantity.ordered(labels) == labels


def test_words_are_of_the_last_part_unless_another_has_the_same() -> None:
    names = ["flows.0.cc", "flows.1.cc", "bottleneck.queue.limit", "rtt", "hosts.s2.rtt"]
    assert [quantity.words(name, names) for name in names] == [
        *("CC of flows.0", "CC of flows.1", "limit", "RTT", "RTT of hosts.s2"),
    ]
    assert quantity.words("flows.0.cc") == "CC"
    assert quantity.words("bottleneck.queue.kind") == "queue"
