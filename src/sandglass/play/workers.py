"""The workers of a server: a process or two that are warm, and what is asked of them.

A job that nobody wants any more is ended with its lab. A worker that does not answer to that is
killed, with which its lab dies, and another one takes its place.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from sandglass.experiment.foreign import SAFE_PATH
from sandglass.install import builds

MOST_WORKERS = 2
"""So many experiments run at once: two settings side by side."""
PATIENCE_S = 5.0
"""How long a worker may take to end a job."""
LONGEST_LINE = 1 << 30
LAST = (b"done ", b"refused ", b"ended ")
ENDED = b"ended null\n"
LOST = b'refused "the process that ran it has died: the terminal may say why"\n'


class Job:
    """Something asked of a worker, and what it answers, line by line."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.wanted = True
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._worker: _Worker | None = None

    def drop(self) -> None:
        """Say that nobody wants it any more."""
        if self.wanted:
            self.wanted = False
            self._answers.put_nowait(ENDED)
            if self._worker:
                self._worker.interrupt()

    async def lines(self) -> AsyncIterator[bytes]:
        """What is answered, up to the last line; of one that was dropped, that it has ended."""
        while True:
            line = await self._answers.get()
            yield line
            if line.startswith(LAST):
                return

    async def done_by(self, worker: "_Worker") -> None:
        """Have a worker do it."""
        if not self.wanted:
            return
        self._worker = worker
        try:
            async for line in worker.answers(self.asked):
                if self.wanted:
                    self._answers.put_nowait(line)
        finally:
            self._worker = None


class Workers:
    """What jobs are given to."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._idle: list[_Worker] = []
        self._places = asyncio.Semaphore(min(MOST_WORKERS, len(os.sched_getaffinity(0))))
        self._tasks: set[asyncio.Task[None]] = set()
        self._all: set[_Worker] = set()
        self._number = 0

    async def warm(self) -> None:
        """Start a worker before anybody waits for it."""
        self._idle.append(await self._started())

    def begin(self, asked: dict[str, Any]) -> Job:
        """Have a job done by the next worker that is free."""
        self._number += 1
        job = Job({**asked, "out": str(self._scratch / str(self._number))})
        task = asyncio.create_task(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    async def close(self) -> None:
        """End all jobs and workers."""
        for worker in self._all:
            worker.interrupt()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._all))

    async def _do(self, job: Job) -> None:
        async with self._places:
            if not job.wanted:
                return
            worker = self._idle.pop() if self._idle else await self._started()
            await job.done_by(worker)
            if worker.alive:
                self._idle.append(worker)
            else:
                self._all.discard(worker)

    async def _started(self) -> "_Worker":
        worker = await _Worker.started()
        self._all.add(worker)
        return worker


class _Worker:
    """A process of worker.py."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._at_work = False
        self._deadline: asyncio.TimerHandle | None = None

    @classmethod
    async def started(cls) -> "_Worker":
        """A new one, once it is ready."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *SAFE_PATH,
            "-m",
            "sandglass.play.worker",
            env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
            stdin=PIPE,
            stdout=PIPE,
            stderr=None,
            limit=LONGEST_LINE,
            start_new_session=True,  # an interrupt at the terminal is for the server
        )
        assert process.stdout
        await process.stdout.readline()
        return cls(process)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def answers(self, asked: dict[str, Any]) -> AsyncIterator[bytes]:
        """The lines of a job, to the last one."""
        assert self._process.stdin
        assert self._process.stdout
        self._at_work = True
        try:
            with self._writable():
                self._process.stdin.write(json.dumps(asked).encode() + b"\n")
                await self._process.stdin.drain()
            while line := await self._process.stdout.readline():
                yield line
                if line.startswith(LAST):
                    return
            await self._process.wait()
            yield LOST
        finally:
            self._at_work = False
            if self._deadline:
                self._deadline.cancel()
                self._deadline = None

    def interrupt(self) -> None:
        """End the job that it is at; kill it when it does not."""
        if self._at_work and self.alive and self._deadline is None:
            self._process.send_signal(signal.SIGINT)
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(PATIENCE_S, self._kill)

    async def end(self) -> None:
        """End it."""
        if self.alive and self._process.stdin:
            self._process.stdin.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), PATIENCE_S)
        self._kill()
        await self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            yield
