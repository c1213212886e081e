"""`bench papers`: what a sample of a paper's runs says of all of them."""

import itertools
from collections import Counter
from statistics import fmean, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import papers
from sandglass.papers import batches
from sandglass.studies.jobs import MOST

SECONDS = [1.0, 1.5, 2.0, 4.0, 30.0]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_of_all_samples_the_mean_is_the_total_and_the_variance_theirs(number: int) -> None:
    samples = [
        papers.Sample(len(SECONDS), [papers.Done(sum(drawn), list(drawn))])
        for drawn in itertools.combinations(SECONDS, number)
    ]
    totals = [each.total_s for each in samples]
    assert fmean(totals) == pytest.approx(sum(SECONDS))
    assert fmean(each.variance_s2 for each in samples) == pytest.approx(pvariance(totals))


def test_who_draws_all_is_sure() -> None:
    jobs = [papers.Done(2.5, SECONDS[:2]), papers.Done(36.0, SECONDS[2:])]
    assert papers.Sample(len(SECONDS), jobs).variance_s2 == 0


@given(
    st.lists(st.lists(st.floats(0, 100), min_size=1, max_size=20), min_size=1, max_size=5),
    st.floats(0, 10),
    st.floats(0, 10),
)
def test_what_goes_with_each_run_does_not_hang_on_the_jobs_sizes(
    labs: list[list[float]], start_s: float, each_s: float
) -> None:
    jobs = [papers.Done(start_s + sum(took) + each_s * len(took), took) for took in labs]
    assert papers.Sample(1000, jobs).else_s(start_s) == pytest.approx(1000 * each_s, abs=1e-6)


def test_some_runs_of_each_experiment_are_drawn_once() -> None:
    whole = batches.batches("ls_aimd", papers.PROFILE)
    sizes, jobs = papers.drawn(whole, 0.25)
    all_runs = Counter(each.kind.experiment for each in whole for _ in each.tasks)
    assert sizes == all_runs
    drawn = Counter(job.kind.experiment for job in jobs for _ in job.tasks)
    for experiment, number in all_runs.items():
        assert drawn[experiment] == min(number, max(papers.LEAST, round(number / 4)))
    assert max(len(job.tasks) for job in jobs) <= MOST
    directories = [directory for job in jobs for directory in job.directories]
    assert len(directories) == len(set(directories))
