"""Papers' results out of a bundle that comes from elsewhere: nothing of it is run."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from sandglass.errors import SandglassError
from sandglass.install import archive
from sandglass.install.archive import ArchiveError, Member
from sandglass.papers.bundle.reproduce import LINE, SUMS

MOST = 1 << 30
"""Bytes of the tables together: so much may lie in memory."""
KINDS = (".csv", ".json")


@contextmanager
def results(bundle: Path, papers: Collection[str]) -> Iterator[Path]:
    """A folder with PAPER/FIGURE.csv and PAPER/FIGURE.json of a bundle, while the block lasts.

    Raises SandglassError where the bundle is damaged, has no such paper, or has a file that its
    checksums do not name.
    """

    def wanted(member: Member) -> bool:
        _, *place = member.parts
        return place == [SUMS] or _of_a_figure(place, papers)

    try:
        with bundle.open("rb") as file:
            found = archive.files(file, wanted, MOST)
        found = {tuple(parts[1:]): content for parts, content in found.items()}
        listed = _sums(found.pop((SUMS,), b""))
        for parts, content in found.items():
            if listed.get("/".join(parts)) != sha256(content).hexdigest():
                raise ArchiveError(f"{'/'.join(parts)!r} is not as {SUMS} has it")
    except ArchiveError as error:
        raise SandglassError(f"{bundle} is no bundle, or damaged: {error.message}") from error
    for paper in papers:
        if not any(parts[1] == paper for parts in found):
            raise SandglassError(f"{bundle} has no results of {paper}")
    with TemporaryDirectory(prefix="sandglass-") as folder:
        for (_, paper, name), content in found.items():
            place = Path(folder, paper, name)
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content)
        yield Path(folder)


def _of_a_figure(place: list[str], papers: Collection[str]) -> bool:
    return (
        len(place) == 3
        and place[0] == "results"
        and place[1] in papers
        and place[2].endswith(KINDS)
    )


def _sums(text: bytes) -> dict[str, str]:
    """The checksums of files, by their places."""
    lines = map(LINE.fullmatch, text.decode(errors="replace").splitlines())
    return {line[2]: line[1] for line in lines if line}
