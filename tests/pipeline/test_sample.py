"""`bench papers`: what a sample of a paper's runs says of all of them."""

import itertools
from collections import Counter
from statistics import fmean, pvariance

import pytest

from bench import papers
from sandglass.papers import batches

SECONDS = [1.0, 1.5, 2.0, 4.0, 30.0]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_of_all_samples_the_mean_is_the_total_and_the_variance_theirs(number: int) -> None:
    samples = [
        papers.Sample(len(SECONDS), list(drawn))
        for drawn in itertools.combinations(SECONDS, number)
    ]
    totals = [each.total_s for each in samples]
    assert fmean(totals) == pytest.approx(sum(SECONDS))
    assert fmean(each.variance_s2 for each in samples) == pytest.approx(pvariance(totals))


def test_who_draws_all_is_sure() -> None:
    assert papers.Sample(len(SECONDS), SECONDS).variance_s2 == 0


def test_some_runs_of_each_experiment_are_drawn_once() -> None:
    sizes, jobs = papers.drawn("ls_aimd", 0.25)
    all_runs = Counter(
        each.experiment for each in batches.batches("ls_aimd", papers.PROFILE) for _ in each.points
    )
    assert sizes == all_runs
    drawn = Counter(job.experiment for job in jobs for _ in job.points)
    for experiment, number in all_runs.items():
        assert drawn[experiment] == min(number, max(papers.LEAST, round(number / 4)))
    assert max(len(job.points) for job in jobs) <= batches.MOST
    directories = [directory for job in jobs for directory in job.directories]
    assert len(directories) == len(set(directories))
