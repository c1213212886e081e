"""GRADE.yaml: what is wrong with it is said with its line, all at once."""

from pathlib import Path

import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.grading import sheet
from sandglass.install.builds import ROOT

ASSIGNMENTS = sorted((ROOT / "examples/assignments").glob("*/GRADE.yaml"))
PINGS = (
    "{id: a, title: t, points: 1, kind: pings, network: r.py, hosts: {h1: 10.0.0.1, h2: 10.0.0.2}"
)
METRIC = "{id: a, title: t, points: 1, kind: metric, experiment: x.yaml"


def refused(folder: Path, *checks: str) -> list[str]:
    """What is said of a file with these checks."""
    path = folder / "GRADE.yaml"
    path.write_text("title: t\nchecks:\n" + "".join(f"  - {check}\n" for check in checks))
    with pytest.raises(UsageError) as caught:
        sheet.read(path)
    return [line.removeprefix(f"{path}:") for line in caught.value.message.splitlines()]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("7", "3: checks[0]: 7 is not a mapping"),
        ("{id: a}", "3: checks[0].kind: is missing. There are study, output, pings"),
        ("{kind: ping}", "3: checks[0].kind: 'ping' is unknown, did you mean 'pings'?"),
        (f"{PINGS}, hiden: true}}", "3: checks[0].hiden: unknown key, did you mean 'hidden'?"),
        (f"{PINGS}, pairs: {{h1: {{h3: 1}}}}}}", "3: checks[0].pairs.h1: h3 is none of the hosts"),
        (f"{PINGS}, pairs: {{h1: {{h1: 1}}}}}}", "3: checks[0].pairs.h1.h1: is the host itself"),
        (
            f"{PINGS}, time_limit: {{virtual: long}}}}",
            "3: checks[0].time_limit.virtual: long is not",
        ),
        (f"{PINGS}, seeds: []}}", "3: checks[0].seeds: is empty"),
        (
            "{id: a, title: t, points: -1, kind: output, command: x, status: 0}",
            "3: checks[0].points: -1 is too small",
        ),
        (
            "{id: a, title: t, points: 1, kind: output, command: x}",
            "3: checks[0]: asks for nothing: give `matches`",
        ),
        (
            "{id: a, title: t, points: 1, kind: output, command: x, matches: '('}",
            "3: checks[0].matches[0]: '(' is no regular expression",
        ),
        (
            "{id: a, title: t, points: 1, kind: output, command: x, status: 0, files: [no.py]}",
            "3: checks[0].files[0]: there is no no.py beside the grade file",
        ),
        (
            f"{METRIC}, metric: flow.0.goodput_mbit, bounds: {{at_most: 1}}}}",
            "3: checks[0].metric: run.json has no flow.0.goodput_mbit, did you mean 'flows'?",
        ),
        (
            f"{METRIC}, metric: seed, bounds: {{at_mots: 1}}}}",
            "3: checks[0].bounds.at_mots: unknown key, did you mean 'at_most'?",
        ),
        (
            f"{METRIC}, metric: seed, bounds: {{above: 1}}, take: [rtt]}}",
            "3: checks[0]: takes keys into no `base`",
        ),
        (
            "{id: a, title: t, points: 1, kind: metric, experiment: ../x, metric: seed, "
            "bounds: {above: 1}}",
            "3: checks[0].experiment: '../x' is no path below the folder",
        ),
        (
            "{id: a, title: t, points: 1, kind: study, study: no.yaml, experiment: x}",
            "3: checks[0].study: ",
        ),
        (
            "{id: a, title: t, points: 1, kind: qdisc, module: m, scenario: 5.1.11, "
            "judged: {delay: better}}",
            "3: checks[0].scenario: there is no 5.1.11, did you mean '5.1.1'?",
        ),
        (
            "{id: a, title: t, points: 1, kind: qdisc, module: m, scenario: 5.1.1, "
            "judged: {dely: better}}",
            "3: checks[0].judged.dely: 5.1.1 judges no dely, did you mean 'delay'?",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, check: str, said: str) -> None:
    assert refused(tmp_path, check)[0].startswith(said)


def test_everything_is_said_at_once(tmp_path: Path) -> None:
    lines = refused(tmp_path, "{kind: ping}", f"{PINGS}, at: h1}}")
    assert [line.split(":")[0] for line in lines] == ["3", "4"]


def test_two_checks_have_two_names(tmp_path: Path) -> None:
    (said,) = refused(tmp_path, f"{PINGS}}}", f"{PINGS}}}")
    assert said == "4: checks[1].id: a is another's, too"


def test_seeds_of_a_check_go_before_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "GRADE.yaml"
    path.write_text(f"title: t\nseeds: [7]\nchecks: [{PINGS}, seeds: [8, 9]}}]\n")
    found = sheet.read(path)
    assert found.seeds_of(found.checks[0]) == [8, 9]
    path.write_text(f"title: t\nseeds: [7]\nchecks: [{PINGS}}}]\n")
    found = sheet.read(path)
    assert found.seeds_of(found.checks[0]) == [7]


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.parent.name)
def test_an_assignment_has_what_belongs_to_one(path: Path) -> None:
    found = sheet.read(path)
    assert found.title == yaml.safe_load(path.read_text())["title"]
    assert found.most >= 10
    assert any(check.hidden for check in found.checks)
    assert all(check.hint for check in found.checks)
    text = (path.parent / "README.md").read_text()
    assert "TODO" in text
    for part in ("skeleton", "solution"):
        assert any((path.parent / part).iterdir())


def test_there_are_three_assignments() -> None:
    assert [path.parent.name for path in ASSIGNMENTS] == ["aqm", "bufferbloat", "router"]
