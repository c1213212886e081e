"""What a work's processes tell of it: a line of JSON each, in one file that all append to.

Snakemake tells of its jobs by the plugin snakemake_logger_plugin_sandglass. A job that is many
parts tells of each itself.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sandglass.words import Words

PLACE = "SANDGLASS_EVENTS"
"""The variable that names the file."""


class What(Words):
    """What has come to pass."""

    PLANNED = "planned"
    BEGAN = "began"
    ENDED = "ended"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True)
class Event:
    """One thing that has come to pass."""

    what: What
    id: str = ""
    """Of the job or part; the same from BEGAN on."""
    name: str = ""
    """For people."""
    rule: str = ""
    """What kind of step it is: Snakemake's rule."""
    job: str = ""
    """Of a part: the rule of the job that it is of."""
    jobs: dict[str, int] = field(default_factory=dict)
    """PLANNED: how many jobs of each rule there will be."""
    logs: list[str] = field(default_factory=list)
    """FAILED: where it says why; relative to the work's folder, as Snakemake's paths are."""


def tell(event: Event) -> None:
    """Append an event, if somebody wants to know.

    In one write, so that the lines of several processes stay whole. The file is not made: where it
    is not, on a node of a cluster, nobody reads it.
    """
    if place := os.environ.get(PLACE):
        with suppress(OSError):
            file = os.open(place, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(file, (json.dumps(asdict(event)) + "\n").encode())
            finally:
                os.close(file)


class Reader:
    """Reads what has been told since it was asked last."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._offset = 0

    def new(self) -> Iterator[Event]:
        """The new events. A line that is still being written waits for the next time."""
        with self._place.open("rb") as file:
            file.seek(self._offset)
            told = file.read()
        whole = told[: told.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            found = json.loads(line)
            yield Event(**found | {"what": What(found["what"])})
