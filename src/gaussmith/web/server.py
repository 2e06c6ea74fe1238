"""The server of the workbench: on this machine only, with a key in the address that it prints."""

from __future__ import annotations

import gc
import os
import socket
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from gaussmith.engines.addresses import scheme_of, without_secrets
from gaussmith.errors import RequestError
from gaussmith.requests.request import Request
from gaussmith.web.app import Pages
from gaussmith.web.bench import Bench
from gaussmith.web.drafts import Ask, Draft
from gaussmith.web.filling import fill, read_reasons
from gaussmith.web.gate import Gate
from gaussmith.web.sources import Reach
from gaussmith.web.tokens import new_token


def open_bench(
    opened: str | None, ledger: str | None, folder: Path, engine: str | None = None, master: str | None = None
) -> tuple[Bench, Draft]:
    """The bench of a source or a request file, and the draft it begins with."""
    if opened is not None and opened.endswith(".toml"):
        draft, named = _from_file(Path(opened))
    elif opened is not None:
        named = opened if scheme_of(opened) else os.path.abspath(os.path.expanduser(opened))
        draft = Draft(asks=(Ask(),))
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
    return Gate(Pages(bench, draft, read_only).app(), key, hosts, port)


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


def serve(bench: Bench, draft: Draft, port: int, read_only: bool, say: Any) -> None:
    """Serve until it is stopped; `say` is told the address once the server listens."""
    sock = listen(port)
    port, key = sock.getsockname()[1], new_token()
    app = make_app(bench, draft, key, port, read_only)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", ws="none", loop="asyncio", http="h11",
        server_header=False, timeout_graceful_shutdown=2, limit_concurrency=200,
    )  # fmt: skip
    say(f"http://127.0.0.1:{port}/?token={key}")
    gc.freeze()  # what is loaded by now is no garbage: looking for it takes 0.05 s, every dozen plans
    uvicorn.Server(config).run(sockets=[sock])


def shown_source(bench: Bench) -> str:
    """What was opened, for the terminal."""
    return "nothing yet" if bench.reach.named is None else without_secrets(bench.reach.named)
