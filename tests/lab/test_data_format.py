"""What the documents say of every file and column is what a run really holds."""

import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from sandglass.experiment.values import RECORDS
from sandglass.install.builds import ROOT
from tests.lab.experiments import Lab, Mapped, Run, bulk, dumbbell, flow

pytestmark = pytest.mark.lab
DOCUMENT = (ROOT / "docs" / "data-format.md").read_text()
RED = {"limit": "200kB", "min": "20kB", "max": "80kB", "avpkt": 1000}
LOST = {"traces": [{"events": [{"time": 1, "name": "recovery:packet_lost"}]}]}
TALK = ["sh", "-c", f"""echo '{{"n": 1}}'; echo '{json.dumps(LOST)}' >{{out}}/left.qlog"""]
KINDS: dict[str, Mapped] = {
    "codel": {"kind": "codel"},
    "fq_codel": {"kind": "fq_codel"},
    "sfq_codel": {"kind": "sfq_codel"},
    "pie": {"kind": "pie"},
    "pie_draft": {"kind": "pie_draft"},
    "predict": {"kind": "predict"},
    "pi2": {"kind": "pi2"},
    "hred": {"kind": "hred", "rate": "10mbit", "rtt": "40ms", "limit": "3bdp"},
    "dualred": {"kind": "dualred", "rate": "10mbit", "drop_min": "1bdp", "mark_min": "0.5bdp"},
    "fq_pie": {"kind": "fq_pie"},
    "red": {"kind": "red"} | RED,
}


def rows(heading: str, document: str = DOCUMENT) -> list[list[str]]:
    """Cells of the first table below a heading, without its head; code marks are taken off."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", document, re.M | re.S)
    assert section, f"no section {heading}"
    table = re.search(r"((?:^\|.*\n)+)", section[1], re.M)
    assert table, f"no table in {heading}"
    lines = [
        re.split(r"\s*(?<!\\)\|\s*", line.strip()[1:-1].strip(" "))
        for line in table[1].splitlines()
    ]
    return [[cell.strip("`") for cell in line] for line in lines[2:]]


def documented(heading: str) -> dict[str, str]:
    """Types by column as documented."""
    return {row[0]: row[1] for row in rows(heading)}


def of_kind(kind: str) -> dict[str, str]:
    """As documented(), of the columns that a kind of queue has of its own."""
    page = ROOT / "kmods" / f"sch_{kind}" / "README.md"
    if not page.exists():
        return documented(kind)
    return {row[0]: row[1] for row in rows("Columns of queues.parquet", page.read_text())}


def found(frame: pl.DataFrame) -> dict[str, str]:
    """Types by column as found."""
    return {name: str(dtype.base_type()) for name, dtype in frame.schema.items()}


@pytest.fixture
def rich(lab: Lab) -> Run:
    """A run with every workload but flent."""
    return lab(
        dumbbell(
            bulk(cc="reno"),
            bulk("s2", "d2", ecn=True, size="100kB"),
            flow("udp", rate="100kbit", duration="2s"),
            flow("ping", duration="2s"),
            flow("http", "s2", "d2", size="100kB"),
            flow("media", duration="2s"),
            flow("restart", size="5kB", rounds=2, pause="1s"),
            flow("page", html="5kB", objects=["1kB", "2kB"]),
            flow("web", rate="1mbit"),
            flow("command", argv=TALK, series={"n": {"json": ["n"]}}, duration="1s"),
            queue={"kind": "codel", "ecn": True},
            pairs=2,
            duration="5s",
            record=list(RECORDS),
        )
    )


@pytest.fixture
def flent(lab: Lab) -> Run:
    """A run of flent."""
    queue = {"kind": "fq_codel"}
    upload = flow("flent:tcp_upload", duration="5s")
    return lab(dumbbell(upload, queue=queue, duration="16s", title="An upload"))


@pytest.mark.parametrize(
    "table",
    [
        *["packets", "headers", "acks", "goodput", "flows", "media", "objects", "rounds"],
        *["datagrams", "rtt", "transfers", "series", "qlog"],
    ],
)
def test_columns_of_tables(rich: Run, table: str) -> None:
    assert documented(f"{table}.parquet") == found(rich.table(table))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_queues(lab: Lab, kind: str) -> None:
    run = lab(dumbbell(bulk(), queue=KINDS[kind], duration="1s", record=["queues"]))
    assert documented("queues.parquet") | of_kind(kind) == found(run.table("queues"))


def test_columns_of_a_queue_without_counters_of_its_own(lab: Lab) -> None:
    run = lab(dumbbell(bulk(), queue={"kind": "pfifo"}, duration="1s", record=["queues"]))
    assert documented("queues.parquet") == found(run.table("queues"))


def test_files(rich: Run, flent: Run) -> None:
    names = {
        re.sub(r"-\d+(?=\.|$)", "-N", path.name)
        for run in (rich, flent)
        for path in run.path.iterdir()
    }
    assert {row[0] for row in rows("Files")} == names


def test_reasons_for_drops(rich: Run) -> None:
    dtype = rich.table("packets").schema["drop"]
    assert isinstance(dtype, pl.Enum)
    assert [row[0] for row in rows("Reasons for a drop")] == dtype.categories.to_list()


def leaves(content: Any, path: str = "") -> Iterator[str]:
    """Paths of all values: a.b[].c."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(content, list) and content:
        for value in content:
            yield from leaves(value, f"{path}[]")
    else:
        yield path


def pattern(key: str) -> str:
    """A regular expression for a documented key."""
    return re.escape(key).replace(r"\*", r"[^\[\]]+?").replace("…", r".*")


def test_every_key_of_run_json_is_documented_and_every_documented_key_is_there(
    lab: Lab, rich: Run, flent: Run
) -> None:
    counting = lab(dumbbell(bulk(cc="lsaimd_reno"), queue={"kind": "pfifo"}, duration="1s"))
    keys = [row[0] for row in rows("run.json")]
    paths = {path for run in (rich, flent, counting) for path in leaves(run.content)}
    for path in paths:
        assert any(re.fullmatch(pattern(key), path) for key in keys), f"{path} is not documented"
    for key in keys:
        assert any(re.fullmatch(pattern(key), path) for path in paths), f"there is no {key}"


def test_a_table_and_run_json_agree(rich: Run) -> None:
    renamed = {"flow": "id", "src": "from", "dst": "to"}
    for row, listed in zip(rich.table("flows").to_dicts(), rich.content["flows"], strict=True):
        assert {renamed.get(key, key): value for key, value in row.items()} == {
            key: listed[key] for key in (renamed.get(name, name) for name in row)
        }
