"""The server of `play`: it hands out a page, and runs what the page asks for.

The page names a file by a word, never by a path, and settings as `--set` takes them. Each page has
one run of each side at a time: a later one takes the place of that before.
"""

import asyncio
import contextlib
import json
import re
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sandglass.play import client, gallery
from sandglass.play.guard import Guard
from sandglass.play.workers import Job, Workers

LOOPBACK = "127.0.0.1"
LARGEST_MESSAGE = 64 * 1024
MOST_SETTINGS, LONGEST_SETTING = 100, 600
PAGE = re.compile(r"[a-z0-9]{8,40}")
SIDES = ("a", "b", "c")
BUSY = 32
"""So many connections at once are answered."""
LINES = "application/x-ndjson"


class MalformedError(ValueError):
    """A message that no page of ours sends."""


@dataclass(frozen=True)
class Asked:
    """A message of a page."""

    file: Path
    settings: list[str]
    page: str
    side: str


def read(body: bytes, files: Mapping[str, Path]) -> Asked:
    """A message; raises MalformedError for what is none, or names no file that was handed over."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedError("this is no JSON") from None
    if not isinstance(said, dict) or said.keys() != {"file", "settings", "page", "side"}:
        raise MalformedError("write file, settings, page and side")
    file, settings, page, side = (said[key] for key in ("file", "settings", "page", "side"))
    if not isinstance(file, str) or file not in files:
        raise MalformedError("file: there is no such one here")
    if not isinstance(settings, list) or len(settings) > MOST_SETTINGS:
        raise MalformedError("settings: write a list of texts")
    for text in settings:
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST_SETTING:
            raise MalformedError("settings: write a list of texts")
        if not text.isprintable():
            raise MalformedError("settings: a text has a character that is none")
    if not isinstance(page, str) or not PAGE.fullmatch(page):
        raise MalformedError("page: write a word")
    if side not in SIDES:
        raise MalformedError("side: write a, b or c")
    return Asked(files[file], settings, page, side)


class Play:
    """What the server answers with."""

    def __init__(self, file: Path | None, scratch: Path) -> None:
        self._cards = gallery.cards()
        self._files = {card.name: card.file for card in self._cards}
        if file is not None:
            self._files["file"] = file
        self._own = file
        self._scratch = scratch
        self._workers: Workers | None = None
        self._jobs: dict[tuple[str, str], Job] = {}

    def app(self) -> Starlette:
        """As ASGI has it."""
        page = client.page(self._cards, self._own)
        script, sheet = client.script(), client.sheet()
        routes = [
            Route("/", self._text(page, "text/html")),
            Route("/play.js", self._text(script, "text/javascript")),
            Route("/play.css", self._text(sheet, "text/css")),
            Route("/open", self._answered("open"), methods=["POST"]),
            Route("/write", self._answered("write"), methods=["POST"]),
            Route("/run", self._run, methods=["POST"]),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._workers = Workers(self._scratch)
        await self._workers.warm()
        try:
            yield
        finally:
            await self._workers.close()

    @staticmethod
    def _text(text: str, kind: str) -> Callable[[Request], Response]:
        return lambda _: Response(text, media_type=f"{kind}; charset=utf-8")

    async def _asked(self, request: Request) -> Asked:
        """The message of a request."""
        if request.headers.get("content-type") != "application/json":
            raise MalformedError("send JSON")
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_MESSAGE:
                raise MalformedError("this is too long")
        return read(body, self._files)

    def _answered(self, what: str) -> Callable[[Request], Any]:
        """Answers with what a job comes to."""

        async def answer(request: Request) -> Response:
            try:
                asked = await self._asked(request)
            except MalformedError as error:
                return PlainTextResponse(f"{error}\n", 400)
            job = self._begin(what, asked)
            try:
                *_, last = [line async for line in job.lines()]
            finally:
                job.drop()
            kind, _, told = last.partition(b" ")
            if kind == b"done":
                return Response(told, media_type="application/json")
            return JSONResponse({"refused": json.loads(told)}, 422)

        return answer

    async def _run(self, request: Request) -> Response:
        """Answers with the lines of a run, as they come; whoever goes away ends it."""
        try:
            asked = await self._asked(request)
        except MalformedError as error:
            return PlainTextResponse(f"{error}\n", 400)
        key = asked.page, asked.side

        async def lines() -> AsyncIterator[bytes]:
            if before := self._jobs.get(key):
                before.drop()
            job = self._jobs[key] = self._begin("run", asked)
            try:
                async for line in job.lines():
                    yield line
            finally:
                job.drop()
                if self._jobs.get(key) is job:
                    del self._jobs[key]

        return StreamingResponse(lines(), media_type=LINES)

    def _begin(self, what: str, asked: Asked) -> Job:
        assert self._workers
        return self._workers.begin(
            {"do": what, "file": str(asked.file), "settings": asked.settings}
        )


def serve(file: Path | None, port: int, opened: Callable[[str, Path], None]) -> None:
    """Serve a file, or the gallery, until an interrupt.

    `opened` is told the page's address once it is there, and a directory that goes with the server.

    Raises OSError where the port is another's.
    """
    token = secrets.token_urlsafe(24)
    with (
        tempfile.TemporaryDirectory(prefix="sandglass-play-") as scratch,
        socket.create_server((LOOPBACK, port)) as listening,
    ):
        port = listening.getsockname()[1]
        hosts = [f"{LOOPBACK}:{port}", f"localhost:{port}"]
        app = Guard(Play(file, Path(scratch)).app(), token, hosts)
        asyncio.run(
            _serve(app, listening, lambda: opened(f"http://{hosts[0]}/{token}/", Path(scratch)))
        )


async def _serve(app: Guard, listening: socket.socket, ready: Callable[[], None]) -> None:
    config = uvicorn.Config(
        app,
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http="h11",
        loop="asyncio",
        limit_concurrency=BUSY,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.02)
    if server.started:
        ready()
    await serving
