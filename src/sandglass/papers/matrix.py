"""The papers' sentences in each of their set-ups, as a page of the documentation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sandglass.papers import across, rulings, shelf, variants
from sandglass.papers.across import PRINTED, RECORD, SetUp
from sandglass.papers.coverage import cell
from sandglass.papers.rulings import Ruling

HEAD = """# The papers in other set-ups

A variant of a paper changes its set-up as a whole ([how](../docs/pipeline.md#variants)), and each
sentence of the source is judged in it as it is as printed. What a variant gains stands beside what
it loses. Only what the paper profile gave is a cause of anything. Made from
`pipelines/PAPER/reference/`.
"""


def page() -> str:
    """The page in Markdown, of all our papers that have variants with a reference."""
    return "\n".join([HEAD, *(line for name in shelf.ours() for line in _section(name))])


def _section(paper: str) -> Iterator[str]:
    found = across.set_ups(paper)
    if len(found) < 2:
        return
    judged = across.judged(found)
    about = shelf.paper(paper)
    yield f"## {about.head.title}"
    yield ""
    for name, own in found.items():
        said = shelf.paper(name).otherwise
        if said:
            yield f"**`{name}`**, {_profile(own)}:"
            yield ""
            yield from (f"- {cell(each)}" for each in said.told)
            yield ""
    yield from _counts(found, judged)
    yield from _matrix(found, judged)


def _profile(own: SetUp) -> str:
    proves = "" if own.profile == RECORD else " alone, which proves nothing"
    return f"of the profile {own.profile}{proves}"


def _head(name: str, own: SetUp) -> str:
    variant = name.partition(variants.AT)[2]
    small = "" if own.profile == RECORD else f" ({own.profile})"
    return f"{variant or PRINTED}{small}"


def _counts(found: Mapping[str, SetUp], judged: Mapping[str, Sequence[Ruling]]) -> Iterator[str]:
    """A row for each set-up: sentences by their words, gained and lost; claims that hold."""
    words = rulings.WORDS[:-1]
    heads = ("set-up", *words, "gained", "lost", "claims that hold", "as printed, of the same")
    yield f"| {' | '.join(heads)} |"
    yield "|---|" + "---:|" * (len(heads) - 1)
    plain = next(iter(judged))
    for name, own in judged.items():
        counts = rulings.counts(own)
        row = [counts.get(word, 0) for word in words]
        gains, losses = gained(judged[plain], own)
        same = {each.quote for each in own if each.judged}
        before = "" if name == plain else _held(e for e in judged[plain] if e.quote in same)
        compared = ["", ""] if name == plain else [len(gains), len(losses)]
        told = [_head(name, found[name]), *row, *compared, _held(own), before]
        yield f"| {' | '.join(map(str, told))} |"
    yield ""


def _held(found: Iterable[Ruling]) -> str:
    """How many claims hold, of how many that are judged."""
    own = list(found)
    return f"{sum(each.agree for each in own)} of {sum(len(each.judged) for each in own)}"


def gained(printed: Sequence[Ruling], own: Sequence[Ruling]) -> tuple[list[str], list[str]]:
    """The sentences that agree in a variant and not as printed; and those that it loses.

    What is not judged or not decided in one of the two is neither.
    """
    words = {each.quote: each.verdict for each in printed}
    both = [(words[e.quote], e.verdict, e.quote) for e in own if e.quote in words]
    known = [each for each in both if not {"not judged", "not decided"} & {*each[:2]}]
    gains = [quote for was, now, quote in known if now == "agrees" != was]
    losses = [quote for was, now, quote in known if was == "agrees" != now]
    return gains, losses


def _matrix(found: Mapping[str, SetUp], judged: Mapping[str, Sequence[Ruling]]) -> Iterator[str]:
    """A row for each sentence, those first of which a set-up says otherwise than another."""
    heads = " | ".join(_head(name, own) for name, own in found.items())
    yield f"| sentence | {heads} | cause as printed |"
    yield "|---|" + "---|" * (len(found) + 1)
    plain, *others = judged.values()
    by_quote = [{each.quote: each for each in own} for own in others]
    rows = []
    for each in plain:
        beside = [own[each.quote] for own in by_quote if each.quote in own]
        apart = len({one.verdict for one in [each, *beside]} - {"not judged"}) > 1
        told = [
            _told(each),
            *(_told(own[each.quote]) if each.quote in own else PRINTED for own in by_quote),
        ]
        rows.append((not apart, f"| {cell(each.quote)} | {' | '.join(told)} | {each.cause} |"))
    yield from (line for _, line in sorted(rows, key=lambda row: row[0]))
    yield ""


def _told(ruling: Ruling) -> str:
    if ruling.verdict == "not judged":
        return ruling.verdict
    word = f"**{ruling.verdict}**" if ruling.verdict == "agrees" else ruling.verdict
    return f"{word}, {ruling.agree} of {len(ruling.judged)}"
