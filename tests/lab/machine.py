"""A machine of one's own: runs commands of Sandglass as root on the lab's kernel in real time.

Usage, as the lab's one program: python3 machine.py DIRECTORY

machine.json in the directory: {"cache", "python", "steps"}, the host's cache and the Python in it,
and a list of steps:

    {"run": WORDS}                         run Sandglass to its end
    {"run": WORDS, "kill": [NAME, ...],    kill, when its network is there, the processes so called:
     "with": SIGNAL}                       "sandglass", "keeper", "agent"; then wait for all
    {"run": WORDS, "beside": WORDS}        run another one before the first has come to its end
    {"obey": True}                         run the commands that the last step's output ends with

steps.json gets an entry for each: {"status", "out", "machine": what the machine is afterwards}, and
"beside": {"status", "out"}.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MS_RDONLY = 1  # <linux/mount.h>
CACHE = "/run/sandglass/cache"
CODE = Path("/run/sandglass/code")
LAST_S = 300.0
RECORDER = Path("/proc/recorder/control")
CALLED = {
    "sandglass": ["-P", "-m", "sandglass"],
    "keeper": ["-SBsE", str(CODE / "src" / "sandglass" / "run" / "keeper.py")],
    "agent": ["-SBsE", str(CODE / "src" / "sandglass" / "agent")],
}
"""What Python is given first in each."""
_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int = 0, options: str | None = None) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    data = options.encode() if options else None
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def processes(called: list[str]) -> list[int]:
    """Processes whose command line goes on with these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if words[1 : 1 + len(called)] == called:
                found.append(int(entry.name))
    return found


def watched() -> bool:
    """Whether the recorder has been told which queues to watch."""
    try:
        return "watch" in RECORDER.read_text()
    except OSError:  # it is not loaded, or goes
        return False


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def state() -> dict[str, Any]:
    """What a run must leave as it was."""
    modules = Path("/proc/modules").read_text().splitlines()
    return {
        "modules": sorted(line.split()[0] for line in modules),
        "links": said("ip", "-oneline", "link", "show"),
        "namespaces": said("ip", "netns", "list"),
        "allowed": Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(),
        "run": sorted(path.name for path in Path("/run").iterdir()),
        "mounts": Path("/proc/mounts").read_text(),
        "processes": [name for name, called in CALLED.items() if processes(called)],
    }


class Machine:
    def __init__(self, directory: Path, wanted: dict[str, Any]) -> None:
        self.directory = directory
        python = Path(CACHE) / wanted["python"]
        self.command = [str(python), "-P", "-m", "sandglass"]
        self.environment = os.environ | {
            "PYTHONPATH": str(CODE / "src"),
            "SANDGLASS_CACHE": CACHE,
        }

    def start(self, words: list[str], log: str) -> subprocess.Popen[bytes]:
        with (self.directory / log).open("wb") as out:
            return subprocess.Popen(
                [*self.command, *words],
                cwd=self.directory,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def begun(self) -> None:
        """Wait until a run has the machine, which is long before its network is there.

        That may be gone again, on a busy machine, before somebody has looked.
        """
        deadline = time.monotonic() + LAST_S
        while not processes(CALLED["keeper"]) and time.monotonic() < deadline:
            time.sleep(0.1)

    def at_work(self) -> None:
        """Wait until a network is there, and the recorder watches its queues."""
        deadline = time.monotonic() + LAST_S
        while not watched() and time.monotonic() < deadline:
            time.sleep(0.1)

    def quiet(self) -> None:
        """Wait until nothing of Sandglass runs."""
        deadline = time.monotonic() + LAST_S
        while any(map(processes, CALLED.values())) and time.monotonic() < deadline:
            time.sleep(0.1)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        if "obey" in step:
            text = (self.directory / "step.log").read_text().partition("Put it back:\n")[2]
            command = ["sh", "-e"]
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            return {
                "status": done.returncode,
                "out": done.stdout + done.stderr,
                "machine": state(),
            }
        result: dict[str, Any] = {}
        process = self.start(step["run"], "step.log")
        if "kill" in step:
            self.at_work()
            # the innermost first: who is left sees it die
            for name in step["kill"]:
                os.kill(processes(CALLED[name])[0], step["with"])
        if "beside" in step:
            self.begun()
            process.send_signal(signal.SIGSTOP)  # its agent goes on
            other = self.start(step["beside"], "beside.log")
            status = other.wait()
            process.send_signal(signal.SIGCONT)
            result["beside"] = {
                "status": status,
                "out": (self.directory / "beside.log").read_text(),
            }
        result["status"] = process.wait()
        self.quiet()
        result["out"] = (self.directory / "step.log").read_text()
        result["machine"] = state()
        return result


def main(directory: Path) -> None:
    wanted = json.loads((directory / "machine.json").read_text())
    mount("none", CACHE, "hostfs", MS_RDONLY, wanted["cache"])
    machine = Machine(directory, wanted)
    done = [{"machine": state()}]
    for step in wanted["steps"]:
        done.append(machine.step(step))
        (directory / "steps.json").write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
