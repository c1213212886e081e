"""Where a figure's numbers come from: one lab, and a caption that names it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sandglass.errors import SandglassError
from sandglass.papers import grid, provenance
from sandglass.papers.provenance import Provenance
from sandglass.results.series import Run, combined_digest
from tests.pipeline.synthetic import FIGURES, document, run, write_profile

SOURCE = Provenance(
    paper="abe",
    figure="fig03",
    profile="quick",
    kernel_release="6.12.117",
    kernel_build="0123456789ab",
    modules={"recorder": "cdef"},
    lab_build="fedcba987654",
    commits=["123456789abc"],
    seeds=[1],
    runs=38,
    durations=["90s"],
    digest="ab" * 32,
    virtual_s=90,
    wall_s=2,
)


def test_caption() -> None:
    text = provenance.caption("One flow.", ["RTT grid", "90 s"], SOURCE)
    assert text.splitlines() == [
        "One flow. Re-design: RTT grid; 90 s.",
        "Profile quick, 38 runs of 90s, seed 1, Linux 6.12.117, lab build fedcba987654, "
        "digest abababababababab.",
    ]


def test_of_many_durations_a_caption_has_the_ends() -> None:
    source = dataclasses.replace(SOURCE, durations=["4s", "12s", "30s", "60s", "90s"])
    assert "38 runs of 4s to 90s, seed 1," in provenance.caption("One flow.", [], source)


def test_provenance(tmp_path: Path) -> None:
    runs = [run(tmp_path, {}, seed=2, digest="b"), run(tmp_path, {}, seed=1, digest="a")]
    source = provenance.provenance(runs, "abe", "fig03", "quick")
    assert (source.seeds, source.virtual_s, source.wall_s, source.ratio) == ([1, 2], 180, 4, 45)
    assert source.digest == combined_digest(["a", "b"])
    assert source.digest != combined_digest(["a", "c"])


KERNEL = document()["kernel"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kernel": KERNEL | {"release": "7.2.0"}}, "several kernels: 6.12.0-made-up .*, 7.2.0 "),
        ({"kernel": KERNEL | {"build": "ba98"}}, "several builds of the lab kernel: 0123.*, ba98 "),
        ({"kernel": KERNEL | {"modules": {"recorder": "ef"}}}, "module recorder: cd .*, ef "),
        ({"lab_build": "00ff"}, r"several lab builds: 00ff \(other\), fedcba987654 \(one\)"),
    ],
)
def test_runs_of_different_labs_make_no_figure(changes: dict[str, Any], says: str) -> None:
    """The message names both, and a run of each."""
    runs = [run(Path("one"), {}), run(Path("other"), {}, **changes)]
    with pytest.raises(SandglassError, match=f"the runs of fig03 come from .*{says}"):
        provenance.provenance(runs, "abe", "fig03", "quick")


def test_commits_that_made_the_same_lab_may_differ() -> None:
    runs = [run(Path("one"), {}), run(Path("other"), {}, commit="ffff-dirty")]
    source = provenance.provenance(runs, "abe", "fig03", "quick")
    assert source.commits == ["123456789abc", "ffff-dirty"]


def test_runs_may_use_different_modules_but_one_build_of_each(tmp_path: Path) -> None:
    def with_modules(**modules: str) -> Run:
        kernel = document()["kernel"] | {"modules": modules}
        return run(tmp_path, {}, kernel=kernel)

    runs = [with_modules(tcp_abe="a"), with_modules(sch_pie_draft="b", tcp_abe="a")]
    source = provenance.provenance(runs, "abe", "fig03", "quick")
    assert source.modules == {"sch_pie_draft": "b", "tcp_abe": "a"}
    with pytest.raises(SandglassError, match="builds of the module tcp_abe"):
        provenance.provenance([*runs, with_modules(tcp_abe="c")], "abe", "fig03", "quick")


def test_listing_has_shared_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_profile(tmp_path, "smoke")
    points = [p for figure in FIGURES for p in grid.points("abe", figure, "smoke")]
    listed = provenance.listing([*points, *points])
    assert len(listed) == len(points) == len(listed.unique(["experiment", "settings"]))
    unrecorded = document(bottleneck={"utilisation": 1.0, "queue_delay_ms": None})
    repeated = document(bottleneck=None)
    for point, content in zip(points, (unrecorded, repeated), strict=False):
        (Path(point.directory) / "run.json").write_text(json.dumps(content))
    bare = provenance.listing(points[:2]).sort("utilisation", nulls_last=True)
    assert bare["delay_median_ms"].to_list() == [None, None]
    assert bare["utilisation"].to_list() == [1.0, None]
    row = listed.filter(pl.col("experiment") == "fig05").row(0, named=True)
    assert row["goodput_mbit"] == 9.0
    assert (row["utilisation"], row["delay_median_ms"], row["drops"]) == (0.95, 5.0, 3)
    assert (row["virtual_s"], row["wall_s"]) == (90.0, 2.0)
