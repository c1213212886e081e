"""Runs in jobs: how many go into one, what it is told of them, and one process that does them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandglass.errors import SandglassError
from sandglass.studies import jobs
from sandglass.studies.batch import batch
from sandglass.studies.jobs import Task


@given(
    st.lists(st.sampled_from([1.0, 90.0, 600.0, 5000.0]), max_size=500),
    st.none() | st.integers(1, 64),
)
def test_jobs_are_all_runs_in_their_order_and_none_is_long(
    runs: list[float], cores: int | None
) -> None:
    found = list(jobs.parts(runs, float, cores=cores))
    assert [run for job in found for run in job] == runs
    assert all(0 < len(job) <= jobs.MOST for job in found)
    assert all(len(job) == 1 or sum(job) <= jobs.MOST_S for job in found)


@pytest.mark.parametrize(("runs", "cores"), [(1, 2), (40, 2), (400, 2), (400, 8), (5000, 16)])
def test_the_jobs_of_so_many_processors_end_small(runs: int, cores: int) -> None:
    sizes = [len(job) for job in jobs.parts([1.0] * runs, float, cores=cores)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_where_nobody_knows_the_processors_some_share_what_is_wanted_together() -> None:
    sizes = [len(job) for job in jobs.parts([1.0] * 45, float)]
    assert sizes == [12, 12, 12, 9]
    assert [len(job) for job in jobs.parts([1.0] * 45, float, wanted=500)] == [20, 20, 5]


def test_a_runs_time_is_that_of_all_its_repetitions() -> None:
    assert jobs.virtual_s({"duration": "2min", "repeat": 3}) == 360
    assert jobs.virtual_s({}) == 0


def test_what_a_job_is_told_is_what_it_reads() -> None:
    tasks = [
        Task("results/runs/abe/fig05/as-is", "/home/fig05.yaml", ["rtt=20ms", "seed=2"]),
        Task("runs/queue=CoDel/2", "/home/s.yaml", [], {"rtt": "1ms"}, 2, {"queue": "CoDel"}, 2),
    ]
    assert jobs.read(jobs.told(tasks)) == tasks
    assert [str(task.log) for task in tasks] == [
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
    tasks = [Task(f"runs/{name}", "experiment.yaml") for name in "abc"]
    with pytest.raises(SandglassError, match="1 run failed: runs/b"):
        batch("run_p_0", tasks, lambda task: checked.append(task.directory), do)
    assert checked == ["runs/a"]
    logs = [Path(f"logs/{name}.log").read_text() for name in "abc"]
    said = ["runs/a is fine\n", "sandglass: no memory\n  buy some\n", "runs/c is fine\n"]
    assert logs == said
    assert capsys.readouterr().err == "".join(logs)
