"""Which runs of a paper go into one job."""

from collections import Counter

import pytest

from sandglass.papers import batches, grid, shelf
from sandglass.papers.profiles import PROFILES
from sandglass.studies import jobs


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("paper", shelf.papers())
def test_each_run_is_in_one_job_that_all_its_figures_need(paper: str, profile: str) -> None:
    found = batches.batches(paper, profile)
    whole = [set(each.directories) for each in found]
    assert len(set().union(*whole)) == sum(len(each.tasks) for each in found)
    needs = {
        figure: {point.directory for point in grid.points(paper, figure, profile)}
        for figure in shelf.paper(paper).figures
    }
    assert set().union(*needs.values()) == set().union(*whole)
    for figure, own in needs.items():
        assert all(job <= own for job in whole if job & own), figure


@pytest.mark.thorough
@pytest.mark.parametrize("paper", shelf.papers())
def test_no_job_is_long_unless_its_run_is(paper: str) -> None:
    for each in batches.batches(paper, "paper"):
        assert len(each.tasks) <= jobs.MOST
        if len(each.tasks) > 1:
            assert sum(task.virtual_s for task in each.tasks) <= jobs.MOST_S


@pytest.mark.thorough
@pytest.mark.parametrize("paper", shelf.papers())
def test_a_job_is_the_same_in_every_profile_that_has_it(paper: str) -> None:
    """So what quick has run, paper does not run again."""
    done: dict[str, tuple[list[str], tuple[str, ...]]] = {}
    for profile in PROFILES:
        for each in batches.batches(paper, profile):
            for directory in each.directories:
                same = done.setdefault(directory, (each.directories, each.kind.modules))
                assert same == (each.directories, each.kind.modules)


@pytest.mark.thorough
@pytest.mark.parametrize("paper", shelf.papers())
def test_each_value_of_an_axis_makes_an_experiment(paper: str) -> None:
    """What a file's queue cannot take is told here, and not after hours of runs."""
    seen: set[tuple[str, str]] = set()
    for figure in shelf.paper(paper).figures:
        for point in grid.points(paper, figure, "paper"):
            # what sets nothing is an experiment too
            ours = {(point.source, setting) for setting in ["", *point.settings]}
            if point.replica <= 1 and not ours <= seen:
                seen |= ours
                point.load()


def test_a_job_names_the_modules_and_files_of_each_of_its_runs() -> None:
    """A change of a module that one of them does not name repeats none of them."""
    found = batches.batches("flow_startup", "paper")
    assert {"sch_predict"} <= {name for each in found for name in each.kind.modules}
    for each in found:
        for task in each.tasks:
            text = grid.text_of(each.kind.files[0]) + grid.name(task)
            assert ("predict" in text) == ("sch_predict" in each.kind.modules)
            assert tuple(grid.files(task)) == each.kind.files


def test_the_runs_of_one_figure_are_shared_by_several_processors() -> None:
    """Fig. 5 is two runs; a job of both would leave a processor idle."""
    names = {point.directory for point in grid.points("abe", "fig05", "quick")}
    rules = Counter(
        each.rule for each in batches.batches("abe", "quick") if names & set(each.directories)
    )
    assert len(rules) == len(names) == 2
