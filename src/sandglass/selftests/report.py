"""What is told of the tests: TAP 14, a file of JSON, a table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from sandglass.selftests import tap
from sandglass.selftests.known import Known, Standing
from sandglass.selftests.running import TAIL, Result

FORMAT = 1
"""Of the file of JSON: it changes when a reader of the last one would be misled."""


COLUMNS = (
    *("target", "tests", "passed", "skipped", "known to fail", "failed", "cases passed"),
    *("virtual s", "real s", "runs differ"),
)


@dataclass(frozen=True)
class Told:
    """A result, and how it stands to the list."""

    result: Result
    standing: Standing
    listed: str
    """Why, as the list has it."""
    mended: list[str]
    """Cases that the list has, and that pass."""

    @property
    def failed(self) -> bool:
        """Whether the whole has failed for it."""
        return self.standing == "unknown" or not self.result.repeats


def told(result: Result, known: Known) -> Told:
    """A result beside the list."""
    entry = known.entry(result.test)
    return Told(
        result,
        known.standing(result),
        entry.why if entry and entry.verdict != "slow" else "",
        known.mended_cases(result),
    )


def head(count: int, about: Mapping[str, str]) -> Iterator[str]:
    """How the TAP begins."""
    yield "TAP version 14"
    yield from (f"# {key}: {value}" for key, value in about.items())
    yield f"1..{count}"


def points(number: int, each: Told) -> Iterator[str]:
    """The lines of TAP for one test."""
    result = each.result
    name = str(result.test)
    yield from tap.subtest(name, result.cases)
    ok = result.verdict != "fail" and result.repeats
    line = tap.point(number, name, ok)
    if not result.repeats:
        yield line
    elif result.verdict == "skip":
        yield f"{line} # SKIP {tap.escaped(each.listed or result.why)}"
    elif each.standing == "known":
        yield f"{line} # TODO {tap.escaped(each.listed)}"
    elif each.standing == "mended":
        yield f"{line} # TODO it passes, though the list says: {tap.escaped(each.listed)}"
    else:
        yield line
    yield from tap.diagnosis(dict(_diagnosis(each)))


def _diagnosis(each: Told) -> Iterator[tuple[str, str]]:
    result = each.result
    yield "virtual_s", f"{result.virtual_s:.6f}"
    yield "digest", result.digest
    if not result.repeats:
        yield "differs", " ".join(result.others)
    if each.mended:
        yield "passes_though_listed", ", ".join(each.mended)
    if result.verdict == "fail":
        yield "why", result.why
        if each.failed:
            yield "said", "\n".join(result.said.splitlines()[-TAIL:]) + "\n"


def as_json(about: Mapping[str, str], found: Iterable[Told]) -> dict[str, Any]:
    """All that is known of the tests, for other programs."""
    return {
        "format": FORMAT,
        "about": dict(about),
        "tests": [
            {
                "target": each.result.test.target.name,
                "test": each.result.test.name,
                "verdict": each.result.verdict,
                "why": each.result.why,
                "standing": each.standing,
                "listed": each.listed,
                "repeats": each.result.repeats,
                "digests": [each.result.digest, *each.result.others],
                "virtual_s": each.result.virtual_s,
                "real_s": round(each.result.real_s, 3),
                "cases": [vars(case) for case in each.result.cases],
                "said": each.result.said,
            }
            for each in found
        ],
    }


def table(found: list[Told]) -> Table:
    """How many of each target passed, and how long they took."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in COLUMNS:
        shown.add_column(heading, no_wrap=True)
    for name in dict.fromkeys(each.result.test.target.name for each in found):
        own = [each for each in found if each.result.test.target.name == name]
        cases = [case for each in own for case in each.result.cases]
        verdicts = [each.result.verdict for each in own]
        shown.add_row(
            name,
            str(len(own)),
            str(verdicts.count("pass")),
            str(verdicts.count("skip")),
            str(sum(each.result.verdict == "fail" and not each.failed for each in own)),
            str(sum(each.failed for each in own)),
            f"{sum(case.verdict == 'pass' for case in cases)} of {len(cases)}",
            f"{sum(each.result.virtual_s for each in own):.0f}",
            f"{sum(each.result.real_s for each in own):.0f}",
            str(sum(not each.result.repeats for each in own)),
        )
    return shown


def remarks(found: list[Told]) -> Iterator[str]:
    """What somebody should look at: failures, tests that do not repeat, a list that is too long."""
    for each in found:
        name = str(each.result.test)
        if not each.result.repeats:
            yield f"{name}: its runs differ"
        if each.standing == "unknown":
            yield f"{name} fails: {each.result.why.splitlines()[0]}"
        if each.standing == "mended":
            yield f"{name} passes, though the list of known failures has it"
        elif each.mended:
            yield f"{name}: {', '.join(each.mended)} pass, though the list has them"
