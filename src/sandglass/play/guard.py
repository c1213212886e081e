"""Who may ask the server: the page that it has handed out, on this machine, and nobody else.

A request has the token as the first part of its path, which no other site and no other user knows.
Its Host is the loopback address by which the page was opened: a name that a stranger has lead here
is none (DNS rebinding). What changes anything comes from the page's own origin.
"""

import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    [
        "default-src 'none'",
        *("script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src data:"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Of each answer: nothing from elsewhere, nothing to elsewhere, the token least of all."""
SAFE = ("GET", "HEAD")


class Guard:
    """Lets requests through to an application, without the token in their path."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if reason := self._refused(scope):
            await PlainTextResponse(f"{reason}\n", 403)(scope, receive, sealed)
            return
        path = scope["path"].removeprefix(f"/{self._token}")
        await self._app({**scope, "path": path, "root_path": ""}, receive, sealed)

    def _refused(self, scope: Scope) -> str | None:
        """Why a request is not answered; None: it is."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "this server is not of that host"
        if any(origin not in self._origins for origin in origins):
            return "this server answers its own page alone"
        if scope["method"] not in SAFE and len(origins) != 1:
            return "this server answers its own page alone"
        token = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return "the address is without its token: open the one that was printed"
        return None
