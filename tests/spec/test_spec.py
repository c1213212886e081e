"""The experiment file: what is read, what the command line may change, and the published schema."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import UsageError
from sandglass.experiment import qdiscs, reading, topology, units
from sandglass.experiment.document import Override
from sandglass.experiment.experiment import Experiment
from sandglass.run import plan

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
CODEL = ROOT / "examples" / "codel.yaml"
TITLE = "One CUBIC flow through CoDel"

# The example of the issue that asked for the lab, word for word.
ISSUE = """\
title: One CUBIC flow through CoDel
topology: dumbbell              # topologies/dumbbell.py
pairs: 1                        # s1..sN, d1..dN
rtt: 100ms                      # base round trip, half in each direction, after the bottleneck
bottleneck:
  rate: 20mbit
  queue: {kind: codel, limit: 1000, ecn: true}   # any tc qdisc; other keys are its own tc options
flows:
  - {workload: bulk, from: s1, to: d1, cc: cubic, ecn: true, start: 0s, duration: 90s}
duration: 90s
seed: 1
"""
HOSTS = (
    "hosts: {s1: {sysctls: {net.ipv4.tcp_sack: 0}, initcwnd: 3, rtt: 60ms, access_rate: 1gbit, "
    "mtu: 9000, delayed_ack: false, pacing: true}}\n"
)
LEAST = """\
topology: dumbbell
rtt: 100ms
bottleneck: {rate: 20mbit, queue: {kind: codel}}
flows: [{workload: bulk, from: s1, to: d1}]
duration: 10s
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_issues_example_loads_as_it_stands(tmp_path: Path) -> None:
    experiment = reading.load(written(tmp_path, ISSUE))
    assert CODEL.read_text(encoding="utf-8").endswith(ISSUE)
    assert experiment.title == "One CUBIC flow through CoDel"
    assert experiment.rtt == 100_000_000
    assert experiment.bottleneck is not None
    assert experiment.bottleneck.rate == 20_000_000
    assert experiment.bottleneck.queue.options == {"ecn": True}
    [flow] = experiment.flows
    assert flow.kind.name == "bulk"
    assert (flow.src, flow.dst, flow.congestion_control, flow.asks_for_ecn) == (
        "s1",
        "d1",
        "cubic",
        True,
    )
    assert flow.duration == experiment.duration == 90 * 10**9
    assert experiment.parameters == {"pairs": 1}
    assert sorted(experiment.facts.hosts) == ["d1", "s1"]


def test_the_issues_hosts_load_as_they_stand(tmp_path: Path) -> None:
    settings = reading.load(written(tmp_path, ISSUE + HOSTS)).hosts["s1"]
    assert settings.sysctls == {"net.ipv4.tcp_sack": "0"}
    assert (settings.initcwnd, settings.rtt, settings.access_rate) == (3, 60_000_000, 10**9)
    assert (settings.mtu, settings.delayed_ack, settings.pacing) == (9000, False, True)


def test_what_may_be_left_out(tmp_path: Path) -> None:
    experiment = reading.load(written(tmp_path, LEAST))
    assert experiment.title == "experiment"  # the file's name
    assert experiment.seed == 1
    assert experiment.record == ["packets", "acks", "queues"]
    assert experiment.flows[0].start == 0
    assert experiment.bottleneck is not None
    assert experiment.bottleneck.queue.limit is None
    assert experiment.filled()["pairs"] == 1
    assert experiment.filled()["flows"][0]["duration"] == "10s"


def test_merge_keys_are_yaml_not_doubles(tmp_path: Path) -> None:
    text = LEAST + "hosts: {s1: &same {mtu: 1400, initcwnd: 3}, d1: {<<: *same, mtu: 9000}}\n"
    hosts = reading.load(written(tmp_path, text)).hosts
    assert (hosts["d1"].mtu, hosts["d1"].initcwnd) == (9000, 3)


def test_a_topology_of_ones_own_lies_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from mininet.topo import Topo\n"
        "class Mine(Topo):\n"
        "    def build(self, leaves=1):\n"
        "        for host in ('a', 'b'):\n"
        "            self.addHost(host)\n"
        "        self.addLink('a', 'b', bottleneck='thin')\n"
        "topos = {'mine': Mine}\n",
        encoding="utf-8",
    )
    text = LEAST.replace("dumbbell", "mine.py\nleaves: 2").replace("s1", "a").replace("d1", "b")
    experiment = reading.load(written(tmp_path, text))
    assert experiment.facts.bottlenecks == ["thin"]
    assert experiment.facts.params == {"leaves": 2}
    with pytest.raises(UsageError, match="leafs: unknown key, did you mean 'leaves'"):
        reading.load(written(tmp_path, text.replace("leaves", "leafs")))


OWN = """\
from typing import Annotated
from mininet.topo import Topo
class Mine(Topo):
    def build(self, leaves: int, share: Annotated[float, "of the leaves"] = 0.5, side="left",
              turned: bool = False, spare: int | None = None):
        if not 0 < share <= 1:
            raise ValueError(f"share is {share}: write more than 0, at most 1")
        for host in ("a", "b"):
            self.addHost(host)
        self.addLink("a", "b", bottleneck="thin")
topos = {"mine": Mine}
"""


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("", "leaves: is missing: topology mine needs a whole number"),
        ("leaves:\n", ":2: leaves: is empty"),
        ("leaves: 1.5\n", ":2: leaves: 1.5 is not a whole number"),
        ("leaves: true\n", ":2: leaves: true is not a whole number"),
        ("leaves: 3\nshare: .inf\n", ":3: share: inf is not a number"),
        ("leaves: 3\nshare: 2\n", ":3: share: share is 2: write more than 0, at most 1"),
        ("leaves: 3\nside: 2\n", ":3: side: 2 is not text"),
        ("leaves: 3\nturned: 'no'\n", ":3: turned: 'no' is not true or false"),
        ("leaves: 3\nspare: many\n", ":3: spare: many is not a whole number"),
    ],
)
def test_a_topologys_parameters_are_what_its_build_says(
    params: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    text = LEAST.replace("s1", "a").replace("d1", "b").replace("dumbbell\n", f"mine.py\n{params}")
    with pytest.raises(UsageError) as caught:
        reading.load(written(tmp_path, text))
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_a_topology_takes_numbers_text_and_flags(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    own = "leaves: 1000\nshare: 1\nside: right\nturned: true\n"
    text = LEAST.replace("s1", "a").replace("d1", "b").replace("dumbbell\n", f"mine.py\n{own}")
    experiment = reading.load(written(tmp_path, text))
    assert experiment.facts.params == {
        **{"leaves": 1000, "share": 1, "side": "right", "turned": True, "spare": None}
    }
    again = reading.load(written(tmp_path, json.dumps(experiment.filled())))
    assert again.facts == experiment.facts


def test_a_parameter_is_no_key_of_every_experiment(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.replace("leaves: int", "rtt: int"))
    text = LEAST.replace("s1", "a").replace("d1", "b").replace("dumbbell", "mine.py")
    with pytest.raises(UsageError, match="has a parameter rtt, which every experiment has"):
        reading.load(written(tmp_path, text))


def test_an_odd_round_trip_needs_partners(tmp_path: Path) -> None:
    text = LEAST.replace("dumbbell", "star").replace("s1", "h1").replace("d1", "h2")
    assert reading.load(written(tmp_path, text)).rtt == 100_000_000
    with pytest.raises(UsageError, match="rtt: is an odd number of ns"):
        reading.load(written(tmp_path, text.replace("100ms", "101ns")))


def test_workloads_have_their_own_keys(tmp_path: Path) -> None:
    text = LEAST.replace(
        "flows: [{workload: bulk, from: s1, to: d1}]",
        "flows: [{workload: udp, from: s1, to: d1, rate: 5mbit, burst: 3, ecn: true}, "
        "{workload: ping, from: s1, to: d1}, "
        "{workload: 'flent:tcp_upload', from: s1, to: d1, cc: reno, count: 2}]",
    )
    udp, ping, flent = reading.load(written(tmp_path, text)).flows
    constant = {"pattern": "constant", "on_time": None, "off_time": None, "trace": None}
    of_its_own = {"rate": 5_000_000, "packet_size": 1472, "burst": 3, "l4s": False, "dscp": None}
    assert udp.options == of_its_own | constant
    assert udp.asks_for_ecn
    assert ping.options == {"interval": 10**9}
    none: dict[str, Any] = {"parameters": {}, "hosts": None, "irtt": True}
    assert (flent.workload, flent.options, flent.count) == ("flent:tcp_upload", none, 2)


MINE = """\
from sandglass.agent.declare import DURATION, SENT, SIZES, WHOLE, Option
OPTIONS = {
    "size": Option(SIZES, SENT, None),
    "pages": Option(WHOLE, "How many.", 2, least=1),
    "pause": Option(DURATION, "Between two.", "20ms"),
}
def problems(options, lasts_ns):
    if options["pages"] * options["pause"] > lasts_ns:
        yield "pages", "are too many"
def run(flow, testbed):
    pass
"""


def test_a_workload_of_ones_own(tmp_path: Path) -> None:
    """Its file declares its keys, with units and defaults, and judges them."""
    (tmp_path / "mine.py").write_text(MINE)
    text = LEAST.replace("bulk, ", "mine.py, pages: 3, size: 1MB, ")
    experiment = reading.load(written(tmp_path, text))
    resolved = plan.resolve(experiment, experiment.facts)
    [flow] = resolved["flows"]
    assert (flow["size_bytes"], flow["options"]) == (10**6, {"pages": 3, "pause": 20_000_000})
    assert resolved["workloads"] == {"mine.py": "workload-mine.py"}
    for wrong, said in {
        "pages: [3]": r"flows\[0\].pages: a list is not a whole number",
        "pages: 0": "pages: 0 is too small: write 1 or more",
        "pages: 1000": "pages: are too many",
        "page: 3": "page: unknown key, did you mean 'pages'",
        "cc: reno": "cc: unknown key",
    }.items():
        with pytest.raises(UsageError, match=said):
            reading.load(written(tmp_path, text.replace("pages: 3", wrong)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def run(", "cannot be loaded: SyntaxError"),
        ("import absent", "cannot be loaded: ModuleNotFoundError"),
        ("", "defines no run"),
        (MINE.replace("pages", "start"), "OPTIONS: start cannot be a key of its own"),
        (MINE.replace("Option(WHOLE", "Option('integer'"), "there is no kind integer"),
    ],
)
def test_a_file_that_is_no_workload(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(
        content.replace("import DURATION, SENT, SIZES, 'integer',", "import DURATION, SENT, SIZES,")
    )
    with pytest.raises(UsageError, match=said):
        reading.load(written(tmp_path, LEAST.replace("bulk", "mine.py")))
    with pytest.raises(UsageError, match=r"no workload file yours\.py"):
        reading.load(written(tmp_path, LEAST.replace("bulk", "yours.py")))


def test_two_workloads_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(MINE)
    flow = "{workload: one/mine.py, from: s1, to: d1}"
    text = LEAST.replace(
        "{workload: bulk, from: s1, to: d1}", f"{flow}, {flow.replace('one', 'two')}"
    )
    experiment = reading.load(written(tmp_path, text))
    with pytest.raises(UsageError, match="two workloads of one name"):
        plan.resolve(experiment, experiment.facts)


LEAVING = """\
from sandglass.agent.declare import Column
LEAVES = "left"
{} = {}
def run(flow, testbed):
    pass
"""


@pytest.mark.parametrize(
    ("what", "declared", "said"),
    [
        ("TABLES", '{"../../out": {}}', "../../out is no name"),
        ("PARTS", '{"/tmp/out": {}}', "/tmp/out is no name"),
        ("LEAVES", "'../left'", "../left is no name"),
        ("COLUMNS", '{"a b": Column("Int64", "", "")}', "a b is no name"),
        ("PARTS", '{"packets": {}}', "there is a table packets already"),
        ("TABLES", '{"flows": {}}', "there is a table flows already"),
        ("TABLES", '{"mine": {"flow": Column("Int64", "", "")}}', "a column flow already"),
        ("COLUMNS", '{"n": Column("Int46", "", "")}', "no type Int46, did you mean 'Int64'"),
        ("COLUMNS", '{"n": Column("read_csv", "", "")}', "column n has no type read_csv"),
        ("COLUMNS", '{"n": ("Int64", "")}', "columns are {name: Column(type, unit, meaning)}"),
        ("PARTS", '{"COLUMNS": {"a b": Column("Int64", "", "")}}', "a b is no name"),
        ("TABLES", '{"mine": ["n"]}', "columns are {name: Column(type, unit, meaning)}"),
    ],
)
def test_what_a_workload_cannot_leave(tmp_path: Path, what: str, declared: str, said: str) -> None:
    """A table becomes a file, which is never elsewhere than in the run's directory."""
    (tmp_path / "mine.py").write_text(LEAVING.format(what, declared))
    with pytest.raises(UsageError, match=re.escape(said)):
        reading.load(written(tmp_path, LEAST.replace("bulk", "mine.py")))


@pytest.mark.parametrize("what", ["PARTS", "TABLES"])
def test_two_workloads_share_a_table_or_leave_two(tmp_path: Path, what: str) -> None:
    flows = "{workload: one.py, from: s1, to: d1}, {workload: two.py, from: s1, to: d1}"
    text = LEAST.replace("{workload: bulk, from: s1, to: d1}", flows)
    left = '{{"mine": {{"n": Column("{}", "s", "How long.")}}}}'
    (tmp_path / "one.py").write_text(LEAVING.format(what, left.format("Int64")))
    (tmp_path / "two.py").write_text(LEAVING.format(what, left.format("Int64")))
    experiment = reading.load(written(tmp_path, text))
    assert len(plan.resolve(experiment, experiment.facts)["workloads"]) == 2
    (tmp_path / "three.py").write_text(LEAVING.format(what, left.format("Float64")))
    experiment = reading.load(written(tmp_path, text.replace("two", "three")))
    with pytest.raises(UsageError, match="one and three each have another table mine"):
        plan.resolve(experiment, experiment.facts)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_load_and_open_with_what_they_show(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")
    experiment = reading.load(path)
    assert plan.resolve(experiment, experiment.facts)["flows"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_filled_experiments_mean_the_same(path: Path, tmp_path: Path) -> None:
    experiment = reading.load(path)
    for name, own in experiment.own_files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(own.path, tmp_path / name)
    again = reading.load(written(tmp_path, json.dumps(experiment.filled())))
    assert again.filled() == experiment.filled()
    assert plan.resolve(again, again.facts) == plan.resolve(experiment, experiment.facts)


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("hosts: {s1: {mtu: 1}}\n", 6, "hosts.s1.mtu: 1 is too small"),
        ("hosts:\n  s1: &same\n    mtu: 1\n  d1: *same\n", 8, "hosts.d1.mtu: 1 is too small"),
        ("hosts:\n  s1: &one {mtu: 1}\n  d1:\n    <<: *one\n", 7, "hosts.d1.mtu: 1 is"),
        (
            "hosts:\n  s1: &one {mtu: 9000, rtt: x}\n  d1:\n    <<: *one\n    mtu: 1\n",
            10,
            "hosts.d1.mtu: 1 is",
        ),
        ("record:\n  - acks\n  - noise\n", 8, "record[1]: unknown record 'noise'"),
        ("rtt_spread: 101%\n", 6, "rtt_spread: 101% is more than all"),
        ("rtt_spread: 5 percent\n", 6, "rtt_spread: 5 percent"),
        ("rtt_spread: 1\n", 6, "rtt_spread: 1 has no unit"),
        ("seed:\n", 6, "seed: is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    more: str, line: int, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, LEAST + more)
    with pytest.raises(UsageError) as caught:
        reading.load(path)
    assert any(text.startswith(f"{path}:{line}: {said}") for text in str(caught.value).split("\n"))


# --- The command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("bottleneck.rate=10mbit", ("bottleneck", "rate"), "10mbit"),
        ("flows.0.cc=reno", ("flows", 0, "cc"), "reno"),
        ("flows.0.ecn=false", ("flows", 0, "ecn"), False),
        ("bottleneck.queue={kind: pie, limit: 50p}", ("bottleneck", "queue", "limit"), "50p"),
        ("bottleneck.reverse.rate=1mbit", ("bottleneck", "reverse", "rate"), "1mbit"),
        ("hosts.d1.sysctls.net.ipv4.tcp_sack=0", ("hosts", "d1", "sysctls"), None),
        ("pairs=3", ("pairs",), 3),
        ("record=[acks]", ("record",), ["acks"]),
    ],
)
def test_overrides(override: str, key: tuple[str | int, ...], value: object) -> None:
    found: Any = reading.load(CODEL, [override]).filled()
    for part in key:
        found = found[part]
    assert found == (value if value is not None else {"net.ipv4.tcp_sack": "0"})


def test_later_overrides_win_and_seed_is_an_override() -> None:
    experiment = reading.load(CODEL, ["rtt=10ms", "rtt=20ms", "seed=5"], seed=7)
    assert (experiment.rtt, experiment.seed) == (20_000_000, 7)


@pytest.mark.parametrize(
    ("overrides", "title"),
    [
        ([], TITLE),
        (["bottleneck.queue.kind=pie"], f"{TITLE}, with bottleneck.queue.kind=pie"),
        (["rtt=10ms", "rtt=20ms", "pairs=2"], f"{TITLE}, with rtt=20ms, pairs=2"),
        (["rtt=10ms", "title=A short way"], "A short way"),
        (["seed=5", "record=[]"], TITLE),
        ([("pairs", 2), ("flows.0.ecn", False)], f"{TITLE}, with pairs=2, flows.0.ecn=false"),
    ],
)
def test_what_is_set_becomes_part_of_the_title(overrides: list[Override], title: str) -> None:
    assert reading.load(CODEL, overrides).title == title


def test_a_title_holds_as_much_of_what_is_set_as_there_is_room_for() -> None:
    """A paper sets dozens of keys, and a value may be a page."""
    words = ("sack", "dsack", "timestamps", "window_scaling", "ecn", "frto", "mtu_probing")
    more = (f"hosts.s1.sysctls.net.ipv4.tcp_{word}=1" for word in words)
    title = reading.load(CODEL, ["rtt=40ms", *more]).title
    assert len(title) <= 200
    assert title.startswith("One CUBIC flow through CoDel, with rtt=40ms, ")
    assert title.endswith(" more")


def test_an_override_does_not_reach_through_an_alias(tmp_path: Path) -> None:
    text = LEAST + "hosts: {s1: &same {mtu: 1400}, d1: *same}\n"
    hosts = reading.load(written(tmp_path, text), ["hosts.s1.mtu=9000"]).hosts
    assert (hosts["s1"].mtu, hosts["d1"].mtu) == (9000, 1400)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("rtt", "write key.path=value"),
        ("=5", "write key.path=value"),
        ("rtt=", "write key.path=value"),
        ("bottleneck.qeue.limit=3", "bottleneck.qeue: unknown key, did you mean 'queue'?"),
        ("bottleneck.qeue.limit=3", "(set by --set)"),
        ("flows.1.cc=reno", "flows has no entry 1: it has 0 to 0"),
        ("flows.first.cc=reno", "flows has no entry first"),
        ("rtt.half=3", "rtt is 100ms, it has no key half"),
        ("rtt=fast", "rtt: fast is not a time"),
        ("rtt=[", "--set rtt=[, column 2: "),
        ("colour=red", "colour: unknown key"),
    ],
)
def test_overrides_that_are_refused(override: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        reading.load(CODEL, [override])
    assert str(CODEL) in caught.value.message
    assert said in caught.value.message


QUEUED = "links: {s1-r1: {rate: 1gbit, delay: 2ms, queue: {kind: codel, target: 4ms}}}\n"


def test_an_override_keeps_what_stands_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, LEAST + QUEUED)
    link = reading.load(path, ["links.s1-r1.queue.limit=7"]).links["s1-r1"]
    assert (link.rate, link.delay) == (10**9, 2_000_000)
    assert link.queue
    assert (link.queue.kind, link.queue.options) == ("codel", {"target": "4ms"})
    assert link.queue.limit == units.parse_length(7)


def test_what_an_override_leaves_out_is_blamed_on_it_and_not_on_a_line(tmp_path: Path) -> None:
    """But for what is wrong in the file itself."""
    path = written(tmp_path, LEAST + QUEUED.replace("codel", "coddle"))
    with pytest.raises(UsageError) as caught:
        reading.load(path, ["links.d1-r2.queue.limit=7", "links.s1-r1.queue.limit=7"])
    lines = [line for line in caught.value.message.splitlines() if ".queue.kind: " in line]
    assert [line.endswith(" (set by --set)") for line in lines] == [False, True], lines
    assert lines[1].startswith(f"{path}: links.d1-r2.queue.kind: is missing")


def test_a_seed_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match=r"yaml: seed: 18446744073709551616 .*set by --seed"):
        reading.load(CODEL, seed=2**64)


# --- Files that are none --------------------------------------------------------------------------


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.yaml: no such file"):
        reading.load(tmp_path / "nothing.yaml")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        reading.load(tmp_path)


def test_a_run_or_a_script_where_an_experiment_should_be(tmp_path: Path) -> None:
    (tmp_path / "run.json").touch()
    with pytest.raises(UsageError, match="is a finished run, not an experiment") as caught:
        reading.load(tmp_path)
    assert str(caught.value.hint).startswith("Look at it: ./sandglass show ")
    with pytest.raises(UsageError, match="is a Python script, not an experiment") as caught:
        reading.load(ROOT / "topologies" / "dumbbell.py")
    assert "./sandglass exec " in str(caught.value.hint)


def test_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError, match="is not text in UTF-8"):
        reading.load(path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        reading.load(tmp_path / "secret.yaml")


def test_a_file_without_end() -> None:
    with pytest.raises(UsageError, match="/dev/zero: has more than 1000 kB"):
        reading.load("/dev/zero")


@pytest.mark.parametrize("kind", ["<<: [{0}, {0}, {0}]", "k: [{0}, {0}, {0}]"])
def test_aliases_that_multiply(tmp_path: Path, kind: str) -> None:
    """Whether they are merged or stand for lists: a few lines would be millions of values."""
    lines = ["a0: &a0 {k: v}"]
    for number in range(1, 40):
        lines.append(f"a{number}: &a{number} {{{kind.format(f'*a{number - 1}')}}}")
    with pytest.raises(UsageError, match="more than 200,000 values, with what aliases bring"):
        reading.load(written(tmp_path, "\n".join(lines)))


def test_an_alias_of_what_it_is_in(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this holds itself"):
        reading.load(written(tmp_path, "flows: &it [*it]"))


def test_many_flows_are_read_in_time_that_grows_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which modules there are is looked up once for a file, not for each flow."""
    looked: list[str] = []

    def look() -> list[Path]:
        looked.append("again")
        return []

    monkeypatch.setattr(qdiscs, "module_directories", look)
    flows = "".join("  - {workload: bulk, from: s1, to: d1, cc: cubic}\n" for _ in range(50))
    reading.load(
        written(tmp_path, LEAST.partition("flows:")[0] + f"duration: 10s\nflows:\n{flows}")
    )
    assert len(looked) <= 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 5000, "nested too deeply"),
        ("seed: 1" + "0" * 5000, "cannot be read"),
        ("seed: 0x" + "f" * 5000, ":1, column 7: a number with too many digits"),
        (f"topology: {'a' * 5000}.py", "no topology file"),
        (f"{LEAST}title: {'a' * 5000}", ":6: title: has 5000 characters: write at most 200"),
        (f'{LEAST}title: "one\\ntwo"', ":6: title: has a character that is none, or begins"),
        (f'{LEAST}title: "one\\0two"', ":6: title: has a character that is none, or begins"),
        (LEAST.replace("bulk", "a" * 5000 + ".py"), "no workload file aaa"),
        (
            LEAST.replace("kind: codel", 'kind: netem, delay: "1ms#"'),
            ":3: bottleneck.queue.delay: '?1ms#'? has a character that no word of tc has",
        ),
        (
            f'{LEAST}hosts: {{s1: {{sysctls: {{net.a: "1\\n2"}}}}}}',
            ":6: hosts.s1.sysctls.net.a: .* is not a sysctl's value",
        ),
        ("topology: \x07", "is not YAML"),
        ("1: 2\ntopology: dumbbell", ":1, column 1: this key is not text"),
        ("topology: dumbbell\non: 2", ":2, column 1: this key is not text"),
        ("? [a]\n: 3", "this key is not text"),
    ],
)
def test_files_made_to_break_the_reader(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        reading.load(written(tmp_path, text))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*Experiment.model_fields, "pairs"]), values))
def test_whatever_is_in_it_the_answer_is_a_usage_error(data: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"any\.yaml: "):
        reading.parse(data, Path("any.yaml"))


@given(st.integers(0, 2**32), values)
def test_a_valid_file_with_one_wrong_value_names_its_key(seed: int, value: Any) -> None:
    data = yaml.safe_load(ISSUE + HOSTS)
    inner: Any = data
    choice = random.Random(seed)
    path = ""
    while isinstance(inner, dict | list) and inner:
        parent = inner
        key = choice.choice(sorted(inner)) if isinstance(inner, dict) else 0
        path += f"[{key}]" if isinstance(key, int) else f".{key}"
        inner = inner[key]
    parent[key] = value
    try:
        reading.parse(data, Path("any.yaml"))
    except UsageError as error:
        top = path.removeprefix(".").split(".")[0].split("[")[0]
        assert top in error.message  # noqa: PT017 -- a value may happen to be valid


# --- The schema -----------------------------------------------------------------------------------


def test_the_schema_is_written_where_experiments_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {
        (path.parent / found[1]).resolve()
        for path in (ROOT / "examples").glob("*.yaml")
        if (found := re.search(r"\$schema=(\S+)", path.read_text()))
    }
    assert named == {reading.SCHEMA}
    monkeypatch.setattr(reading, "SCHEMA", tmp_path / "schema.json")
    reading.publish()
    assert json.loads(reading.SCHEMA.read_text()) == reading.schema()


def test_every_key_is_described() -> None:
    def properties(schema: Any) -> list[tuple[str, Any]]:
        if isinstance(schema, list):
            return [found for item in schema for found in properties(item)]
        if not isinstance(schema, dict):
            return []
        inner = [found for value in schema.values() for found in properties(value)]
        here = schema.get("properties", {})
        # Conditions ("if") only test what is described elsewhere.
        return inner + [pair for pair in here.items() if "const" not in pair[1] or len(pair[1]) > 1]

    whole = reading.schema()
    del whole["if"]
    found = properties(whole)
    assert len(found) > 40
    assert [name for name, each in found if "description" not in each] == []


def test_the_schema_knows_the_parameters_of_each_topology() -> None:
    found: dict[str, int] = {}
    for name in topology.names():
        found |= topology.facts(name, {}).params
    described = reading.schema()["properties"]
    assert found == {name: described[name].get("default") for name in found}
    assert {described[name]["type"] for name in found} == {"integer", "number", "string"}
    assert described["pairs"]["description"].startswith("dumbbell, dumbbell_ovs: pairs of hosts")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_suit_the_schema(path: Path) -> None:
    schema = reading.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)
    jsonschema.validate(reading.load(path).filled(), schema)


@pytest.mark.parametrize(
    "change",
    [
        {"topology": "parking_lot", "record": ["packets", "hop1"]},
        {"links": {"all": {"rate": "1gbit"}, "r2-d1": {"schedule": [{"at": "1s", "loss": "1%"}]}}},
    ],
)
def test_the_schema_takes_what_the_reader_takes(change: dict[str, Any]) -> None:
    data = yaml.safe_load(LEAST) | change
    jsonschema.validate(data, reading.schema())
    reading.parse(data, Path("any.yaml"))


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"rtt": 100},
        {"rtt": None},
        {"bottleneck": {"rate": "20mbit", "queue": {"kind": "codel", "targt": "5ms"}}},
        {"flows": [{"workload": "udp", "from": "s1", "to": "d1", "cc": "reno"}]},
        {"hosts": {"s1": {"sysctls": {"kernel.panic": 1}}}},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    data = yaml.safe_load(ISSUE) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, reading.schema())
    with pytest.raises(UsageError):
        reading.parse(data, Path("any.yaml"))


@given(st.sampled_from(list(units.SIZES)), st.integers(1, 10**6))
def test_sizes_reach_the_flow(unit: str, number: int) -> None:
    data = yaml.safe_load(LEAST)
    data["flows"][0]["size"] = f"{number}{unit}"
    [flow] = reading.parse(data, Path("any.yaml")).flows
    assert flow.kind.name == "bulk"
    assert flow.sizes == [number * units.SIZES[unit]]
