"""Archives that want out of their folder, made by chance from a good one, and canaries around."""

import io
import json
import os
import random
import stat
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

Seen = dict[str, tuple[object, ...]]
READ_NS = 1
"""When canaries were last read: before they were changed, so that to read one changes that."""


@dataclass(frozen=True)
class Entry:
    """A member of an archive, as its header has it."""

    name: str
    kind: bytes = tarfile.REGTYPE
    content: bytes = b""
    target: str = ""
    mode: int = 0o644
    mtime_s: int = 1_700_000_000
    claimed: int | None = None
    """Bytes that the header says the content has, if they are others than it has."""
    form: Literal[0, 1, 2] = tarfile.PAX_FORMAT


def packed(entries: list[Entry]) -> bytes:
    """The tar archive of these members, whatever they are."""
    archive = b""
    for entry in entries:
        header = tarfile.TarInfo(entry.name)
        header.type, header.linkname, header.mode = entry.kind, entry.target, entry.mode
        header.mtime, header.uid, header.gid = entry.mtime_s, 12345, 54321
        header.size = len(entry.content) if entry.claimed is None else entry.claimed
        archive += header.tobuf(entry.form)
        archive += entry.content + bytes(-len(entry.content) % 512)
    return archive + bytes(1024)


def entries(archive: bytes) -> list[Entry]:
    """The members of a good archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return [
            Entry(
                member.name,
                member.type,
                content.read() if (content := tar.extractfile(member)) else b"",
                member.linkname,
                member.mode,
            )
            if not member.issym()
            else Entry(member.name, member.type, target=member.linkname)
            for member in tar
        ]


class Hostile:
    """Changes for the worse, drawn from a seed."""

    def __init__(self, seed: int, canaries: Path) -> None:
        self.draw = random.Random(seed)
        self.outside = canaries

    def changed(self, good: list[Entry]) -> list[Entry]:
        """An archive's members, with one to three changes."""
        found = list(good)
        kinds: list[Callable[[list[Entry]], None]] = [
            self.link_and_member,
            self.hard_link,
            self.lead_out,
            self.mode,
            self.device,
            self.size,
            self.order,
            self.claim,
            self.replaced_by_link,
            self.planted,
            self.header,
        ]
        for change in self.draw.sample(kinds, self.draw.randint(1, 3)):
            change(found)
        forms: list[Literal[0, 1, 2]] = [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]
        form = self.draw.choice(forms)
        return [replace(each, form=form) for each in found]

    def _where(self, found: list[Entry]) -> int:
        return self.draw.randrange(len(found) + 1)

    def _canary(self) -> str:
        inner = self.draw.choice(["", "file", "folder", "folder/inner", "absent"])
        path = str(self.outside / inner)
        return path if self.draw.random() < 0.7 else "../" * 12 + path.lstrip("/")

    def _place(self, found: list[Entry]) -> str:
        name = self.draw.choice(found).name
        return self.draw.choice([name, name + "-new", name.rpartition("/")[0] + "/new"])

    def link_and_member(self, found: list[Entry]) -> None:
        """A link, and a member of its name or through it."""
        place, at = self._place(found), self._where(found)
        kind = self.draw.choice([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE])
        inner = self.draw.choice(["", "", "/file", "/new", "/folder/inner"])
        second = Entry(place + inner, kind, mode=0o4777, target="file", mtime_s=1)
        found[at:at] = [Entry(place, tarfile.SYMTYPE, target=self._canary()), second]

    def hard_link(self, found: list[Entry]) -> None:
        place, target = self._place(found), self._canary()
        link = Entry(place, tarfile.LNKTYPE, target=target, mode=0o4777)
        found[self._where(found) :] = [link, Entry(place, content=b"through it")]

    def lead_out(self, found: list[Entry]) -> None:
        """A name that is none in a folder."""
        at = self.draw.randrange(len(found))
        names = [self._canary(), "..", ".", "", "/", "a//b", "kernels/../../x", "a\0b", "x" * 300]
        names += ["d/" * 60 + "x", f"roots/{self._canary()}", "\x1b[2Jx", "\udcff\udcfe"]
        found[at] = replace(found[at], name=self.draw.choice(names))

    def mode(self, found: list[Entry]) -> None:
        for at in range(len(found)):
            found[at] = replace(found[at], mode=self.draw.choice([0o7777, 0o4755, 0, 0o1222]))

    def device(self, found: list[Entry]) -> None:
        kinds = [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE]
        kinds += [tarfile.CONTTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE, b"Z"]
        found.insert(self._where(found), Entry(self._place(found), self.draw.choice(kinds)))

    def size(self, found: list[Entry]) -> None:
        at = self.draw.randrange(len(found))
        claimed = self.draw.choice([-1, 1, 1 << 40, (1 << 63), 512, 0])
        mtime_s = self.draw.choice([-1, 0, 1 << 62, 1])
        found[at] = replace(found[at], claimed=claimed, mtime_s=mtime_s)

    def order(self, found: list[Entry]) -> None:
        self.draw.shuffle(found)
        found.append(self.draw.choice(found))

    def claim(self, found: list[Entry]) -> None:
        """A lab.json, build.json or list of checksums that says something else."""
        at = self.draw.choice([i for i, each in enumerate(found) if each.content])
        said = found[at].content
        try:
            about = json.loads(said)
        except ValueError:
            about = {"id": "x"}
        if isinstance(about, dict) and about:
            key = self.draw.choice(sorted(about))
            lies = [
                self._canary(),
                "..",
                ".",
                "",
                7,
                None,
                [],
                {},
                "tree",
                "x/y",
                "[/b]",
                "\x1b[2J",
            ]
            about[key] = self.draw.choice(lies)
            said = json.dumps(about).encode()
        said = self.draw.choice([said, said, b"[" * 100_000, b"\xff", b"{}", b"[]", b""])
        found[at] = replace(found[at], content=said)

    def replaced_by_link(self, found: list[Entry]) -> None:
        """A member that is a link to a canary instead."""
        at = self.draw.randrange(len(found))
        found[at] = Entry(found[at].name, tarfile.SYMTYPE, target=self._canary())

    def planted(self, found: list[Entry]) -> None:
        """What nobody asked for, at places that are trusted."""
        folder = self.draw.choice(found).name.rpartition("/")[0]
        name = self.draw.choice(["imported", "tree/Makefile", "parts/x/init", "lab.json", "../x"])
        kinds = [
            Entry(f"{folder}/{name}", content=b"planted"),
            Entry(f"{folder}/{name}", tarfile.SYMTYPE, target=self._canary()),
            Entry("roots", tarfile.SYMTYPE, target=self._canary()),
            Entry("kernels", tarfile.SYMTYPE, target=self._canary()),
        ]
        found.insert(self._where(found), self.draw.choice(kinds))

    def header(self, found: list[Entry]) -> None:
        """A PAX header of somebody else's, large or wrong."""
        texts = [
            b"9 path=\n",
            b"0 path=x\n",
            b"99999 path=x\n",
            b"path",
            b"11 size=-1\n",
            b"x" * 9000,
        ]
        path = b"path=" + os.fsencode(self._canary()) + b"\n"
        texts += [
            b"x" * 9000,
            b"%d %s" % (len(path) + 3, path),
            b"30 GNU.sparse.realsize=99999999\n",
        ]
        found.insert(
            self._where(found), Entry("pax", tarfile.XHDTYPE, content=self.draw.choice(texts))
        )


def put_canaries(home: Path) -> Path:
    """What nobody may touch: files of several kinds."""
    (home / "folder").mkdir(parents=True)
    (home / "file").write_text('{"id": "a canary"}')
    (home / "folder" / "inner").write_text("another")
    (home / "file").chmod(0o640)
    (home / "folder" / "inner").chmod(0o4711)
    (home / "link").symlink_to("file")
    os.mkfifo(home / "pipe")
    for path in (home / "file", home / "folder" / "inner"):
        os.utime(path, ns=(READ_NS, 10**18 + 1))
    return home


def seen(home: Path, but: tuple[str, ...] = ()) -> Seen:
    """All that lies below a directory: kinds, modes, owners, times, links and content.

    Looking changes none of it. What begins with one of `but` is left out, and so is when the
    directories that hold these were changed.
    """
    found: Seen = {}
    for path in sorted([home, *home.rglob("*")]):
        name = str(path.relative_to(home))
        if name.startswith(but) and but:
            continue
        status = path.lstat()
        said: list[object] = [status.st_mode, status.st_uid, status.st_gid, status.st_ino]
        if stat.S_ISREG(status.st_mode):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOATIME)
            with open(descriptor, "rb") as file:  # noqa: PTH123 a descriptor
                said += [status.st_nlink, status.st_mtime_ns, status.st_atime_ns == READ_NS]
                said.append(file.read())
        elif stat.S_ISLNK(status.st_mode):
            said += [status.st_mtime_ns, str(path.readlink())]
        elif not any(each.startswith(name) or name == "." for each in but):
            said.append(status.st_mtime_ns)
        found[name] = tuple(said)
    return found
