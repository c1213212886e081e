"""Runs in jobs: how many go into one, what it is told of them, and one process that does them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from sandglass.studies import jobs
from sandglass.studies.batch import batch
from sandglass.studies.jobs import Task


def tasks(*seconds: float) -> list[Task]:
    """Runs of so many virtual seconds."""
    return [
        Task(f"runs/as-is/{number}", "s.yaml", experiment={"duration": f"{each}s"})
        for number, each in enumerate(seconds)
    ]


def sizes(runs: int, wanted: int | None = None, cores: int | None = None) -> list[int]:
    """How many of so many short runs each job has."""
    return [len(job) for job in jobs.parts(tasks(*[1.0] * runs), wanted, cores)]


@given(
    st.lists(st.sampled_from([1.0, 90.0, 600.0, 5000.0]), max_size=200),
    st.none() | st.integers(1, 64),
)
def test_jobs_are_all_runs_in_their_order_and_none_is_long(
    seconds: list[float], cores: int | None
) -> None:
    runs = tasks(*seconds)
    found = list(jobs.parts(runs, cores=cores))
    assert [run for job in found for run in job] == runs
    for job in found:
        assert 0 < len(job) <= jobs.MOST
        assert len(job) == 1 or sum(run.virtual_s for run in job) <= jobs.MOST_S


@pytest.mark.parametrize(("runs", "cores"), [(1, 2), (40, 2), (400, 2), (400, 8), (5000, 16)])
def test_the_jobs_of_so_many_processors_end_small(runs: int, cores: int) -> None:
    found = sizes(runs, cores=cores)
    assert found == sorted(found, reverse=True)
    assert found[-1] == 1


def test_where_nobody_knows_the_processors_some_share_what_is_wanted_together() -> None:
    assert sizes(45) == [12, 12, 12, 9]
    assert sizes(45, wanted=500) == [20, 20, 5]


def test_a_runs_time_is_that_of_all_its_repetitions(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text("duration: 2min\nrepeat: 3\n")
    assert Task("runs/1", str(file)).virtual_s == 360
    assert Task("runs/1", str(file), ["repeat=2", "duration=10s"]).virtual_s == 20
    assert Task("runs/1", str(file), experiment={"seed": 1}).virtual_s == 0


def test_what_a_job_is_told_is_what_it_reads() -> None:
    runs = [
        Task("results/runs/abe/fig05/as-is", "/home/fig05.yaml", ["rtt=20ms", "seed=2"]),
        Task("runs/queue=CoDel/2", "/home/s.yaml", [], {"rtt": "1ms"}, 2, {"queue": "CoDel"}, 2),
    ]
    assert jobs.read(jobs.told(runs)) == runs
    assert [str(task.log) for task in runs] == [
        "results/logs/abe/fig05/as-is.log",
        "logs/queue=CoDel/2.log",
    ]


def test_a_run_that_fails_is_named_and_the_others_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def do(task: Task) -> str:
        if task.directory == "runs/b":
            raise SandglassError("no memory", "buy some")
        return f"{task.directory} is fine"

    monkeypatch.chdir(tmp_path)
    checked: list[str] = []
    runs = [Task(f"runs/{name}", "experiment.yaml") for name in "abc"]
    with pytest.raises(SandglassError, match="1 run failed: runs/b"):
        batch("run_p_0", runs, lambda task: checked.append(task.directory), do)
    assert checked == ["runs/a"]
    logs = [Path(f"logs/{name}.log").read_text() for name in "abc"]
    said = ["runs/a is fine\n", "sandglass: no memory\n  buy some\n", "runs/c is fine\n"]
    assert logs == said
    assert capsys.readouterr().err == "".join(logs)
