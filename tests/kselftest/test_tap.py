"""What tests say, read and written."""

from sandglass.selftests import tap


def test_cases_are_read_of_ktap_and_of_brackets() -> None:
    said = "TAP version 13\n1..3\n# RUN\nok 1 a.b\nnot ok 2 - c d\nok 3 e # SKIP no file\n"
    assert [(case.name, case.verdict, case.why) for case in tap.cases(said)] == [
        ("a.b", "pass", ""), ("c d", "fail", ""), ("e", "skip", "no file"),
    ]  # fmt: skip
    said = "    TEST: ping out     [ OK ]\nwhole\n  ping in   [FAIL]\ntest_bpf: [SKIP]\n"
    assert [(case.name, case.verdict) for case in tap.cases(said)] == [
        ("ping out", "pass"), ("ping in", "fail"), ("test_bpf", "skip"),
    ]  # fmt: skip


def test_a_failure_behind_words_without_an_end_of_line_is_read() -> None:
    said = "1..2\nassertion failed at line 148not ok 1 ipv4\nlook ok 2\nok 2 ipv6\n"
    assert [(case.name, case.verdict) for case in tap.cases(said)] == [
        ("ipv4", "fail"), ("ipv6", "pass"),
    ]  # fmt: skip


def test_what_stands_behind_a_name_is_no_part_of_it() -> None:
    said = "1..2\nnot ok 1 - transfer ipv4 # time=12405ms\nok 2 7682 - x # skipped - none\n"
    assert [(case.name, case.verdict) for case in tap.cases(said)] == [
        ("transfer ipv4", "fail"), ("7682 - x", "skip"),
    ]  # fmt: skip


def test_an_expected_failure_is_no_failure() -> None:
    case = tap.cases("1..1\nnot ok 1 slow # XFAIL too slow\n")[0]
    assert (case.verdict, case.why) == ("skip", "too slow")


def test_the_reason_of_a_skip_is_what_the_test_says() -> None:
    assert tap.why_skipped("1..0 # SKIP packetdrill not found\n") == "packetdrill not found"
    assert tap.why_skipped("x\nSKIP: jq not installed\n") == "jq not installed"
    assert tap.why_skipped("for want of it\n") == "for want of it"
    assert tap.why_skipped("") == "it does not say why"


def test_names_hold_no_directive() -> None:
    assert tap.point(3, "a # SKIP b\nc", True) == "ok 3 - a \\# SKIP b c"
    block = list(tap.diagnosis({"why": 'a "b": #', "said": "one\n\ntwo\n"}))
    assert block == [
        "  ---",
        '  why: "a \\"b\\": #"',
        "  said: |",
        "    one",
        "",
        "    two",
        "  ...",
    ]
