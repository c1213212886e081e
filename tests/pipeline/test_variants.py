"""A variant changes a paper's whole set-up, and nothing that the source states."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from sandglass.errors import UsageError
from sandglass.papers import (
    across,
    claims,
    grid,
    matrix,
    numbers,
    reproduce,
    rulings,
    shelf,
    variants,
)
from sandglass.papers.across import SetUp
from sandglass.papers.outline import outline
from sandglass.papers.rulings import Elsewhere
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact
from tests.pipeline.test_grid import FIGURE, pipelines  # noqa: F401 a fixture
from tests.pipeline.test_rulings import judged, ruling

EXPERIMENT = """\
topology: dumbbell
pairs: 2
rtt: 25ms                 # stated (IV-A)
bottleneck: {rate: 10mbit}   # stated (IV-A)
hosts:                    # stated: their names
  s1: {mtu: 1486}
  d1: {mtu: 1486}         # derived: with its header
  d2: {mtu: 1486}
flows:                    # stated: Reno and CUBIC
  - {workload: bulk, from: s1, to: d1, cc: reno}
  - {workload: bulk, from: s1, to: d1, cc: cubic}
duration: 10s             # re-design
"""
QUEUE = """\
base: one.yaml
bottleneck:
  queue:
    kind: dualred
    rate: 10mbit
    # drop_max: stated (IV-A), three times drop_min
    drop_min: 0.125bdp    # stated (IV-A), as the next two
    drop_probability: 0.1
    drop_weight: 0.002
    mark_min: 0.25bdp
"""
SLOPE: dict[str, Any] = {
    "key": "bottleneck.queue.drop_max",
    "to": {"of": "bottleneck.queue.drop_min", "plus": "2bdp"},
    "from": "Table I",
    "against": "three times Min_Thresh_Reno (IV-A)",
}
ANSWERS: dict[str, Any] = {"key": "hosts.d*.delayed_ack", "to": False, "from": "ns-2's receivers"}


@pytest.fixture
def paper(pipelines: Path) -> Path:  # noqa: F811
    """The paper 'p', of which 'one' has no queue of its own, and 'two' has one."""
    (pipelines / "p" / "experiments" / "one.yaml").write_text(EXPERIMENT)
    (pipelines / "p" / "experiments" / "two.yaml").write_text(QUEUE)
    figure(pipelines, [{"experiment": ["two"], "minimum": ["0.125bdp", "1bdp"]}])
    return pipelines


def figure(home: Path, runs: list[dict[str, Any]], name: str = "fig1") -> None:
    axes = {"minimum": "bottleneck.queue.drop_min", "maximum": "bottleneck.queue.drop_max"}
    content = FIGURE | {"axes": axes, "runs": runs}
    (home / "p" / f"{name}.yaml").write_text(yaml.safe_dump(content))


def variant(home: Path, *changes: dict[str, Any], **said: Any) -> str:
    folder = home / "p" / variants.FOLDER
    folder.mkdir(exist_ok=True)
    content = {"title": "otherwise", "changes": [*changes], **said}
    (folder / "v.yaml").write_text(yaml.safe_dump(content))
    return "p@v"


def settings(name: str) -> list[dict[str, str]]:
    """What each run of fig1 sets."""
    found = [run.settings for run in grid.points(name, "fig1", "paper")]
    return [dict(each.split("=", 1) for each in own) for own in found]


def refusal(name: str) -> str:
    with pytest.raises(UsageError) as raised:
        grid.check(name)
    return raised.value.message


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [
        ("0.125bdp", "2bdp", "2.125bdp"),
        ("1bdp", "2bdp", "3bdp"),
        ("0.1bdp", "0.2bdp", "0.3bdp"),  # in decimals
        ("98ms", "2ms", "100ms"),
        ("64", "36", "100"),
    ],
)
def test_quantities_are_added(one: str, other: str, total: str) -> None:
    assert variants.added(one, other) == total


@pytest.mark.parametrize(("one", "other"), [("1bdp", "2p"), ("1bdp", "2"), ("-1p", "2p")])
def test_quantities_that_cannot_be_added(one: str, other: str) -> None:
    with pytest.raises(ValueError, match=f"{one} and {other} cannot be added"):
        variants.added(one, other)


def test_a_change_goes_by_what_the_point_has(paper: Path) -> None:
    assert settings(variant(paper, SLOPE)) == [
        {"bottleneck.queue.drop_min": "0.125bdp", "bottleneck.queue.drop_max": "2.125bdp"},
        {"bottleneck.queue.drop_min": "1bdp", "bottleneck.queue.drop_max": "3bdp"},
    ]
    assert settings("p") == [{"bottleneck.queue.drop_min": each} for each in ("0.125bdp", "1bdp")]


def test_a_star_is_each_entry_that_is_there(paper: Path) -> None:
    figure(paper, [{"experiment": ["one"]}])
    both = {"hosts.d1.delayed_ack": "false", "hosts.d2.delayed_ack": "false"}
    assert settings(variant(paper, ANSWERS)) == [both]
    sysctl = "hosts.s*.sysctls.net.ipv4.tcp_cut_at_once.marks"
    cut = {"key": sysctl, "to": 1, "from": "ns-2"}
    assert settings(variant(paper, cut)) == [{sysctl.replace("s*", "s1"): "1"}]


def test_a_change_may_be_of_some_values_alone(paper: Path) -> None:
    figure(paper, [{"experiment": ["one", "two"]}])
    counts = {"key": "flows.*.cc", "to": "reno_acks", "from": "ns-2", "within": "Reno"}
    name = variant(paper, counts | {"was": "reno"})
    assert settings(name) == [{"flows.0.cc": "reno_acks"}] * 2
    where = {"bottleneck.queue.kind": "dualred"}
    name = variant(paper, counts | {"was": "reno", "where": where})
    assert settings(name) == [{}, {"flows.0.cc": "reno_acks"}]


def test_what_a_figure_varies_stays_as_it_is_there(paper: Path) -> None:
    runs = [
        {"experiment": ["two"], "maximum": ["0.25bdp"]},
        {"experiment": ["two"], "rtt": ["5ms"]},
    ]
    figure(paper, runs)
    assert settings(variant(paper, SLOPE)) == [
        {"bottleneck.queue.drop_max": "0.25bdp"},
        {"rtt": "5ms", "bottleneck.queue.drop_max": "2.125bdp"},
    ]


def test_a_variant_has_the_figures_that_it_changes(paper: Path) -> None:
    figure(paper, [{"experiment": ["one"]}], "fig2")
    finding = FIGURE | {"sentences": [FIGURE["sentences"][0] | {"sentence": "finding"}]}  # type: ignore[index]
    (paper / "p" / "why_1.yaml").write_text(
        yaml.safe_dump(finding | {"runs": [{"experiment": ["two"]}]})
    )
    assert grid.made("p") == ["fig1", "fig2", "why_1"]
    assert grid.made(variant(paper, SLOPE)) == ["fig1"]
    assert grid.made(variant(paper, ANSWERS)) == ["fig1", "fig2"]
    finer = {"fig2": {"runs": [{"experiment": ["one", "two"]}]}}
    assert grid.made(variant(paper, SLOPE, grids=finer)) == ["fig1", "fig2"]


def test_its_runs_are_beside_the_papers(paper: Path) -> None:
    (first, _) = grid.points(variant(paper, SLOPE), "fig1", "paper")
    assert first.directory.startswith("results/runs/p@v/two/")
    assert first.labels == grid.points("p", "fig1", "paper")[0].labels


def test_what_the_source_states_is_not_changed(paper: Path) -> None:
    """Neither what a line says, nor what a default is said to be, nor what holds a key."""
    for key, value, place in [
        ("rtt", "50ms", "one.yaml:3"),
        ("bottleneck.rate", "20mbit", "one.yaml:4"),
        ("hosts.d2.mtu", 1500, "one.yaml:5"),
        ("flows.1.cc", "reno", "one.yaml:9"),
        ("bottleneck.queue.drop_probability", 0.2, "two.yaml:8"),
        ("bottleneck.queue.drop_weight", 0.1, "two.yaml:9"),
        ("bottleneck.queue.drop_max", "1bdp", "two.yaml:6"),
    ]:
        said = refusal(variant(paper, {"key": key, "to": value, "from": "us"}))
        where = f"experiments/{place} says that the source states {key}"
        assert re.search(rf"variants/v\.yaml:\d+: changes\[0\]\.key: \S+/{where}", said), said
    for key, value in [
        ("hosts.d1.mtu", 1500),
        ("bottleneck.queue.mark_min", "1bdp"),
        ("duration", "5s"),
    ]:
        grid.check(variant(paper, {"key": key, "to": value, "from": "us"}))


def test_what_is_within_or_against_has_to_be_stated(paper: Path) -> None:
    grid.check(variant(paper, SLOPE))
    grid.check(variant(paper, SLOPE | {"against": "", "within": "a slope"}))
    said = refusal(variant(paper, ANSWERS | {"against": "they delay ACKs"}))
    assert "no experiment says that the source states hosts.d*.delayed_ack" in said
    both = SLOPE | {"within": "a slope"}
    with pytest.raises(UsageError, match=r"v\.yaml:\d+: changes\[0\]: says `within` and `against`"):
        shelf.paper(variant(paper, both)).otherwise  # noqa: B018


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"key": "flows.7.cc", "to": "reno"}, "flows has no entry 7"),
        ({"key": "hosts.x*.mtu", "to": 1500}, "nothing has hosts.x*.mtu"),
        ({"key": "duration", "to": "10s"}, "nothing has duration, or all have it so"),
        ({"key": "bottleneck.ratee", "to": "1mbit"}, "unknown key"),
        ({"key": "hosts.d1.delayed_ack", "to": "perhaps"}, "perhaps"),
        ({"key": "duration", "to": {"of": "rtt", "plus": "1bdp"}}, "25ms and 1bdp cannot be added"),
    ],
)
def test_a_change_that_changes_nothing_or_what_nothing_can_have(
    paper: Path, change: dict[str, Any], says: str
) -> None:
    said = refusal(variant(paper, change | {"from": "us"}))
    assert re.search(r"variants/v\.yaml:\d+: changes\[0\]\.key: ", said), said
    assert says in said


def test_names_that_are_not_there(paper: Path) -> None:
    variant(paper, SLOPE)
    with pytest.raises(UsageError, match="p has no variant 'w'") as raised:
        shelf.paper("p@w")
    assert raised.value.hint == "variants: v"
    name = variant(paper, SLOPE, grids={"fig11": {"runs": [{"experiment": ["two"]}]}})
    with pytest.raises(
        UsageError, match=r"v\.yaml:\d+: grids\.fig11: there is no figure fig11, did"
    ):
        shelf.paper(name)
    name = variant(
        paper, SLOPE, grids={"fig1": {"runs": [{"experiment": ["two"], "rtt": ["5ms"]}]}}
    )
    with pytest.raises(UsageError, match=r"v\.yaml:\d+: grids\.fig1\.runs: fig1 varies no rtt"):
        grid.made(name)
    variant(paper, SLOPE, titel="x")
    with pytest.raises(UsageError, match=r"v\.yaml:\d+: titel: unknown key"):
        shelf.paper("p@v")


def test_a_variant_is_named_behind_the_paper(paper: Path) -> None:
    name = variant(paper, SLOPE)
    assert reproduce.named("p@v/fig1") == "p@v/fig1"
    assert reproduce.targets(name) == [name]
    assert reproduce.targets(f"{name}/fig1") == ["results/p@v/fig1.html"]
    with pytest.raises(UsageError, match="p@v has no figure 'fig2'"):
        reproduce.targets(f"{name}/fig2")
    assert list(shelf.wanted([name])) == [name]
    assert list(shelf.wanted(["all"])) == ["p"]


FAR = judged("fails", 20, 19, 21)
WRONG = judged("fails", -2, -3, -1)


@pytest.mark.parametrize(
    ("claim", "elsewhere", "verdict", "cause"),
    [
        (FAR, {"a": Elsewhere("agrees", True)}, "differs in size", "set-up"),
        (FAR, {"a": Elsewhere("agrees", False)}, "differs in size", "the source against itself"),
        (FAR, {"a": Elsewhere("contradicted", True)}, "differs in size", "unexplained"),
        (WRONG, {"a": Elsewhere("agrees", True)}, "differs in direction", "set-up"),
        (WRONG, {"a": Elsewhere("contradicted", True)}, "contradicted", "contradicted"),
        (WRONG, {"a": Elsewhere("not judged", True)}, "contradicted", "unexplained"),
        (WRONG, {"a": Elsewhere("differs in size", True)}, "contradicted", "unexplained"),
        (WRONG, {}, "contradicted", "unexplained"),
    ],
)
def test_a_cause_is_proved_by_a_whole_variant(
    claim: rulings.Judged, elsewhere: dict[str, Elsewhere], verdict: str, cause: str
) -> None:
    found = rulings.Ruling("it gains", [claim], elsewhere)
    assert (found.verdict, found.cause) == (verdict, cause)


def test_gains_and_losses_are_told_together() -> None:
    near = judged("holds", 13.1, 13, 13.2)

    def said(quote: str, claim: rulings.Judged) -> rulings.Ruling:
        return rulings.Ruling(quote, [claim])

    unjudged = judged("not judged")
    undecided = judged("open", 16, 15, 17)
    printed = [said("a", near), said("b", FAR), *(said(each, near) for each in "cde")]
    others = zip("cde", (near, unjudged, undecided), strict=True)
    own = [said("a", FAR), said("b", near), *(said(*each) for each in others)]
    assert matrix.gained(printed, own) == (["b"], ["a"])
    assert ruling(near).agrees_in == []


def keep(home: Path, name: str, measured: float, outcome: str, profile: str) -> None:
    """A reference of fig1 with its one claim, that the share is at least 0.95."""
    row = dict.fromkeys(across.COLUMNS) | {"figure": "fig1", "claim": "full", "n": 1}
    found = [row | {"measured": measured, "verdict": outcome}]
    folder = shelf.reference(name)
    folder.mkdir(parents=True)
    schema = Verdict.frame([]).select(across.COLUMNS).schema
    pl.DataFrame(found, schema=schema).write_csv(folder / across.VERDICTS)
    packed = compact.packed(pl.DataFrame({"share": [measured]}), json.dumps({"profile": profile}))
    shelf.kept(name, "fig1").write_bytes(packed)


@pytest.mark.parametrize(
    ("profile", "change", "cause"),
    [
        ("paper", SLOPE, "the source against itself"),
        ("paper", ANSWERS, "set-up"),
        ("quick", ANSWERS, "unexplained"),
    ],
)
def test_the_page_of_set_ups(paper: Path, profile: str, change: dict[str, Any], cause: str) -> None:
    keep(paper, "p", 0.5, "fails", "paper")
    assert "## A paper" not in matrix.page()  # there is nothing to compare
    keep(paper, variant(paper, change), 0.97, "holds", profile)
    page = matrix.page()
    small = "" if profile == "paper" else " (quick)"
    assert f"of the profile {profile}" in page
    assert change["from"] in page
    assert f"| sentence | as printed | v{small} | cause as printed |" in page
    assert f"| the link is full | differs in size, 0 of 1 | **agrees**, 1 of 1 | {cause} |" in page
    assert "| as printed | 0 | 1 | 0 | 0 | 0 |  |  | 0 of 1 |  |" in page
    assert f"| v{small} | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 1 of 1 | 0 of 1 |" in page


def test_a_sentence_that_a_variant_does_not_concern(paper: Path) -> None:
    """It has not been tried there: neither is it counted, nor is it contradicted twice."""
    figure(paper, [{"experiment": ["one"]}])
    figure(paper, [{"experiment": ["two"]}], "fig2")
    other = FIGURE | {"sentences": [FIGURE["sentences"][0] | {"quote": "it is short"}]}  # type: ignore[index]
    (paper / "p" / "fig2.yaml").write_text(
        yaml.safe_dump(other | {"runs": [{"experiment": ["two"]}]})
    )
    keep(paper, "p", 0.5, "fails", "paper")
    found = across.set_ups("p", {variant(paper, SLOPE): SetUp("paper", [])})
    assert found["p@v"].verdicts == []


def test_a_text_may_ask_a_variant_for_its_numbers(paper: Path) -> None:
    numbers.table.cache_clear()
    numbers.rendered.cache_clear()
    keep(paper, "p", 0.5, "fails", "paper")
    keep(paper, variant(paper, SLOPE), 0.97, "holds", "paper")
    both = "{{ rows().mean('share'):.2f }}, and {{ v.fig1.rows().mean('share'):.2f }} otherwise"
    assert numbers.rendered(both, "p", "fig1") == "0.50, and 0.97 otherwise"
    with pytest.raises(UsageError, match=r"fig1\.yaml: \{\{ v\.fig9\.rows\(\) \}\}: .*fig9"):
        numbers.rendered("{{ v.fig9.rows() }}", "p", "fig1")


def test_what_shows_a_cause_may_be_a_variant(paper: Path) -> None:
    variant(paper, SLOPE)
    shown = FIGURE | {"sentences": [FIGURE["sentences"][0] | {"isolated": "@v"}]}  # type: ignore[index]
    (paper / "p" / "fig1.yaml").write_text(yaml.safe_dump(shown))
    assert [each.isolated for each in claims.claims("p", "fig1")] == ["@v"]
    assert [each.isolated for each in claims.claims("p@v", "fig1")] == [""]
    (paper / "p" / variants.FOLDER / "v.yaml").unlink()
    with pytest.raises(UsageError, match="isolated: no figure @v"):
        claims.claims("p", "fig1")


def test_a_sentence_that_needs_a_figure_that_was_not_made(paper: Path) -> None:
    keep(paper, "p", 0.5, "fails", "paper")
    name = variant(paper, SLOPE)
    figure(paper, [{"experiment": ["two"]}], "fig2")
    both = across.set_ups("p", {name: SetUp("paper", [])})
    assert [each.verdict for each in both[name].verdicts] == ["not judged"]


@pytest.mark.lab
@pytest.mark.thorough
def test_a_variant_is_reproduced(clone: Path) -> None:
    """Its runs have its settings, and the paper's are as they were."""
    name = "dctcp_internet@as_tabulated"
    command = [str(clone / "sandglass"), "reproduce", f"{name}/fig10", "dctcp_internet/fig10"]
    done = subprocess.run(
        [*command, "--profile", "smoke"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = []
    for each in ("dctcp_internet", name):
        files = sorted((clone / "results/runs" / each / "slope").glob("*/run.json"))
        queues = [
            json.loads(file.read_text())["experiment"]["bottleneck"]["queue"] for file in files
        ]
        found.append({queue["drop_min"]: queue.get("drop_max") for queue in queues})
        assert (clone / "results" / each / "fig10.svg").is_file()
    assert found == [
        {"0.2bdp": None, "0.6bdp": None, "1bdp": None},
        {"0.2bdp": "2.2bdp", "0.6bdp": "2.6bdp", "1bdp": "3bdp"},
    ]


def test_a_variant_is_listed_with_what_it_changes() -> None:
    name = "dctcp_internet@as_tabulated"
    said = shelf.paper(name).otherwise
    assert said
    told = list(outline(name))
    assert [line for line in told if line in said.told] == said.told
    assert f"reproduce it: ./sandglass reproduce {name}" in told
    (variants_of,) = [one for one in outline("dctcp_internet") if one.startswith("variants: ")]
    assert name in variants_of
    assert name in dict(shelf.listing([]))


@pytest.mark.parametrize(
    "name",
    [
        shelf.called(shelf.folder(p), v)
        for p in shelf.ours()
        for v in variants.names(shelf.folder(p))
    ],
)
def test_our_variants_change_nothing_stated(name: str) -> None:
    grid.check(name)
