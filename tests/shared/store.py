"""A small object store on this machine that speaks enough of S3 to be read from, and keeps what it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Store:
    """Objects by bucket/key, and for each request the object and the bytes it asked for."""

    objects: dict[str, bytes]
    port: int = 0
    asked: list[tuple[str, int, int]] = field(default_factory=list)


@contextmanager
def serve(objects: dict[str, bytes]) -> Iterator[Store]:
    """A store of these objects until the block ends."""
    store = Store(objects)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            name = unquote(split.path).strip("/")
            if "list-type" in split.query:
                self.answer(200, listing(store, name, parse_qs(split.query).get("prefix", [""])[0]))
            elif name not in store.objects:
                self.answer(404, b"")
            else:
                whole = store.objects[name]
                start, stop = 0, len(whole)
                unit, _, wanted = self.headers.get("Range", "").partition("=")
                if unit:
                    first, _, last = wanted.partition("-")
                    start = int(first) if first else max(0, stop - int(last))
                    stop = min(stop, int(last) + 1) if first and last else stop
                if self.command != "HEAD":  # which asks for no bytes
                    store.asked.append((name, start, stop))
                span = {"Content-Range": f"bytes {start}-{stop - 1}/{len(whole)}"} if unit else {}
                self.answer(206 if unit else 200, whole[start:stop], span)

        def answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(code)
            fixed = {"Content-Length": str(len(body)), "Accept-Ranges": "bytes", "ETag": '"1"'}
            fixed["Last-Modified"] = "Mon, 01 Jan 2024 00:00:00 GMT"
            for key, value in {**fixed, **(headers or {})}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def listing(store: Store, bucket: str, prefix: str) -> bytes:
    keys = [name.removeprefix(f"{bucket}/") for name in store.objects if name.startswith(f"{bucket}/{prefix}")]
    contents = "".join(
        f"<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>1</ETag>"
        f"<Size>{len(store.objects[f'{bucket}/{key}'])}</Size></Contents>"
        for key in sorted(keys)
    )
    head = f"<Name>{bucket}</Name><KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>"
    return f'<?xml version="1.0"?><ListBucketResult>{head}{contents}</ListBucketResult>'.encode()
