"""Experiments on a base: what a file says goes over its base; errors name the right file."""

from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import UsageError
from sandglass.experiment import document, reading

COMMON = """
topology: dumbbell
rtt: 20ms
bottleneck: {rate: 10mbit, queue: {kind: codel, interval: 50ms}}
flows:
  - {workload: bulk, from: s1, to: d1}
duration: 10s
"""

values = st.integers(0, 9) | st.text("ab", max_size=2) | st.lists(st.integers(0, 9), max_size=2)
trees = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(values, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_size=3,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "common.yaml").write_text(COMMON)
    return tmp_path


def on_base(home: Path, text: str, base: str = "common.yaml") -> Path:
    path = home / "own.yaml"
    path.write_text(f"base: {base}\n{text}")
    return path


def merged(base: object, own: object) -> object:
    if isinstance(base, dict) and isinstance(own, dict):
        both = {key: merged(base[key], own[key]) for key in base.keys() & own.keys()}
        return base | own | both
    return own


@given(trees, trees)
def test_own_keys_go_over_the_bases(
    tmp_path_factory: pytest.TempPathFactory, base: dict[str, object], own: dict[str, object]
) -> None:
    home = tmp_path_factory.mktemp("base")
    (home / "common.yaml").write_text(yaml.safe_dump(base))
    text = yaml.safe_dump(own) if own else ""
    assert document.read(on_base(home, text)).data == merged(base, own)


def test_an_experiment_on_a_base(home: Path) -> None:
    path = on_base(home, "rtt: 40ms\nbottleneck: {queue: {target: 2ms}}\n")
    found = reading.load(path)
    assert (found.title, found.rtt) == ("own", 40_000_000)
    assert (
        found.filled()["bottleneck"]["queue"] | {"target": "2ms", "interval": "50ms"}
        == (found.filled()["bottleneck"]["queue"])
    )
    jsonschema.validate(yaml.safe_load(path.read_text()), reading.schema())


def test_a_queue_of_another_kind_has_none_of_the_bases_keys(home: Path) -> None:
    found = document.read(on_base(home, "bottleneck: {queue: {kind: pie}}\n"))
    assert found.data["bottleneck"] == {"rate": "10mbit", "queue": {"kind": "pie"}}


def test_some_bases_and_bases_of_bases(home: Path) -> None:
    (home / "parts").mkdir()
    (home / "parts" / "pie.yaml").write_text("bottleneck: {queue: {kind: pie}}\n")
    (home / "slow.yaml").write_text("base: common.yaml\nbottleneck: {rate: 1mbit}\n")
    found = document.read(on_base(home, "rtt: 1ms\n", "[slow.yaml, parts/pie.yaml]"))
    assert found.data["bottleneck"] == {"rate": "1mbit", "queue": {"kind": "pie"}}
    assert [path.name for path in found.bases] == ["slow.yaml", "common.yaml", "pie.yaml"]


def test_a_mistake_is_named_where_it_stands(home: Path) -> None:
    (home / "common.yaml").write_text(COMMON.replace("10mbit", "10mbps"))
    with pytest.raises(UsageError, match=r"common\.yaml:4: bottleneck\.rate: "):
        reading.load(on_base(home, "rtt: 40ms\n"))
    (home / "common.yaml").write_text(COMMON)
    with pytest.raises(UsageError, match=r"own\.yaml:2: rtt: "):
        reading.load(on_base(home, "rtt: 40\n"))
    (home / "common.yaml").write_text("rtt: [\n")
    with pytest.raises(UsageError, match=r"common\.yaml:2, column 1: "):
        reading.load(on_base(home, ""))


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ("none.yaml", r"none\.yaml: no such file"),
        ("../secret.yaml", r"own\.yaml:1: base: \.\./secret\.yaml lies elsewhere"),
        ("/etc/passwd", r"base: /etc/passwd lies elsewhere"),
        ("link.yaml", r"base: link\.yaml lies elsewhere"),
        ("own.yaml", "one that is its own base"),
        ("[]", "is no name of a file"),
        ("3", "is no name of a file"),
        ("{a: b}", "is no name of a file"),
    ],
)
def test_what_is_no_base(home: Path, base: str, says: str) -> None:
    (home.parent / "secret.yaml").write_text(COMMON)
    (home / "link.yaml").symlink_to(home.parent / "secret.yaml")
    with pytest.raises(UsageError, match=says):
        reading.load(on_base(home, "", base))
