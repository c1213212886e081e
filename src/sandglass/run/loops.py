"""Rings of switches, in which frames go round for ever: where a lab's network has one.

A switch sends a frame for all out of every other port. Where links form a ring, copies of it come
back, and are sent again: a broadcast storm. It takes all of the lab's work, and no virtual time at
all where links have no delay.
"""

import contextlib
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from sandglass.terminal import complain

LINKS = "links"
"""A file in a program's directory: a line for each link between switches, with the names of its two
ends, such as s1-eth2 s2-eth1 (agent/script.py)."""
BEAT = "beat"
"""Another: the lab's time in seconds, when it was last looked at."""
LINK = re.compile(r"^([\w.-]+) ([\w.-]+)$", re.M)
MOST_READ = 1 << 20
LOOK_S = 30.0
"""How often, in real time, the lab's time is compared with it."""
ADVICE = """\
Frames for all go round in it for ever, unless the switches find a spanning tree, or a controller
has rules for that: `mn --switch ovsbr,stp=1`, in a script OVSBridge and stp=True. It takes 30 s."""


def ring(links: list[tuple[str, str]]) -> list[str]:
    """The links that form a ring, each by the names of its ends; empty where none do.

    Of several rings it is that which the first links close.
    """
    tree: dict[str, list[tuple[str, str]]] = {}
    """Links so far, by each of their switches: the other one, and the link."""
    for one, other in links:
        link, (here, there) = f"{one} - {other}", map(_switch, (one, other))
        if (way := _ways(tree, here).get(there)) is not None:
            return [*way, link]
        tree.setdefault(here, []).append((there, link))
        tree.setdefault(there, []).append((here, link))
    return []


def _ways(tree: dict[str, list[tuple[str, str]]], start: str) -> dict[str, list[str]]:
    """The links on the way to each switch that can be reached."""
    ways: dict[str, list[str]] = {start: []}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for there, link in tree.get(here, ()):
            if there not in ways:
                ways[there] = [*ways[here], link]
                waiting.append(there)
    return ways


def _switch(end: str) -> str:
    return end.rpartition("-")[0]


def hint(directory: Path) -> str | None:
    """What to say of a lab that is slow or silent; None where its switches form no ring."""
    lines = LINK.findall(_told(directory / LINKS))
    found = ring(lines)
    return f"These links form a ring of switches: {', '.join(found)}.\n{ADVICE}" if found else None


@contextlib.contextmanager
def watched(directory: Path) -> Iterator[None]:
    """Within it a lab that all but stands still is told of, once, if its switches form a ring."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(directory, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(directory: Path, over: threading.Event) -> None:
    before = 0.0
    while not over.wait(LOOK_S):
        now = _time(directory)
        if now - before < LOOK_S and (said := hint(directory)):
            complain(
                f"only {now - before:.1f} s have passed in the lab within {LOOK_S:.0f} s", said
            )
            return
        before = now


def _time(directory: Path) -> float:
    said = re.fullmatch(r"\d+\.\d+\n", _told(directory / BEAT))
    return float(said[0]) if said else 0.0


def _told(path: Path) -> str:
    """What a file of the lab's holds; empty for what is none, such as a link that leads away."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, errors="replace") as file:
        return file.read(MOST_READ) if stat.S_ISREG(os.fstat(descriptor).st_mode) else ""
