"""list: what there is, ours and others', each in a line."""

import re
import shutil
from pathlib import Path

import pytest

from sandglass.experiment import (
    mainline,
    module_options,
    qdiscs,
    reading,
    synthetic,
    topology,
    workload,
)
from sandglass.guide import detail, offer
from sandglass.install import builds
from sandglass.papers import shelf
from tests.cli.conftest import Cli

AUTHORS = builds.ROOT / "examples" / "module-repository"
# as many as its list of smoke runs has, below a line of names
SMOKE_RUNS = len((shelf.reference("abe") / "smoke-runs.csv").read_text().splitlines()) - 1


def listed(text: str) -> dict[str, dict[str, str]]:
    """Names and lines about them by kind."""
    found: dict[str, dict[str, str]] = {}
    things: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("  "):
            name, about = line.strip().split("  ", 1)
            things[name] = about.strip()
        else:
            things = found.setdefault(line.removesuffix(":"), {})
    return found


def test_everything_of_ours_with_a_line_about_it(sandglass: Cli, empty_cache: Path) -> None:
    done = sandglass("list", *offer.KINDS, "papers")
    assert (done.returncode, done.stderr) == (0, "")
    found = listed(done.stdout)
    assert list(found["topologies"]) == topology.names()
    assert list(found["workloads"]) == workload.names()
    assert found["workloads"]["ping"] == "Round-trip times: one ICMP echo per interval"
    assert found["qdiscs"]["codel"].startswith("CoDel (RFC 8289)")
    assert found["qdiscs"].keys() == mainline.QDISCS.keys() | qdiscs.modules("sch_")
    assert mainline.QDISCS.keys() == qdiscs.KINDS.keys()
    assert found["traces"].keys() == synthetic.TRACES.keys()
    assert found["congestion-controls"].keys() >= {"cubic", "abe_reno", "lsaimd_dctcp"}
    assert found["papers"].keys() >= {*shelf.papers(), "abe/fig03", "dctcp_internet/table1"}
    assert found["papers"]["abe"].startswith("Alternative Backoff")
    assert found["benches"].keys() == {path.stem for path in (builds.ROOT / "bench").glob("*.py")}
    for name in found["examples"]:
        reading.load(builds.ROOT / name)
    assert all(about for things in found.values() for about in things.values())
    assert not empty_cache.exists()


def test_without_a_kind_it_says_how_many_there_are(sandglass: Cli, empty_cache: Path) -> None:
    lines = sandglass("list").stdout.splitlines()
    assert len(lines) < 24
    rows = {line.split()[0]: line.split()[1] for line in lines if line.startswith("  ")}
    assert rows.keys() == {*offer.KINDS, "papers"}
    assert rows["topologies"] == str(len(topology.names()))
    assert rows["papers"] == str(len(shelf.papers()))
    assert lines[-1].endswith("sandglass list qdiscs codel")
    assert not empty_cache.exists()


def test_one_kind(sandglass: Cli) -> None:
    assert list(listed(sandglass("list", "topologies").stdout)) == ["topologies"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["qdiscs", "codel"], r"  target +default 5ms +time, such as 5ms"),
        (["qdiscs", "red"], r"  avpkt +needed +size"),
        (["qdiscs", "pi2"], "read kmods/sch_pi2/README.md"),
        (["qdiscs", "predict"], r"  bin +default 1ms +resolution of the history, 0.1 ms to 1 s"),
        (["qdiscs", "hred"], r"  rate +needed +of the link"),
        (["qdiscs", "hred"], r"limit may also be .* 0\.5bdp"),
        (["qdiscs", "noise"], r"in an experiment: noise: testbed\n(?s:.*)  phase, .* +ns\n"),
        (["congestion-controls", "dctcp"], "cc: dctcp"),
        (["congestion-controls", "abe_reno"], r"  net.ipv4.tcp_abe.beta_ecn +default 80"),
        (["workloads", "bulk"], r"  size +such as 500kB +How much it sends"),
        (["workloads", "flent"], "{workload: flent:<test>, from"),
        (["examples", "codel"], "new my.yaml --from codel"),
        (["traces", "wifi"], "IEEE 802.11n"),
        (["benches", "speed"], "./sandglass bench speed"),
        (["papers", "abe"], rf"  smoke +{SMOKE_RUNS}\n"),
        (["papers", "abe/fig03"], "droptail-full"),
    ],
)
def test_one_thing_in_detail(
    sandglass: Cli, empty_cache: Path, words: list[str], said: str
) -> None:
    done = sandglass("list", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(said, done.stdout)
    assert not empty_cache.exists()


@pytest.mark.parametrize(
    "plugin", sorted((builds.ROOT / "kmods").glob("sch_*/q_*.c")), ids=lambda plugin: plugin.stem
)
def test_options_of_modules_are_those_that_tc_takes(plugin: Path) -> None:
    """Its table of options is one of C's."""
    taken = dict(re.findall(r'^\t\{ "(\w+)",\s+(TC_\w+),', plugin.read_text(), re.M))
    told = {name for row in module_options.options(plugin.parent) for name in row.names}
    assert told == taken.keys()
    flags = {name for name, kind in taken.items() if kind == "TC_FLAG"}
    assert {*module_options.flags(plugin.parent)} == flags


def test_a_module_whose_page_tells_of_no_options(tmp_path: Path) -> None:
    assert list(module_options.options(tmp_path)) == []
    (tmp_path / "README.md").write_text("| column | type |\n|---|---|\n| `a` | u32 |\n")
    assert list(module_options.options(tmp_path)) == []


def test_every_thing_has_a_detail() -> None:
    for kind, tell in detail.KINDS.items():
        if kind != "topologies":
            for name, _ in offer.KINDS[kind]([]):
                assert list(tell(name)), name


@pytest.mark.lab  # whose root has Mininet
def test_a_topology_in_detail() -> None:
    for name in topology.names():
        assert list(detail.topologies(name))
    told = "\n".join(detail.topologies("dumbbell"))
    assert re.search(r"  pairs +a whole number +default 1 +pairs of hosts", told)
    assert "r1 ── s1\n║ bottleneck\nr2 ── d1" in told


def test_an_unknown_thing(sandglass: Cli) -> None:
    done = sandglass("list", "qdiscs", "coedl")
    assert done.returncode == 2
    assert "there is no coedl among qdiscs, did you mean 'codel'?" in done.stderr


def test_a_thing_without_its_kind(sandglass: Cli) -> None:
    done = sandglass("list", "codel")
    assert done.returncode == 2
    assert f"{builds.ROOT}/sandglass list qdiscs codel" in done.stderr
    assert f"{builds.ROOT}/sandglass list examples codel" in done.stderr


@pytest.mark.lab
def test_files_of_ones_own_in_detail() -> None:
    theirs = str(AUTHORS / "topologies" / "two_paths.py")
    assert detail.chosen("topologies", theirs, []) == theirs
    assert any(line.startswith("hosts that flows may join") for line in detail.topologies(theirs))
    asked = str(AUTHORS / "workloads" / "requests.py")
    assert any("requests.py" in line for line in detail.workloads(asked))


def test_help_names_every_kind(sandglass: Cli) -> None:
    told = sandglass("list", "--help").stdout.split("Kinds: ")[1].split(".")[0]
    assert set(" ".join(told.split()).split(", ")) == {*offer.KINDS, "papers"}


def test_what_lies_in_another_directory(sandglass: Cli, tmp_path: Path) -> None:
    """By the names under which an experiment there, or `reproduce` here, takes it."""
    shutil.copytree(AUTHORS, tmp_path / "theirs")
    found = listed(sandglass("list", "theirs").stdout)
    assert found["topologies"]["theirs/topologies/two_paths.py"].startswith("Two senders")
    assert found["workloads"]["theirs/workloads/requests.py"].startswith("Requests over one")
    assert found["congestion-controls"]["gaimd"].startswith("AIMD")
    assert found["papers"].keys() >= {"theirs/papers/sharing", "theirs/papers/sharing/fig1"}
    assert "theirs/experiments/share.yaml" in found["examples"]


def test_what_the_environment_names(
    sandglass: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(AUTHORS, tmp_path / "theirs")
    monkeypatch.setenv("SANDGLASS_KMODS", "theirs/kmods")
    monkeypatch.setenv("SANDGLASS_PAPERS", "theirs/papers")
    found = listed(sandglass("list", "congestion-controls", "papers").stdout)
    assert "gaimd" in found["congestion-controls"]
    assert "sharing/fig1" in found["papers"]


def test_a_word_that_is_neither_kind_nor_directory(sandglass: Cli) -> None:
    done = sandglass("list", "workload")
    assert done.returncode == 2
    assert "workload is neither a kind nor a directory, did you mean 'workloads'?" in done.stderr


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One. Two.", "One"),
        ("A rate of 1.5 Mb/s, such\nas 2. More", "A rate of 1.5 Mb/s, such as 2"),
        ("Heading:\n\nmore.", "Heading:"),
        ("Which queue? Of four:\n./run. More", "Which queue?"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, first: str) -> None:
    assert offer.first_sentence(text) == first


def test_a_module_may_say_itself_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "sch_x.c").write_text('MODULE_DESCRIPTION("In the code");\n')
    assert offer.about_module(tmp_path) == "In the code"
    (tmp_path / "module.toml").write_text('summary = "qdisc x: in its own words"\n')
    assert offer.about_module(tmp_path) == "In its own words"
