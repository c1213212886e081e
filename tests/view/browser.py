"""Chromium without a screen, driven by the DevTools protocol over two pipes."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typing_extensions import Self

PROGRAM = "chromium"
"""Debian's package of it has the same name."""
HANGS_S = 60.0
KEYS = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """A page in a browser of its own; `with` ends it."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 900) -> None:
        program = shutil.which(PROGRAM)
        assert program is not None
        told, self._tell = os.pipe()
        self._hear, said = os.pipe()
        words = (
            *("--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run"),
            *("--disable-gpu", "--hide-scrollbars", "--disable-background-networking"),
            *("--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank"),
        )
        # It reads and writes the ends that have the numbers 3 and 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{told} 4>&{said}', "bash", program, *words],
            pass_fds=(told, said),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(told)
        os.close(said)
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._tell)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._hear)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a method of the protocol answers; what comes meanwhile is kept in `events`."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._tell, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._next()
            if heard.get("id") == number:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']}")
                result: dict[str, Any] = heard["result"]
                return result
            self.events.append(heard)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not (part := os.read(self._hear, 1 << 20)):
                raise RuntimeError("the browser has ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        heard: dict[str, Any] = json.loads(message)
        return heard

    def size(self, width: int, height: int, *, touch: bool = False) -> None:
        """Make the page so many CSS pixels large."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch},
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def open(self, page: Path) -> None:
        """Open a file and wait until its first panel has been read."""
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.until("document.querySelector('canvas[aria-label*=\"mean of\"]') !== null")

    def run(self, script: str) -> Any:
        """What an expression of JavaScript comes to; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until an expression is true; fails when that takes as long as a hang would."""
        end = time.monotonic() + HANGS_S
        while not self.run(condition):
            assert time.monotonic() < end, f"never: {condition}; {self.complaints()}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until the page has drawn and read what is in view."""
        self.until("!frameAsked && !settling && [...near].every(p => p.loaded && !dirty.has(p))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event: mouseMoved, mousePressed, mouseReleased or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press and release a key, by its name in JavaScript."""
        more: dict[str, Any] = {"text": key} if len(key) == 1 else {}
        if code := KEYS.get(key):  # what the browser itself acts by, as at a slider
            more |= {"code": key, "windowsVirtualKeyCode": code}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers, **more)

    def picture(self, out: Path, *, whole: bool = False) -> None:
        """Write a PNG of the screen, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        out.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Errors and warnings since the page was opened, and requests but that for the page."""
        told: dict[str, Callable[[Any], str | None]] = {
            "Runtime.exceptionThrown": lambda said: str(said["exceptionDetails"]),
            "Runtime.consoleAPICalled": lambda said: f"{said['type']}: {said['args']}",
            "Log.entryAdded": lambda said: f"{said['entry']['level']}: {said['entry']['text']}",
            "Network.requestWillBeSent": lambda said: (
                None if said["type"] == "Document" else said["request"]["url"]
            ),
        }
        found = (
            told[event["method"]](event["params"])
            for event in self.events
            if event.get("method") in told
        )
        return [complaint for complaint in found if complaint]
