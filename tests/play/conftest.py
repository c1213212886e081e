"""A server of `play` as a user starts it, and a browser that has its page open."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sandglass.install import builds
from tests.lab.experiments import bulk, dumbbell, flow, written
from tests.view.browser import Browser
from tests.view.conftest import browser as browser  # noqa: PLC0414 a fixture of these tests too

QUICK = dumbbell(
    bulk(cc="cubic", ecn=True),
    flow("ping", "s2", "d2", interval="100ms"),
    queue={"kind": "codel", "ecn": True},
    pairs=2,
    duration="2s",
)
JSON = {"Content-Type": "application/json"}
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Server:
    """One that answers."""

    process: "subprocess.Popen[str]"
    address: str

    @property
    def place(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def path(self) -> str:
        return urlsplit(self.address).path

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """What it answers to a request with these headers alone, and Host and Content-Length."""
        connection = http.client.HTTPConnection(self.place, timeout=300)
        given = {"Host": self.place} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, text in given.items():
            connection.putheader(name, text)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def post(self, what: str, message: Any) -> Answer:
        """What it answers to its own page; `message` is bytes, or becomes JSON."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        own = {"Origin": f"http://{self.place}", "Content_Type": "application/json"}
        return self.ask("POST", f"{self.path}{what}", body, **own)

    def run(self, settings: list[str], **more: Any) -> dict[str, Any]:
        """The lines of a run by their kinds, the last one of each."""
        status, _, body = self.post("run", message(settings, **more))
        assert status == 200, body
        pairs = (line.partition(" ")[::2] for line in body.decode().splitlines())
        return {kind: json.loads(told) for kind, told in pairs}

    def children(self) -> list[str]:
        """The command lines of all processes below it."""
        found, waiting = [], [self.process.pid]
        while waiting:
            for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
                with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                    for pid in task.read_text().split():
                        waiting.append(int(pid))
                        line = Path(f"/proc/{pid}/cmdline").read_bytes()
                        found.append(line.replace(b"\0", b" ").decode(errors="replace"))
        return found


def message(settings: list[str], **more: Any) -> dict[str, Any]:
    """What a page sends."""
    return {"file": "file", "settings": settings, "page": "0123456789", "side": "a"} | more


@contextmanager
def serving(*words: str | Path, cwd: Path) -> Iterator[Server]:
    """A server, until it is interrupted, which it ends well at."""
    own = {"PYTHONPATH": str(builds.ROOT / "src"), "TMPDIR": str(cwd)}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "sandglass", "play", "--no-open", *map(str, words)],
        cwd=cwd,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        said = process.stdout.readline()
        assert said.startswith("play: http://127.0.0.1:"), said
        yield Server(process, said.split()[1])
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stdout.read() == "End it with Ctrl-C.\nended\n"


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of two seconds, in a directory of its own."""
    home = tmp_path_factory.mktemp("play")
    return written(QUICK, home / "quick.yaml")


@pytest.fixture(scope="session")
def server(quick: Path) -> Iterator[Server]:
    """One of that experiment, for all tests of a process."""
    with serving(quick.name, cwd=quick.parent) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, server: Server) -> Callable[..., Browser]:
    """The page, open at a state, once its first run is drawn."""

    def open_page(state: str = "#open=file", width: int = 1400, height: int = 900) -> Browser:
        browser.size(width, height, touch=width < 500)
        browser.call("Page.navigate", url="about:blank")
        browser.events.clear()
        browser.call("Page.navigate", url=server.address + state)
        browser.until("document.readyState === 'complete'")
        arrived(browser, 1)
        return browser

    return open_page


def arrived(browser: Browser, turns: int) -> None:
    """Wait until so many runs are drawn since the page was opened, and it has come to rest."""
    browser.until(f"latencies.length >= {turns} && !under.a && !under.b")
    browser.settle()


def set_knob(
    browser: Browser, key: str, value: str, kind: str = "input[type=text], select"
) -> None:
    """Give a knob's field or choice a value, as who types it does."""
    place = f"[data-key='{key}'] :is({kind})"
    browser.run(
        f"(k => {{ k.value = {json.dumps(value)}; k.dispatchEvent(new Event('change')); }})"
        f'(document.querySelector("{place}"))'
    )


def complaints(browser: Browser, server: Server) -> list[str]:
    """Errors and warnings, and requests to anywhere but the server; downloads are of the page."""
    own = (server.address, f"blob:http://{server.place}/", "data:,")
    return [said for said in browser.complaints() if not said.startswith(own)]
