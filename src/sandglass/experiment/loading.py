"""What a program of the user's own lacks in the lab: an interpreter, libraries, versions of them.

Libraries are looked for as the lab's loader does (ld.so(8)): DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH,
then the system's directories. Nothing is executed. What a program loads while it runs is not seen.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandglass.experiment.flow import Flow
from sandglass.experiment.own_files import ABOVE, MOST_ABOVE, SCRIPT, File, Own
from sandglass.experiment.problems import Problem
from sandglass.install import builds, elf

PLACE = "/own"
"""What the tree of the user's own files is called here: the lab calls it otherwise."""
HOME = "/".join([PLACE, *[ABOVE] * MOST_ABOVE])
"""Where the experiment's file would lie in it: a path may lead above that."""
MULTIARCH = "x86_64-linux-gnu"
SYSTEM = (f"/lib/{MULTIARCH}", f"/usr/lib/{MULTIARCH}", "/lib", "/usr/lib", "/usr/local/lib")
PROGRAMS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")
LIBRARY_PATH = "LD_LIBRARY_PATH"
MOST_LIBRARIES = 1000
MOST_LINKS = 40


@dataclass(frozen=True)
class Lab:
    """What a program finds in the lab: its root, and the user's own files."""

    root: Path
    own: Mapping[str, File]
    """By their names."""

    def there(self, path: str) -> Path | None:
        """Where on this machine a path of the lab's is."""
        path = posixpath.normpath(path)
        if not path.startswith(f"{PLACE}/"):
            return builds.in_root(self.root, path)
        name = posixpath.relpath(path, HOME)
        for _ in range(MOST_LINKS):
            link = next(
                (
                    file
                    for file in self.own.values()
                    if file.target and f"{name}/".startswith(f"{file.name}/")
                ),
                None,
            )
            if link is None or link.target is None:
                break
            if link.target.startswith("/"):
                return self.there(link.target + name[len(link.name) :])
            led = posixpath.join(posixpath.dirname(link.name), link.target)
            name = posixpath.normpath(led + name[len(link.name) :])
        file = self.own.get(name)
        return file.path if file else None


def problems(flows: Iterable[Flow | None], root: Path) -> Iterator[Problem]:
    """What the programs of flows lack in the lab with this root, by the keys that name them."""
    for index, flow in enumerate(flows):
        if flow is None or not flow.own_files:
            continue
        files = {file.name: file for own in flow.own_files for file in own.files}
        library_path = getattr(flow, "environment", {}).get(LIBRARY_PATH, "")
        for key, argv in flow.command_lines.items():
            if argv and isinstance(argv[0], Own):
                for text in lacks(argv[0], files.values(), library_path, root):
                    yield ("flows", index, key, 0), text
        for text in astray(files.values(), root):
            yield ("flows", index), text


def lacks(own: Own, files: Iterable[File], library_path: str, root: Path) -> Iterator[str]:
    """What is missing for a program to start, each in a sentence with what to do."""
    lab = Lab(root, {file.name: file for file in files})
    path = lab.there(f"{HOME}/{own.name}")
    if path is None:
        return
    with path.open("rb") as opened:
        head = opened.read(256)
    if head.startswith(SCRIPT):
        yield from _of_script(own, head, lab)
        return
    yield from _Loader(own, lab, library_path).lacks(path)


def astray(files: Iterable[File], root: Path) -> Iterator[str]:
    """Links to absolute paths that the lab has not, each in a sentence."""
    for file in files:
        if file.target and file.target.startswith("/") and not builds.is_in_root(root, file.target):
            yield (
                f"{file.name} is a symbolic link to {file.target}, which neither the experiment's "
                "directory nor the lab has: copy that to where the link is"
            )


def _of_script(own: Own, head: bytes, lab: Lab) -> Iterator[str]:
    """The interpreter of a script, or what env(1) is to find."""
    line = head[len(SCRIPT) :].partition(b"\n")[0]
    words = line.decode(errors="replace").split()
    if line.endswith(b"\r"):
        yield f"{own.name} has lines that end as those of Windows: sed -i 's/\\r$//' {own.name}"
        return
    if not words:
        yield f"{own.name} names no interpreter behind its #!: write #!/usr/bin/python3"
        return
    wanted = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if lab.there(words[0]) is None:
        yield _not_there(own, words[0])
    elif (
        posixpath.basename(words[0]) == "env"
        and wanted
        and not any(lab.there(f"{place}/{wanted[0]}") for place in PROGRAMS)
    ):
        yield _not_there(own, wanted[0])


def _not_there(own: Own, name: str) -> str:
    return (
        f"{own.name} asks for {name}, which the lab has not: make a lab that has, "
        "./sandglass lab build --with PACKAGE"
    )


class _Loader:
    """Follows a program's libraries as ld.so does."""

    def __init__(self, own: Own, lab: Lab, library_path: str) -> None:
        self.own, self.lab = own, lab
        self.library_path = [
            posixpath.join(HOME, each) for each in re.split("[:;]", library_path) if library_path
        ]
        self.system = [*SYSTEM, *self._configured()]

    def _configured(self) -> Iterator[str]:
        """The directories of /etc/ld.so.conf.d."""
        place = builds.in_root(self.lab.root, "/etc/ld.so.conf.d")
        for file in sorted(place.glob("*.conf")) if place else ():
            for line in file.read_text(errors="replace").splitlines():
                if line.startswith("/"):
                    yield line.strip()

    def lacks(self, path: Path) -> Iterator[str]:
        """What the program in a file of this machine lacks."""
        program = elf.read(path)
        if program.interpreter and self.lab.there(program.interpreter) is None:
            yield (
                f"{self.own.name} asks for the interpreter {program.interpreter}, which the lab "
                "has not: link the program statically, or build it for Debian's C library"
            )
            return
        where = posixpath.dirname(f"{HOME}/{self.own.name}")
        waiting: list[tuple[str, str, elf.Elf, list[str]]] = [(self.own.name, where, program, [])]
        loaded: dict[str, elf.Elf] = {}
        missing: set[str] = set()
        asked: list[tuple[str, elf.Elf]] = [(self.own.name, program)]
        while waiting and len(loaded) < MOST_LIBRARIES:
            who, origin, found, inherited = waiting.pop(0)
            own_rpath = self._places(found.rpath, origin) if found.runpath is None else []
            rpath = [*own_rpath, *inherited]
            for name in found.needed:
                if name in loaded or name in missing:
                    continue
                places = [*([] if found.runpath else rpath), *self.library_path]
                places += [*self._places(found.runpath, origin), *self.system]
                at = self._at(name, places)
                if at is None:
                    missing.add(name)
                    yield self._is_missing(who, name)
                    continue
                there, library = at
                loaded[name] = library
                if library.soname:
                    loaded[library.soname] = library
                asked.append((name, library))
                waiting.append((name, posixpath.dirname(there), library, rpath))
        for who, found in asked:
            for want in found.wants:
                had = loaded.get(want.library)
                if had and had.defines and want.version not in had.defines:
                    yield self._is_older(who, want, had)
                    return

    def _places(self, path: str | None, origin: str) -> list[str]:
        """The directories of a DT_RPATH or DT_RUNPATH."""
        tokens = {"ORIGIN": origin, "LIB": f"lib/{MULTIARCH}", "PLATFORM": "x86_64"}

        def put(found: re.Match[str]) -> str:
            return tokens[found[1] or found[2]]

        names = "|".join(tokens)
        return [
            posixpath.join(HOME, re.sub(rf"\$(?:({names})\b|\{{({names})\}})", put, each))
            for each in (path or "").split(":")
            if each
        ]

    def _at(self, name: str, places: list[str]) -> tuple[str, elf.Elf] | None:
        """Where the loader finds a library, and it."""
        if "/" in name:
            places = [HOME]
        for place in places:
            there = self.lab.there(path := posixpath.join(place, name))
            if there is None or not there.is_file():
                continue
            try:
                found = elf.read(there)
            except (elf.ElfError, OSError):
                continue
            if found.is_of_the_lab:
                return posixpath.normpath(path), found
        return None

    def _is_missing(self, who: str, name: str) -> str:
        called = posixpath.basename(name)
        brought = [each for each in self.lab.own if posixpath.basename(each) == called]
        if brought:
            folder = posixpath.dirname(brought[0]) or "."
            return (
                f"{who} asks for the library {name}, and does not look where {brought[0]} is: "
                f"write environment: {{{LIBRARY_PATH}: {folder}}}, or link with "
                "-Wl,-rpath,'$ORIGIN'"
            )
        return (
            f"{who} asks for the library {name}, which neither `files` nor the lab has: put it "
            f"beside the program and into `files`, with environment: {{{LIBRARY_PATH}: .}}, or "
            "link it in (-static)"
        )

    def _is_older(self, who: str, want: elf.Needed, had: elf.Elf) -> str:
        family = want.version.rpartition("_")[0]
        known = [each for each in had.defines if re.fullmatch(rf"{re.escape(family)}_[\d.]+", each)]
        newest = max(known, key=lambda each: [*map(int, re.findall(r"\d+", each))], default=None)
        has = f", which has up to {newest}" if newest else ""
        return (
            f"{who} asks for {want.version} of {want.library}, newer than the lab's{has}: build "
            "it on Debian 12, or link it statically"
        )
