"""The program tc: one process for many lines, in a network namespace."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import tty
from collections import deque
from typing import Any

from sandglass.agent import kernel, programs
from sandglass.agent.failure import RunError

UNKNOWN_QDISC = r"\[Unknown qdisc, optlen=\d+\]"
NO_PLUGIN = r'Unknown qdisc "(\w+)"'
SHOW = "qdisc show"
LAST_WORDS = 5  # lines of tc's; before them may stand a warning for each repetition


class Tc:
    """A running `tc -batch` in a network namespace: a line to it costs no new process.

    Its warnings go to the console.
    """

    def __init__(self, where: str | None) -> None:
        self.where = where
        self._lines: list[str] = []
        self._said: deque[str] = deque(maxlen=LAST_WORDS)
        # A terminal: to a pipe it would print only when it ends.
        output, its_output = os.openpty()
        tty.setraw(its_output)
        try:
            with kernel.namespace(where):
                self.process = subprocess.Popen(
                    ["tc", "-j", "-s", "-d", "-batch", "-"],
                    stdin=subprocess.PIPE,
                    stdout=its_output,
                    stderr=subprocess.PIPE,
                    text=True,
                )
        except FileNotFoundError:
            os.close(output)
            raise RunError("tc is not installed", programs.INSTALL) from None
        finally:
            os.close(its_output)
        self._output = os.fdopen(output)
        # A thread, and no file in memory: that would draw a random number.
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def write(self, lines: list[str]) -> None:
        """Give it lines to carry out, of which none is to print anything."""
        assert self.process.stdin
        self._lines += lines
        with contextlib.suppress(BrokenPipeError):  # why it has ended, the others say
            self.process.stdin.write("".join(f"{line}\n" for line in lines))
            self.process.stdin.flush()

    def check(self) -> None:
        """See that tc is content so far, which is when it has not ended.

        Raises:
            RunError: with the line that failed and tc's own words.
        """
        if self.process.poll() is not None:
            raise self._refused()

    def qdiscs(self) -> list[dict[str, Any]]:
        """The qdiscs of the namespace once all lines are carried out, as `tc -j -s -d` has them.

        Also those of kinds that are newer than this tc, which says so in plain words in the middle
        of its JSON.

        Raises:
            RunError: with the line that failed and tc's own words.
        """
        self.write([SHOW])
        printed = ""
        with contextlib.suppress(OSError):  # the end of a terminal
            for line in self._output:
                printed += line
                with contextlib.suppress(json.JSONDecodeError):
                    shown: list[dict[str, Any]] = json.loads(re.sub(UNKNOWN_QDISC, "", printed))
                    return shown
        raise self._refused()

    def close(self) -> None:
        """Wait until it has carried out all lines, and end it.

        Raises:
            RunError: with the line that failed and tc's own words.
        """
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait()
        self._output.close()
        self._listener.join()
        if status or any(said.startswith("Error") for said in self._said):
            raise self._refused()

    def _listen(self) -> None:
        """Take whatever tc says: at a full pipe it would wait for us. Each once on the console."""
        assert self.process.stderr
        told = set()
        for said in self.process.stderr:
            self._said.append(said)
            if said not in told:
                sys.stderr.write(said)
                told.add(said)

    def _refused(self) -> RunError:
        self._listener.join()
        place = f" on {self.where}" if self.where else ""
        failed = ""
        for said in self._said:
            if found := re.match(r"Command failed -:(\d+)", said):
                failed = f": tc {self._lines[int(found[1]) - 1]}"
        words = [said.strip() for said in self._said if not said.startswith("Command failed")]
        hint = ""
        if unknown := next(filter(None, (re.search(NO_PLUGIN, word) for word in words)), None):
            hint = (
                f"tc has no plugin for the options of {unknown[1]}. A qdisc of yours brings it, "
                f"kmods/sch_{unknown[1]}/q_{unknown[1]}.c (docs/kmods.md), or takes no options."
            )
        return RunError(f"tc refused{place}{failed}: {'; '.join(words)}", hint)


def carry_out(lines: list[str], where: str | None = None) -> None:
    """Give tc lines in one process.

    Raises:
        RunError: with the line that failed and tc's own words.
    """
    tc = Tc(where)
    tc.write(lines)
    tc.close()
