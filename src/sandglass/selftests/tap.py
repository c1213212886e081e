"""What tests say, read, and written as TAP 14 (testanything.org)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "fail", "skip"]

PLAN = re.compile(r"^1\.\.(\d+)", re.M)
SKIPPED_WHOLE = re.compile(r"^1\.\.0 *# *SKIP\w* *(.*)$", re.M | re.I)
LINE = re.compile(
    r"(?:(?P<not>not )(?=ok \d)|^)ok\b *(?P<number>\d+)? *(?:- )?"
    r"(?P<name>.*?)(?: # *(?P<more>.*))?$",
    re.M,
)
"""A failure may stand behind words of an error that end without a line's end."""
DIRECTIVE = re.compile(r"(?:SKIP|XFAIL|TODO)\w*\b *(.*)", re.I)
"""Behind a case's name: it was not tried, or was meant to fail."""
BRACKETED = re.compile(
    r"^[ \t]*(?:TESTS?: *)?(?P<name>\S.*?):?[ \t]*\[ *(?P<word>OK|PASS|FAIL|SKIP|XFAIL) *\]\s*$",
    re.M | re.I,
)
"""How the scripts of net/ tell, such as `TEST: ping local   [ OK ]`."""
SKIPS = re.compile(r"^.*\bSKIP(?:PING|PED)?\b[]:]* *(.*)$", re.M | re.I)


@dataclass(frozen=True)
class Case:
    """A part of a test that has a verdict of its own."""

    name: str
    verdict: Verdict
    why: str = ""


def cases(said: str) -> list[Case]:
    """The cases that a test tells of: by KTAP, or a line in brackets each."""
    found = list(_ktap(said)) if PLAN.search(said) else []
    return found or list(_bracketed(said))


def _ktap(said: str) -> Iterator[Case]:
    for line in LINE.finditer(said):
        verdict: Verdict = "fail" if line["not"] else "pass"
        directive = DIRECTIVE.match(line["more"] or "")
        if directive:
            verdict = "skip"
        name = line["name"].strip() or line["number"] or ""
        yield Case(name, verdict, directive[1].strip() if directive else "")


def _bracketed(said: str) -> Iterator[Case]:
    verdicts: dict[str, Verdict] = {
        "OK": "pass", "PASS": "pass", "FAIL": "fail", "SKIP": "skip", "XFAIL": "skip",
    }  # fmt: skip
    for line in BRACKETED.finditer(said):
        yield Case(line["name"], verdicts[line["word"].upper()])


def is_ktap(said: str) -> bool:
    """Whether a test tells by KTAP, in which a case that fails is a failure of the test."""
    return PLAN.search(said) is not None


def why_skipped(said: str) -> str:
    """What a test says of why it was skipped."""
    if whole := SKIPPED_WHOLE.search(said):
        return whole[1].strip()
    if line := SKIPS.search(said):
        return line[1].strip() or line[0].strip()
    lines = said.strip().splitlines()
    return lines[-1].strip() if lines else "it does not say why"


def subtest(name: str, found: Iterable[Case]) -> Iterator[str]:
    """The lines for the cases of a test, as a subtest of TAP 14; none where there are no cases."""
    there = list(found)
    if not there:
        return
    yield f"# Subtest: {escaped(name)}"
    yield f"    1..{len(there)}"
    for number, case in enumerate(there, 1):
        line = f"    {point(number, case.name, case.verdict != 'fail')}"
        yield f"{line} # SKIP {escaped(case.why)}".rstrip() if case.verdict == "skip" else line


def point(number: int, name: str, ok: bool) -> str:
    """A test point without a directive."""
    return f"{'ok' if ok else 'not ok'} {number} - {escaped(name)}".rstrip(" -")


def escaped(text: str) -> str:
    """A text in which no character begins a directive."""
    return " ".join(text.replace("\\", "\\\\").replace("#", "\\#").split())


def diagnosis(entries: dict[str, str]) -> Iterator[str]:
    """The block of YAML behind a test point; a text of several lines stands as it is."""
    yield "  ---"
    for key, value in entries.items():
        if "\n" in value:
            yield f"  {key}: |"
            yield from (f"    {line}".rstrip() for line in value.splitlines())
        else:
            yield f"  {key}: {_quoted(value)}"
    yield "  ..."


def _quoted(value: str) -> str:
    plain = re.fullmatch(r"[\w.][\w .,/()-]*", value)
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
