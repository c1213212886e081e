"""Python files of strangers: a topology or a workload that did not come with this checkout.

Their code runs in a lab, which is sealed. What has to be known of them before a lab starts, such as
a topology's parameters, is asked of a process in a cage: it may read the file, Python and Mininet,
and may write nothing. It answers in JSON.

Run as a program it is that process: python -m sandglass.experiment.foreign FILE.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandglass.cage import fork, seccomp
from sandglass.cage.cage import LIBRARIES, Cage
from sandglass.errors import SandglassError, UsageError
from sandglass.experiment import python_file
from sandglass.install.builds import ROOT

PATIENCE_S = 60.0
"""A file that has not answered for so long, in real time, is taken to hang."""
OURS = ("topologies", "workloads")
ERRORS: dict[str, type[Exception]] = {"UsageError": UsageError, "ValueError": ValueError}
PIECE = 1 << 16
SAFE_PATH = ["-P"] if sys.version_info >= (3, 11) else []
"""What keeps the current directory, which is /, out of the module search path."""
_kept: dict[tuple[Path, int], "_Process"] | None = None


def ask(question: str, path: Path, *arguments: Any) -> Any:
    """The answer to one of python_file.QUESTIONS; of a file of ours without another process.

    Raises what the question does, and SandglassError when the file does not answer.
    """
    if path.parent in {ROOT / folder for folder in OURS}:
        return python_file.QUESTIONS[question](path, *arguments)
    with kept() as processes:
        known = path, path.stat().st_mtime_ns
        if known not in processes or processes[known].process.poll() is not None:
            processes[known] = _Process(path)
        return processes[known].answer(question, arguments)


@contextlib.contextmanager
def kept() -> Iterator[dict[tuple[Path, int], "_Process"]]:
    """Within it a file is asked by one process, which takes a third of a second to start.

    Hands out those that there are, by file and its time of change. They end with the block.
    """
    global _kept  # noqa: PLW0603
    if _kept is not None:
        yield _kept
        return
    _kept = {}
    try:
        yield _kept
    finally:
        for process in _kept.values():
            process.end()
        _kept = None


class _Process:
    """The process that has loaded a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        base = Path(sys.base_prefix)
        places = [str(place) for place in python_file.python_path()]
        cage = Cage(
            read=(
                *LIBRARIES,
                path,
                Path(sys.prefix),
                Path(sys.executable).resolve(),
                *map(Path, filter(None, [getattr(sys, "_base_executable", None)])),
                *([] if base == Path("/usr") else [base]),
                *(ROOT / folder for folder in ("src", *OURS)),
                *map(Path, places[1:]),
            ),
            listed=(ROOT,),
            program=seccomp.tool_filter(),
        )
        with cage.prepared() as enter, fork.uninterrupted():
            self.process = subprocess.Popen(
                [sys.executable, *SAFE_PATH, "-m", __name__, str(path)],
                env={
                    "PYTHONPATH": str(ROOT / "src"),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "SANDGLASS_PYTHON_PATH": os.pathsep.join(places),
                },
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                preexec_fn=enter,  # noqa: PLW1509  it takes no lock
                close_fds=False,  # the cage has seen to it
            )

    def answer(self, question: str, arguments: tuple[Any, ...]) -> Any:
        """Ask, and wait for the answer."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has died, which the answer will tell
            self.process.stdin.write(json.dumps([question, *arguments]).encode() + b"\n")
            self.process.stdin.flush()
        try:
            told = json.loads(self._line())
            kind, message, hint = told.get("error") or (None, "", None)
            if kind is None:
                return told["answer"]
        except (ValueError, AttributeError, KeyError, TypeError):
            self.end()
            raise SandglassError(f"{self.path} ends the program that reads it") from None
        error = ERRORS.get(kind, UsageError)
        raise error(message, hint) if error is UsageError else error(message)

    def end(self) -> None:
        """End it, and close what was open to it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError, AttributeError):
                stream.close()  # type: ignore[union-attr]

    def _line(self) -> bytes:
        """What it says, to the end of the line."""
        assert self.process.stdout
        said = b""
        while not said.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                self.end()
                raise SandglassError(
                    f"{self.path} has not answered for {PATIENCE_S:.0f} s and was ended",
                    "It may loop for ever when it is imported.",
                )
            piece = os.read(self.process.stdout.fileno(), PIECE)
            if not piece:
                return said
            said += piece
        return said


def main(path: Path) -> None:
    """Answer questions about a file until nobody asks any more."""
    # What the file prints must not come between answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        question, *arguments = json.loads(line)
        try:
            told: dict[str, Any] = {"answer": python_file.QUESTIONS[question](path, *arguments)}
        except UsageError as error:
            told = {"error": ["UsageError", error.message, error.hint]}
        except Exception as error:
            told = {"error": ["ValueError", str(error), None]}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
