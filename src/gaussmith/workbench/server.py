"""The server of the workbench: on this machine only, with a key in the address that it prints."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gaussmith.engines.addresses import scheme_of, without_secrets
from gaussmith.errors import RequestError
from gaussmith.requests.request import Request
from gaussmith.workbench.app import PageRoutes
from gaussmith.workbench.bench import Bench, Reach
from gaussmith.workbench.drafts import Ask, Draft
from gaussmith.workbench.filling import fill, read_reasons
from gaussmith.workbench.tokens import new_token, same_token

# Who may ask the server for anything: this machine, this browser, this page. Everything else is refused here.
#
# In this order: a Host of this machine · a known method · the key, as a cookie · not too often · for a POST the
# Origin of this page · a small form, never a file. Only requests with the cookie are counted: no other can lock its
# owner out. Every answer carries the headers that keep other pages and the network out.

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY = 256 * 1024
"""Limit on the bytes of a form."""

BODY_SECONDS = 10.0
"""Limit on the time that a form takes to arrive."""

BURST, PER_SECOND = 150, 50.0
"""How many requests may come at once, and how many in a second after that."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    # Not no-referrer, with which browsers send "Origin: null" with the forms of this page itself. It goes nowhere else.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

TEXTS = {
    403: "The workbench opens only with the address that it printed. Copy all of it from the terminal.",
    405: "The workbench has no such action.",
    413: "A form of the workbench is small. Nothing was read.",
    415: "The workbench takes plain forms and no files. Data is named by its path.",
    421: "The workbench answers only to the address of this machine.",
    429: "Too many requests at once. Wait a second, and try again.",
    408: "The form did not arrive in time.",
}


class Gate:
    """The door of an application; `key` is the word in the address that is printed."""

    def __init__(self, app: Callable[..., Awaitable[None]], key: str, hosts: Iterable[str], port: int) -> None:
        self._app, self._key, self._hosts = app, key, frozenset(hosts)
        self._cookie_name, self._cookie = f"gaussmith-{port}", new_token()
        self._left, self._last = float(BURST), time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refuses(scope, headers)
        if refused is not None:
            await _answer(send, refused)
            return
        if (given := self._given_key(scope)) is not None:
            await (self._let_in(send) if same_token(given, self._key) else _answer(send, 403))
            return
        if not self._has_cookie(headers):
            await _answer(send, 403)
            return
        if self._is_too_often():
            await _answer(send, 429)
            return
        if scope["method"] == "POST":
            refused = self._refuses_form(headers)
            body = b"" if refused is not None else await _read_body(receive)
            if refused is not None or isinstance(body, int):
                await _answer(send, refused if refused is not None else int(body))
                return
            receive = _replay(body)
        await self._app(scope, receive, _with_headers(send))

    def _is_too_often(self) -> bool:
        now = time.monotonic()
        self._left = min(float(BURST), self._left + (now - self._last) * PER_SECOND)
        self._last = now
        if self._left < 1:
            return True
        self._left -= 1
        return False

    def _refuses(self, scope: Scope, headers: dict[str, str]) -> int | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or headers.get("host", "").lower() not in self._hosts:
            return 421
        return None if scope["method"] in ("GET", "HEAD", "POST") else 405

    def _given_key(self, scope: Scope) -> str | None:
        """The key in the address, where there is one."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")[:2000], max_num_fields=20).get("token")
        return given[0] if given else None

    async def _let_in(self, send: Send) -> None:
        """The key becomes a cookie, and leaves the address."""
        cookie = f"{self._cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, {"location": "/", "set-cookie": cookie})

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(name == self._cookie_name and same_token(value, self._cookie) for name, _, value in parts)

    def _refuses_form(self, headers: dict[str, str]) -> int | None:
        """A form comes from this page, is small, and holds no file."""
        if headers.get("origin", "").lower() not in {f"http://{host}" for host in self._hosts}:
            return 403
        if headers["origin"].lower() != f"http://{headers['host'].lower()}":
            return 403
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return 415
        length = headers.get("content-length")
        if length is not None and (not length.isdigit() or int(length) > MAX_BODY):
            return 413
        return None


async def _read_body(receive: Receive) -> bytes | int:
    """The form, or the status that it is refused with: it stops being read where it becomes too long."""
    body: bytes = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 408
                body += message.get("body", b"")
                if len(body) > MAX_BODY:
                    return 413
                if not message.get("more_body"):
                    return body
    except TimeoutError:
        return 408


def _replay(body: bytes) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            extra = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in own]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return sending


async def _answer(send: Send, status: int, headers: dict[str, str] | None = None) -> None:
    """A short answer in plain text."""
    body = (TEXTS.get(status, "") + "\n").encode()
    told = {**HEADERS, "content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **(headers or {})}
    if status == 429:
        told["retry-after"] = "1"
    if status >= 400:
        told["connection"] = "close"
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [(name.encode(), value.encode()) for name, value in told.items()]})
    await send({"type": "http.response.body", "body": body})


HEADER_SECONDS = 5.0
"""Limit on the time in which a connection says what it asks for."""

MAX_SILENT = 100
"""Limit on the connections that have not said it yet: of more, the oldest is closed."""


def open_bench(
    opened: str | None,
    ledger: str | None,
    folder: Path,
    engine: str | None = None,
    master: str | None = None,
    row_per_row: bool = False,
) -> tuple[Bench, Draft]:
    """The bench of a source or a request file, and the draft it begins with.

    `row_per_row` promises that each row of a query or a view depends on the rows of one person only.
    """
    if opened is not None and opened.endswith(".toml"):
        draft, named = _from_file(Path(opened))
    elif opened is not None:
        named = opened if scheme_of(opened) else os.path.abspath(os.path.expanduser(opened))
        draft = Draft(asks=(Ask(),), promises="row_per_row" if row_per_row else "")
    else:
        named, draft = None, Draft(asks=(Ask(),))
    reach = Reach(folder, named)
    if named is not None:
        draft = replace(draft, source=reach.shown(named))
    bench = Bench(reach, ledger, engine, master)
    unit = bench.unit()  # refuses a ledger that is not there, before anything is shown
    if unit and (opened is None or not opened.endswith(".toml")):
        draft = replace(draft, unit=unit)
    return bench, draft


def _from_file(file: Path) -> tuple[Draft, str]:
    source = Request.from_toml(file).source  # refuses in words what is wrong with the file
    path = str(source["path"] if isinstance(source, dict) else source)
    named = path if scheme_of(path) else os.path.abspath(path)
    text = file.read_text(encoding="utf-8-sig")
    return fill(tomllib.loads(text), read_reasons(text)), named


def make_app(bench: Bench, draft: Draft, key: str, port: int, read_only: bool = False) -> Gate:
    """The application behind its door."""
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    return Gate(PageRoutes(bench, draft, read_only).app(), key, hosts, port)


def listen(port: int) -> socket.socket:
    """A socket on this machine only; 0 takes a free port."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except (OSError, OverflowError):
        found.close()
        rule, remedy = "it cannot be opened on this machine", "choose another, or 0 for a free one"
        raise RequestError(f"port={port}", rule, remedy, code="port-not-free", port=port) from None
    found.listen(64)
    return found


class Connection(H11Protocol):
    """A connection that is closed where it stays silent, so that many of them cannot lock the owner out."""

    silent: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # the headers of a request are not complete
            self._wait()
        else:
            self._end_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self in self.silent or self.transport.is_closing():
            return
        if len(self.silent) >= MAX_SILENT:
            next(iter(self.silent))._close()
        self.silent[self] = self.loop.call_later(HEADER_SECONDS, self._close)

    def _end_wait(self) -> None:
        if (timer := self.silent.pop(self, None)) is not None:
            timer.cancel()

    def _close(self) -> None:
        self._end_wait()
        self.transport.close()


def make_server(app: Gate) -> uvicorn.Server:
    """The server of an application, without a limit on all connections: strangers could use it up."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", ws="none", loop="asyncio", http=Connection,
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve(bench: Bench, draft: Draft, port: int, read_only: bool, say: Any) -> None:
    """Serve until it is stopped; `say` is told the address once the server listens."""
    sock = listen(port)
    port, key = sock.getsockname()[1], new_token()
    app = make_app(bench, draft, key, port, read_only)
    server = make_server(app)
    say(f"http://127.0.0.1:{port}/?token={key}")
    gc.freeze()  # what is loaded by now is no garbage: looking for it takes 0.05 s, every dozen plans
    server.run(sockets=[sock])


def shown_source(bench: Bench) -> str:
    """What was opened, for the terminal."""
    return "nothing yet" if bench.reach.named is None else without_secrets(bench.reach.named)
