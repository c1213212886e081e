"""Who stands on a study's axis, and what the axis sets for each."""

from sandglass.suites import contenders, suite
from sandglass.suites.contenders import Contender

EXPERIMENT = {"rtt": "100ms", "bottleneck": {"rate": "20mbit"}}
PLACE = {"bottleneck.queue": {"kind": "pfifo", "limit": "1bdp"}}


def fits(name: str, option: str) -> bool:
    return (name, option) != ("cake", "limit")


def test_a_contender_takes_the_place_of_the_baseline() -> None:
    red = Contender("red", "red", {"avpkt": 1514, "bandwidth": "$bottleneck.rate"})
    assert contenders.standing(PLACE, "pfifo", red, EXPERIMENT, fits) == {
        "bottleneck.queue": {"kind": "red", "limit": "1bdp", "avpkt": 1514, "bandwidth": "20mbit"}
    }


def test_an_option_that_it_does_not_take_is_left_out() -> None:
    cake = Contender("cake", "cake")
    assert contenders.standing(PLACE, "pfifo", cake, EXPERIMENT, fits) == {
        "bottleneck.queue": {"kind": "cake"}
    }


def test_null_takes_an_option_away() -> None:
    mine = Contender("mine", "mine", {"limit": None})
    assert contenders.standing(PLACE, "pfifo", mine, EXPERIMENT, fits) == {
        "bottleneck.queue": {"kind": "mine"}
    }


def test_where_a_key_itself_is_the_name_options_go_to_the_keys_beside_it() -> None:
    place = {"flows.0.cc": "reno", "flows.1.cc": "reno"}
    dctcp = Contender("dctcp", "dctcp", {"ecn": True})
    assert contenders.standing(place, "reno", dctcp, EXPERIMENT, fits) == {
        **{"flows.0.cc": "dctcp", "flows.0.ecn": True},
        **{"flows.1.cc": "dctcp", "flows.1.ecn": True},
    }


def test_a_scenario_gives_options_to_those_who_take_them() -> None:
    codel = Contender("codel", "codel", {"target": "1ms"})
    given = {"limit": "2bdp", "target": "9ms"}
    assert codel.having(given, fits).options == {"limit": "2bdp", "target": "1ms"}
    assert Contender("cake", "cake").having(given, fits).options == {"target": "9ms"}


def test_baseline_and_name_come_first_and_nobody_twice() -> None:
    whole = suite.read(suite.SUITES / "qdisc")
    found = contenders.contenders(whole, "pie", ["codel", "pie", "pfifo", "codel"], {})
    assert [each.label for each in found] == ["drop-tail", "pie", "codel"]
    found = contenders.contenders(whole, "pfifo", ["codel"], {})
    assert [(each.label, each.name) for each in found[:2]] == [
        ("drop-tail", "pfifo"),
        ("pfifo", "pfifo"),
    ]
