"""Runs to look at, and a browser to look with."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandglass.results import document
from sandglass.results.view import page
from tests.conftest import one_at_a_time
from tests.lab.experiments import Run, bulk, dumbbell, flow, run
from tests.view.browser import PROGRAM, Browser

CODEL = {"kind": "codel", "ecn": True}
TWO = dumbbell(
    bulk(cc="cubic", ecn=True),
    bulk("s2", "d2", cc="reno", start="1s", duration="2s"),
    flow("ping", "s2", "d2", interval="500ms"),
    queue=CODEL,
    pairs=2,
    duration="6s",
)
"""Marks of one flow, drops of the other."""
OTHER = TWO | {"title": "other", "bottleneck": {"rate": "10mbit", "queue": {"kind": "pie"}}}
BARE = dumbbell(bulk(cc="reno", size="100kB"), queue=CODEL, duration="2s", record=[], repeat=3)
COUNTED = TWO | {"record": ["queues", "goodput"]}
CROWD = dumbbell(
    bulk(cc="cubic", count=8, size="50kB"), bulk(cc="reno", count=2, size="50kB"), queue=CODEL
) | {"duration": "2s"}
LATE = dumbbell(
    bulk(cc="reno", start="1s", duration="1s"),
    queue={"kind": "pfifo", "limit": "20"},
    duration="3s",
)
"""Nothing meets the queue in the first second and in the last."""
CHANGING = dumbbell(
    flow("udp", "s1", "d1", rate="30mbit"),
    flow("udp", "d1", "s1", rate="8mbit"),
    queue={"kind": "pfifo", "limit": "20"},
    rate={"trace": "cellular", "start": "random"},
    reverse={"rate": "5mbit"},
    schedule=[{"at": "1003ms", "reverse": {"rate": "2mbit"}}],
    duration="2s",
)
"""Both directions of a link whose capacity changes are always full."""
TELLING = dumbbell(
    flow("command", argv=["sh", "-c", "echo n=3; sleep 1; echo n=-1.5; sleep 9"],
         series={"mine": {"pattern": r"n=(?P<n>\S+)"}}),
    queue=CODEL,
    duration="2s",
)  # fmt: skip
"""Nothing is sent, and something told."""
Open = Callable[..., Browser]


@pytest.fixture(scope="session")
def run_of(shared: Path) -> Callable[[str], Run]:
    """Runs one of the experiments above, once for all tests."""
    experiments: dict[str, Any] = {
        "two": TWO,
        "other": OTHER,
        "bare": BARE,
        "counted": COUNTED,
        "crowd": CROWD,
        "late": LATE,
        "changing": CHANGING,
        "telling": TELLING,
    }

    def of(name: str) -> Run:
        home = shared / f"view-{name}"
        home.mkdir(exist_ok=True)
        with one_at_a_time(home / "lock"):
            if not (made := home / name).exists():
                run(experiments[name], home).path.rename(made)
        return Run(made, document.read(made))

    return of


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all tests of a process."""
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"Debian's package {PROGRAM} is not here")
    with Browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, run_of: Callable[[str], Run], tmp_path: Path) -> Open:
    """The page of some of the runs above, open, 1400 pixels wide unless told otherwise."""

    def open_page(*names: str, width: int = 1400, height: int = 900) -> Browser:
        browser.size(width, height, touch=width < 500)
        browser.open(page.view([run_of(name).path for name in names], tmp_path / "view.html"))
        browser.settle()
        return browser

    return open_page
