"""The house style: equal input, equal bytes."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from plotnine import aes, geom_line, geom_point, ggplot, labs

from sandglass.install import builds
from sandglass.results import series, style

FILES = ("figure.svg", "figure.png")


def plot() -> ggplot:
    table = pl.DataFrame({"rtt_ms": [20, 40, 80], "rate": [1.0, 2.0, 1.5], "ecn": ["a", "b", "a"]})
    drawn = ggplot(table, aes("rtt_ms", "rate", color="ecn")) + geom_line() + labs(x="RTT (ms)")
    return style.finish(drawn, "A title", "One flow.")


def read(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def test_saved_twice_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        style.save(plot(), tmp_path / name / "figure")
    assert read(tmp_path / "one") == read(tmp_path / "two")
    assert b"<dc:date>" not in read(tmp_path / "one")[0]


def test_another_process_and_place_equal_bytes(tmp_path: Path) -> None:
    """Neither hash seed, nor locale, nor time zone, nor folder enters."""
    style.save(plot(), tmp_path / "figure")
    other = tmp_path / "other"
    other.mkdir()
    program = "import sys, test_figures as t; t.style.save(t.plot(), t.Path('figure'))"
    paths = [str(builds.ROOT / "src"), str(Path(__file__).parent)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "7",
        "TZ": "Pacific/Auckland",
        "LC_ALL": "C",
        "SOURCE_DATE_EPOCH": "0",
    }
    subprocess.run([sys.executable, "-c", program], cwd=other, env=environment, check=True)
    assert read(tmp_path) == read(other)


def test_a_layer_may_have_a_table_of_its_own(tmp_path: Path) -> None:
    style.save(plot(), tmp_path / "figure")
    without = read(tmp_path)
    more = pl.DataFrame({"rtt_ms": [60], "rate": [1.8], "ecn": ["a"]})
    style.save(plot() + geom_point(data=more), tmp_path / "figure")
    assert read(tmp_path) != without


def test_pandas_has_the_table_that_polars_had() -> None:
    kinds = ["small", "large", "huge"]
    table = pl.DataFrame(
        {
            "count": [1, 2, 3],
            "rate": [0.5, None, 2.5],
            "name": ["a", None, "c"],
            "kind": pl.Series(["huge", "small", None], dtype=pl.Enum(kinds)),
        }
    )
    found = style.pandas_of(table)
    assert list(found["count"]) == [1, 2, 3]
    assert list(found["rate"].isna()) == [False, True, False]
    assert list(found["name"].dropna()) == ["a", "c"]
    assert list(found["kind"].cat.categories) == kinds
    assert list(found.sort_values("kind")["kind"].dropna()) == ["small", "huge"]


def test_an_error_leaves_no_half_figure(tmp_path: Path) -> None:
    table = pl.DataFrame({"rtt_ms": [20]})
    wrong = ggplot(table, aes("rtt_ms", "no_such_column")) + geom_line()
    with pytest.raises(Exception, match="no_such_column"):
        style.save(wrong, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


def test_colours_are_distinct() -> None:
    assert len(set(style.PALETTE)) == len(set(style.SHAPES)) == 8


def test_a_table_does_not_show_the_order_of_a_sum() -> None:
    """0.1 + 0.2 + 0.3 depends on it; what is no number stays."""
    sums = [0.1 + (0.2 + 0.3), (0.1 + 0.2) + 0.3, 1e-9 / 3, -2e12 / 3]
    one, other = (
        pl.DataFrame({"sum": [*order, None, float("nan"), float("inf"), 0.0], "n": 1})
        for order in (sums, [sums[1], sums[0], *sums[2:]])
    )
    assert sums[0] != sums[1]
    assert series.rounded(one).write_csv() == series.rounded(other).write_csv()
    assert series.rounded(one)["sum"][:4].to_list() == pytest.approx(sums, rel=1e-9)
    assert series.rounded(one)["sum"][4:].to_list()[0] is None
    assert series.rounded(one)["n"].to_list() == one["n"].to_list()
