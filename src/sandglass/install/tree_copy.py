"""The copy of a kernel's tree in the cache, which has our patches and is built in.

It is kept, and only what is another content than before is written: so make builds what an edit
asks for and no more.

Nothing here needs more than the standard library, as in builds.py.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandglass.install import builds, patching
from sandglass.install.patching import Fit
from sandglass.install.tree import LINK, PROGRAM, Seen, Tree

STATE = "state.json"
CONFIGURED = ".configured"
"""In the copy: what it was configured by. It goes when a Kconfig is written."""
LONGEST = 40
"""Characters of a directory's name in that of its copy."""


def place(tree: Path, debug: bool) -> Path:
    """Where the copy of a tree is kept; the debug lab has one of its own."""
    where = hashlib.sha256(os.fsencode(tree.resolve())).hexdigest()[:8]
    name = "".join(each if each.isalnum() else "-" for each in tree.resolve().name)[:LONGEST]
    return builds.directory() / "trees" / f"{name}-{where}{builds.DEBUG * debug}"


class Copy:
    """A copy, and what is in it."""

    def __init__(self, home: Path, made_with: str) -> None:
        """Of a copy that was made with other tools, as `made_with` says, nothing is used."""
        self.home = home
        self.tree = home / "tree"
        self.made_with = made_with
        self.state: dict[str, Any] = {}
        if (home / STATE).is_file():
            self.state = json.loads((home / STATE).read_text())
        if self.state.get("made_with") != made_with:
            shutil.rmtree(home, ignore_errors=True)
            self.state = {"files": {}, "patched": [], "seen": {}, "fits": []}
        self.tree.mkdir(parents=True, exist_ok=True)

    @property
    def seen(self) -> Seen:
        """What is known of the files of a folder."""
        seen: Seen = self.state["seen"]
        return seen

    def update(
        self, source: Tree, scratch: Path, changed_by_us: dict[str, Callable[[str], str]]
    ) -> list[Fit]:
        """Bring it to what a tree is, with our patches; returns what became of these.

        `changed_by_us` are files that a build changes besides, and how. Whatever kills it, the next
        one knows what it does not know.
        """
        before: dict[str, str] = self.state["files"]
        changed = {
            name
            for name in before.keys() | source.files.keys()
            if before.get(name) != source.files.get(name)
        }
        patches = patching.patches(source.series)
        tried = [path for paths in patches.values() for path in paths]
        digest = builds.fingerprint(tried)
        ours = patching.touched(tried) | changed_by_us.keys() | set(self.state["patched"])
        again = bool(changed & ours) or self.state.get("patches") != digest
        if not changed and not again:
            return self._fits()
        if again:  # of a copy that is killed now they are not known
            changed |= ours
        self._note({name: about for name, about in before.items() if name not in changed}, "", ours)
        for name in changed - ours:
            self._put(self.tree, name, source)
        if again:
            fits = self._patched(source, scratch, ours, changed_by_us)
            self.state["fits"] = [asdict(each) for each in fits]
        self._note(dict(source.files), digest, patching.touched(tried) | changed_by_us.keys())
        return self._fits()

    def _fits(self) -> list[Fit]:
        return [Fit(**each | {"files": tuple(each["files"])}) for each in self.state["fits"]]

    def _patched(
        self,
        source: Tree,
        scratch: Path,
        names: Iterable[str],
        changed_by_us: dict[str, Callable[[str], str]],
    ) -> list[Fit]:
        """Patch files beside the copy, and put there what comes out otherwise."""
        beside = scratch / "patched"
        beside.mkdir()
        for name in names:
            self._put(beside, name, source)
        fits = patching.apply(beside, source.series)
        for name, change in changed_by_us.items():
            if (beside / name).is_file():
                (beside / name).write_text(change((beside / name).read_text()))
        for name in names:
            new, old = beside / name, self.tree / name
            if not new.exists():
                old.unlink(missing_ok=True)
            elif not old.is_file() or new.read_bytes() != old.read_bytes():
                self._forget_configuration(name)
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, old)
        shutil.rmtree(beside)
        return fits

    def _put(self, target: Path, name: str, source: Tree) -> None:
        """Give a file what the tree has; the time of one that changes is now, as make wants it."""
        path, about = target / name, source.files.get(name)
        if target == self.tree:
            self._forget_configuration(name)
        if about is None:
            path.unlink(missing_ok=True)
            return
        mode, content = about.split()[0], source.read(name)
        if mode == LINK:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.symlink_to(os.fsdecode(content))
            return
        if path.is_symlink() or not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        path.chmod(0o755 if mode == PROGRAM else 0o644)

    def _forget_configuration(self, name: str) -> None:
        if name.rpartition("/")[2].startswith("Kconfig"):
            (self.tree / CONFIGURED).unlink(missing_ok=True)

    def _note(self, files: dict[str, str], patches: str, ours: Iterable[str]) -> None:
        self.state |= {
            "made_with": self.made_with,
            "files": files,
            "patches": patches,
            "patched": sorted(ours),
        }
        partial = self.home / f".{STATE}"
        partial.write_text(json.dumps(self.state))
        partial.rename(self.home / STATE)
