"""D-ITG's receiver on a host, started and asked as flent's control server is (flent 2.1.1).

That control server (misc/ditg-control-server.py in flent's documentation) wants an ITGRecv with a
patch that Debian's lacks. Two of its calls are answered here, over XML-RPC as there.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from sandglass.agent import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROL_PORT = 8000  # flent's --ditg-control-port
FIRST_PORT = 9000
STARTS_S = 0.1  # until ITGRecv listens, as flent's control server takes it
PROGRAMS = ("ITGSend", "ITGRecv", "ITGDec")


class Receivers:
    """The receivers of a host: one for each test that flent asks for."""

    def __init__(self, host: str, address: str, directory: str) -> None:
        self._host, self._address, self._directory = host, address, directory
        self._running: list[tuple[subprocess.Popen[bytes], int]] = []

    def request_new_test(
        self, seconds: int, interval_ms: int, signature: str, raw: bool
    ) -> dict[str, Any]:
        """Start a receiver; its number is the test's. Who asks is the experiment's own flent."""
        number = len(self._running)
        port = FIRST_PORT + 2 * number  # the one after it is for the data
        command = ["ITGRecv", "-l", self._log(number), "-a", self._address, "-Sp", str(port)]
        with kernel.namespace(self._host):
            receiver = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        self._running.append((receiver, interval_ms))
        time.sleep(STARTS_S)
        return {"status": "OK", "test_id": str(number), "port": port}

    def get_test_results(self, test: str) -> dict[str, Any]:
        """What the receiver has logged, evaluated by ITGDec.

        Lines of bit rate, delay, jitter and loss, whose times count from `utc_offset`, and a line
        for each packet.
        """
        receiver, interval_ms = self._running[int(test)]
        receiver.terminate()  # flent's sender has ended
        receiver.wait()
        log = self._log(int(test))
        values, packets = f"{log}.dat", f"{log}.txt"
        command = ["ITGDec", log, "-c", str(interval_ms), values, "-l", packets]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self._directory
        )
        if done.returncode or not os.path.getsize(values):
            said = (done.stderr or done.stdout).strip() or "no packet has come"
            return {"status": "Error", "message": said}
        with open(values) as file, open(packets) as lines:
            data, raw = file.read(), lines.read()
        first = raw.partition("rxTime>")[2].partition("Size>")[0]
        return {"status": "OK", "data": data, "raw": raw, "utc_offset": today(first, time.time())}

    def stop(self) -> None:
        """End those that still run."""
        for receiver, _ in self._running:
            receiver.terminate()
            receiver.wait()

    def _log(self, number: int) -> str:
        return os.path.join(self._directory, f"{number}.log")


def today(clock: str, now_s: float) -> float:
    """The time, in seconds since 1970, at which a clock on the day of `now_s` showed 13:37:59.5."""
    hours, minutes, seconds = map(float, clock.split(":"))
    return now_s // 86400 * 86400 + 3600 * hours + 60 * minutes + seconds


@contextlib.contextmanager
def receiving(host: str, address: str) -> Iterator[None]:
    """A host answers flent's calls."""
    from xmlrpc.server import SimpleXMLRPCServer  # and with it half of the library

    with tempfile.TemporaryDirectory() as directory:
        receivers = Receivers(host, address, directory)
        with kernel.namespace(host):
            server = SimpleXMLRPCServer((address, CONTROL_PORT), logRequests=False)
        server.register_instance(receivers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            receivers.stop()
