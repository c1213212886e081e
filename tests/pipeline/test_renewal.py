"""What `./sandglass reference` says of results beside the reference, and puts in its place."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
import typer

from sandglass.cli import papers
from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.papers import across, reference, renewal, shelf, steps
from sandglass.papers.bundle.reproduce import SUMS
from sandglass.papers.verdicts import Verdict
from sandglass.results import compact, series
from tests.pipeline.test_new_figure import CODE
from tests.pipeline.test_new_figure import FIGURE as FIGURE_FILE

PAPER, FIGURE, OTHER = "dualq", "mixed_delay", "mixed_ratio"
CLAIM = "median-at-least-100us"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the paper's reference, and its results beside it, which are the same."""
    kept = tmp_path / "reference"
    shutil.copytree(shelf.reference(PAPER), kept)
    monkeypatch.setattr(shelf, "reference", lambda _: kept)
    monkeypatch.setattr(builds, "WORK", tmp_path)
    (tmp_path / "results" / PAPER).mkdir(parents=True)
    for figure in reference.figures(PAPER):
        reproduced(figure, reference.table(PAPER, figure))
    return kept


def reproduced(figure: str, table: pl.DataFrame, profile: str = "paper") -> None:
    """Leave a figure as `reproduce` does."""
    stem = builds.WORK / "results" / PAPER / figure
    table.write_csv(stem.with_suffix(".csv"))
    about = reference.origin(PAPER, figure).document() | {"profile": profile}
    stem.with_suffix(".json").write_text(json.dumps(about))


def less(figure: str) -> pl.DataFrame:
    """A figure's table in which ours is a hundredth of what it was."""
    return reference.table(PAPER, figure).with_columns(pl.col("ours") / 100)


def contents(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir()}


def test_what_is_the_same(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(home)
    papers.reference([PAPER])
    assert capsys.readouterr().out == "10 of 10 figures are as in the reference\n"
    papers.reference([PAPER], renew=True)
    assert contents(home) == before


def bundled(file: Path, sums: str | None = None) -> Path:
    """The results here as a bundle has them, with what else stands in one."""
    results = builds.WORK / "results"
    files = {
        f"results/{path.relative_to(results)}": path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file()
    }
    listed = "".join(f"{sha256(text).hexdigest()}  {name}\n" for name, text in files.items())
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in {
            SUMS: (sums if sums is not None else listed).encode(),
            "code/sandglass": b"exit 1",
            **files,
        }.items():
            member = tarfile.TarInfo(f"{file.stem}/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return file


def test_results_of_a_bundle(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As those here, and these are not asked."""
    reproduced(FIGURE, less(FIGURE))
    bundle = bundled(home.parent / "artifact.tar")
    shutil.rmtree(builds.WORK / "results")
    with pytest.raises(typer.Exit):
        papers.reference([PAPER], bundle=bundle)
    told = capsys.readouterr().out
    assert CLAIM in told
    assert "9 of 10 figures are as in the reference" in told
    papers.reference([f"{PAPER}/{FIGURE}"], bundle=bundle, renew=True)
    capsys.readouterr()
    papers.reference([PAPER], bundle=bundle)
    assert capsys.readouterr().out == "10 of 10 figures are as in the reference\n"


def test_a_bundle_that_is_not_as_its_checksums_say(home: Path, tmp_path: Path) -> None:
    with pytest.raises(SandglassError, match=r"damaged: 'results/dualq/\w+.csv' is not as SHA256"):
        papers.reference([PAPER], bundle=bundled(tmp_path / "artifact.tar", ""))
    (tmp_path / "none.tar").write_text("x" * 512)
    with pytest.raises(
        SandglassError, match=r"none\.tar is no bundle, or damaged: it is not as tar"
    ):
        papers.reference([PAPER], bundle=tmp_path / "none.tar")


def test_a_bundle_without_the_paper(home: Path, tmp_path: Path) -> None:
    bundle = bundled(tmp_path / "artifact.tar")
    with pytest.raises(SandglassError, match=r"artifact\.tar has no results of abe"):
        papers.reference(["abe/fig03"], bundle=bundle)
    with pytest.raises(UsageError, match="--judge and --smoke ask for none"):
        papers.reference([PAPER], bundle=bundle, judge=True)


def test_rounding_is_no_difference(home: Path) -> None:
    nudged = pl.selectors.float() * (1 + 1e-6)
    reproduced(FIGURE, reference.table(PAPER, FIGURE).with_columns(nudged))
    papers.reference([f"{PAPER}/{FIGURE}"])


def test_what_differs_is_told_with_both_values(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reproduced(FIGURE, less(FIGURE).with_columns(more=1))
    with pytest.raises(typer.Exit) as ended:
        papers.reference([PAPER])
    assert ended.value.exit_code == 1
    told = capsys.readouterr().out
    assert f"{PAPER}/{FIGURE}" in told
    (line,) = [line for line in told.splitlines() if CLAIM in line]
    assert line.split(CLAIM)[1].split() == ["holds,", "0.2621", "fails,", "0.002621"]
    assert "column ours" in told
    assert "column more" in told
    assert "9 of 10 figures are as in the reference" in told


@pytest.mark.parametrize(
    ("table", "kept", "made"),
    [
        (pl.DataFrame({"x": [1.0, None]}), "", "1 of 2 rows differ"),
        (pl.DataFrame({"x": [1.0, float("inf")]}), "", "1 of 2 rows differ"),
        (pl.DataFrame({"x": ["1", "2.1"]}), "", "2 of 2 rows differ"),
        (pl.DataFrame({"x": [1.0]}), "2", "1"),
    ],
)
def test_columns_that_differ(table: pl.DataFrame, kept: str, made: str) -> None:
    (change,) = renewal.columns(pl.DataFrame({"x": [1.0, 2.0]}), table)
    assert change[1:] == (kept, made)


def test_only_what_is_named_is_renewed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(home)
    for figure in (FIGURE, OTHER):
        reproduced(figure, less(figure))
    papers.reference([f"{PAPER}/{FIGURE}"], renew=True)
    after = contents(home)
    assert {name for name in before if before[name] != after[name]} == {
        f"{FIGURE}.parquet",
        across.VERDICTS,
        reference.SENTENCES,
    }
    rows = {row["claim"]: row for row in across.rows(PAPER) if row["figure"] == FIGURE}
    assert (rows[CLAIM]["verdict"], rows[CLAIM]["measured"]) == ("fails", 0.00262144)
    assert [row for row in across.rows(PAPER) if row["figure"] == OTHER]
    assert reference.judged(PAPER, FIGURE) == [
        each for each in reference.verdicts(PAPER) if each.figure == FIGURE
    ]
    assert "dualq: the reference is renewed" in capsys.readouterr().out
    papers.reference([f"{PAPER}/{FIGURE}"])


def test_a_figure_that_is_new(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(home)
    (home / f"{FIGURE}.parquet").unlink()
    with pytest.raises(SandglassError, match=f"has no table of {FIGURE}") as raised:
        reference.table(PAPER, FIGURE)
    assert "--renew" in str(raised.value.hint)
    with pytest.raises(typer.Exit):
        papers.reference([f"{PAPER}/{FIGURE}"])
    assert "none" in capsys.readouterr().out
    papers.reference([f"{PAPER}/{FIGURE}"], renew=True)
    assert contents(home) == before


def test_all_or_nothing(home: Path) -> None:
    before = contents(home)
    reproduced(FIGURE, less(FIGURE))
    (builds.WORK / "results" / PAPER / f"{OTHER}.json").unlink()
    with pytest.raises(SandglassError, match=rf"{OTHER}\.json does not exist") as raised:
        papers.reference([PAPER], renew=True)
    assert raised.value.hint == f"./sandglass reproduce {PAPER}/{OTHER} --profile paper"
    assert contents(home) == before


def test_another_profile_is_refused(home: Path) -> None:
    before = contents(home)
    reproduced(FIGURE, less(FIGURE), "quick")
    for renew in (False, True):
        with pytest.raises(UsageError, match=r"is of the profile quick, and not paper"):
            papers.reference([f"{PAPER}/{FIGURE}"], renew=renew)
    assert contents(home) == before


def test_what_there_is_not() -> None:
    with pytest.raises(UsageError, match="no paper 'dualp', did you mean 'dualq'"):
        papers.reference(["dualp"])
    with pytest.raises(UsageError, match="dualq has no figure 'webs', did you mean 'web'"):
        papers.reference(["dualq/webs"])
    with pytest.raises(UsageError, match="take one of them"):
        papers.reference(["dualq"], renew=True, judge=True)


def test_claims_that_change_are_judged_again(home: Path) -> None:
    before = contents(home)
    file = home / across.VERDICTS
    file.write_text(file.read_text().replace(CLAIM, "a-claim-that-was"))
    with pytest.raises(SandglassError, match="there is no claim a-claim-that-was about") as raised:
        reference.verdicts(PAPER)
    assert "./sandglass reference dualq --judge" in str(raised.value.hint)
    shutil.rmtree(builds.WORK / "results" / PAPER)
    papers.reference([f"{PAPER}/{FIGURE}"], judge=True)
    assert contents(home) == before
    file.unlink()
    with pytest.raises(SandglassError, match="dualq has no reference"):
        reference.verdicts(PAPER)


def test_the_list_of_the_smoke_profiles_runs(home: Path) -> None:
    before = contents(home)
    kept = pl.read_csv(home / reference.SMOKE_RUNS, infer_schema_length=None)
    with pytest.raises(UsageError, match="is of the profile paper, and not smoke"):
        papers.reference([PAPER], smoke=True)
    for figure in reference.figures(PAPER):
        reproduced(figure, reference.table(PAPER, figure), "smoke")
    with pytest.raises(SandglassError, match=r"runs\.csv does not exist"):
        papers.reference([PAPER], smoke=True)
    listed = builds.WORK / "results" / PAPER / "runs.csv"
    kept.with_columns(pl.col("goodput_mbit") * (1 + 1e-9), wall_s=1.5).write_csv(listed)
    papers.reference([PAPER], smoke=True)
    assert contents(home) == before


def test_as_many_digits_as_an_outcome_needs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = reference.verdicts(PAPER)[0]

    def judge(_: str, __: str, rows: pl.DataFrame, ___: str) -> list[Verdict]:
        above = rows["x"][0] > 1.00001
        update = {"verdict": "holds" if above else "fails", "measured": 1.0}
        return [usual.model_copy(update=update)]

    monkeypatch.setattr(steps, "judge", judge)
    reproduced(FIGURE, pl.DataFrame({"x": [1.000014321] * 6000}))
    found = renewal.made(PAPER, FIGURE, renewal.results())
    assert {*found.table["x"]} == {1.000014}
    assert [each.verdict for each in found.verdicts] == ["holds"]


def test_what_is_measured_hardly_moves(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = reference.verdicts(PAPER)[0]

    def judge(_: str, __: str, rows: pl.DataFrame, ___: str) -> list[Verdict]:
        return [usual.model_copy(update={"measured": rows["x"][0] - 100})]

    monkeypatch.setattr(steps, "judge", judge)
    reproduced(FIGURE, pl.DataFrame({"x": [100.0123456] * 6000}))
    assert {*renewal.made(PAPER, FIGURE, renewal.results()).table["x"]} == {100.0123}


@pytest.mark.parametrize(("height", "x"), [(100, 0.123456789), (300, 0.123457), (3000, 0.12346)])
def test_a_small_table_has_more_digits(
    home: Path, monkeypatch: pytest.MonkeyPatch, height: int, x: float
) -> None:
    usual = reference.verdicts(PAPER)[:1]
    monkeypatch.setattr(steps, "judge", lambda *_: usual)
    reproduced(FIGURE, pl.DataFrame({"x": [0.123456789] * height, "y": 1.0}))
    assert {*renewal.made(PAPER, FIGURE, renewal.results()).table["x"]} == {x}


def test_a_file_is_the_same_each_time(tmp_path: Path) -> None:
    """However many threads make it."""
    program = (
        "import sys\n"
        "from sandglass.papers import reference\n"
        "from sandglass.results import compact\n"
        "sys.stdout.buffer.write(compact.packed(reference.table('abe', 'fig07'), 'a text'))"
    )
    paths = os.pathsep.join([str(builds.ROOT / "src"), str(builds.ROOT)])
    made = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": paths, "POLARS_MAX_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "1", "3")
    }
    assert len(made) == 1
    file = tmp_path / "fig07.parquet"
    file.write_bytes(made.pop())
    assert compact.about(file) == "a text"
    assert compact.read(file).equals(reference.table("abe", "fig07"))


def test_single_precision_gives_back_what_it_is_given(tmp_path: Path) -> None:
    """A column of more digits, or beyond its range, stays as it is."""
    table = pl.DataFrame(
        {
            "few": [0.85, 1.2345e-6, -98765.0, None],
            "many": [0.1234567891, 1.0, 2.0, 3.0],
            "tiny": [1e-300, 0.5, 0.0, 1.0],
            "beyond": [1e200, float("inf"), float("nan"), 1.0],
            "whole": [1, 2, 3, 2**40],
            "text": ["a", "b", None, "c"],
        }
    )
    file = tmp_path / "t.parquet"
    file.write_bytes(compact.packed(table))
    assert compact.read(file).equals(table)
    types = pl.read_parquet_schema(file)
    assert [name for name in types if types[name] == pl.Float32] == ["few"]


def test_few_digits() -> None:
    few = series.rounded(pl.DataFrame({"x": [0.123456, 123456.0], "n": [123456, 1]}), 5)
    assert few.to_dict(as_series=False) == {"x": [0.12346, 123460.0], "n": [123456, 1]}


def test_the_pictures_are_of_the_tables() -> None:
    assert reference.picture(PAPER, FIGURE).startswith(b"<?xml")


def test_what_is_kept_says_what_the_claims_say() -> None:
    (kept,) = [each for each in reference.verdicts(PAPER) if each.claim == CLAIM]
    rows = Verdict.frame([kept]).to_dicts()
    assert rows[0]["paper"] == shelf.paper(PAPER).head.paper
    assert rows[0]["quote"]
    assert "at least" in rows[0]["expected"]


def test_a_paper_of_another_directory_has_its_first_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = reference.origin(PAPER, FIGURE).document() | {"paper": "mine", "figure": "queue"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "paper.yaml").write_text("paper: Me\ntitle: Mine\n")
    (tmp_path / "mine" / "queue.yaml").write_text(FIGURE_FILE)
    (tmp_path / "mine" / "queue.py").write_text(CODE)
    results = tmp_path / "results" / "mine"
    results.mkdir(parents=True)
    pl.DataFrame({"rtt": ["20ms", "40ms"], "delay_ms": [0.5, 0.7]}).write_csv(results / "queue.csv")
    (results / "queue.json").write_text(json.dumps(source))
    monkeypatch.setattr(os, "environ", os.environ | {"SANDGLASS_PAPERS": ""})
    monkeypatch.setattr(builds, "WORK", tmp_path)
    papers.reference([str(tmp_path / "mine")], renew=True)
    assert "mine: the reference is renewed" in capsys.readouterr().out
    assert [each.verdict for each in reference.verdicts("mine")] == ["holds", "fails"]
    papers.reference(["mine"])
    assert capsys.readouterr().out == "1 of 1 figures are as in the reference\n"
