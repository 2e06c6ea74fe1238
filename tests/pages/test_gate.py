"""The attacks of the workbench: each is refused, and nothing is charged or read by it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("starlette", reason="the extra 'workbench' is not installed")

from browsing import FORM, HOME, KEY, PLAIN, PORT, Browser, make_people, wait_for_release

from gaussmith.cli import main
from gaussmith.errors import RequestError
from gaussmith.workbench import server
from gaussmith.workbench import server as gate
from gaussmith.workbench.server import listen, make_app, make_server, open_bench


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    make_people(tmp_path)
    yield Browser(tmp_path)


def test_the_key_becomes_a_cookie_and_leaves_the_address(tmp_path: Path) -> None:
    browser = Browser(tmp_path, opened=False)
    answer = browser.get(f"/?token={KEY}")
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and KEY not in cookie
    assert browser.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/ledger", "/static/page.css", "/?token=wrong", "/releases/x"])
def test_nobody_enters_without_the_cookie(tmp_path: Path, path: str) -> None:
    browser = Browser(tmp_path, opened=False)
    assert browser.get(path).status_code == 403
    assert browser.submit("/").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", f"evil.example:{PORT}", "", f"127.0.0.1.evil:{PORT}"])
def test_another_host_is_refused(browser: Browser, host: str) -> None:
    assert browser.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://localhost:{PORT}"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_page_is_refused(browser: Browser, headers: dict[str, str]) -> None:
    assert browser.submit("/confirm", **headers).status_code == 403
    assert browser.post("/confirm", data=FORM).status_code == 403
    assert browser.charges() == 0


def test_every_answer_carries_the_headers(browser: Browser) -> None:
    for answer in (browser.get("/"), browser.get("/nowhere"), browser.get("/", headers={"host": "evil.example"})):
        for name, value in gate.HEADERS.items():
            assert answer.headers[name] == value, (name, answer.url)
    assert gate.POLICY.startswith("default-src 'none'") and "unsafe" not in gate.POLICY


def test_pages_hold_no_script_style_or_address_of_elsewhere(browser: Browser) -> None:
    text = browser.get("/").text
    assert "<style" not in text and " style=" not in text and "onclick" not in text
    assert text.count("<script") == 1 and '<script src="/static/live.js"' in text
    assert "https://" not in text and "//" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_replayed_confirmation_makes_no_second_release(browser: Browser) -> None:
    place = browser.confirmed()
    first = browser.submit(place, {"id": "one"})
    again = browser.submit(place, {"id": "two"})
    assert first.status_code == 303 and again.headers["location"] == first.headers["location"]
    wait_for_release(browser, first.headers["location"])
    assert browser.charges() == 1
    assert browser.get(place).headers["location"] == first.headers["location"]  # the back button
    assert browser.submit("/confirm/made-up", {"id": "three"}).status_code == 409
    assert browser.charges() == 1


def test_an_old_confirmation_is_refused(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    place = browser.confirmed()
    monkeypatch.setattr("gaussmith.workbench.desk.VALID_SECONDS", 0.0)
    assert browser.submit(place, {"id": "one"}).status_code == 409
    assert browser.charges() == 0


@pytest.mark.parametrize(
    "source",
    ["../secret.parquet", "/etc/passwd", "sub/../../secret.parquet", "link.parquet", "*/../../*.parquet", "linked",
     "https://evil.example/a.parquet", "s3://bucket/a.parquet", "duckdb://a.db?query=FROM '/etc/passwd'",
     "file:///etc/passwd"],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "folder"
    (folder / "linked").mkdir(parents=True)
    make_people(folder)
    pl.DataFrame({"hidden_column": [1]}).write_parquet(tmp_path / "secret.parquet")
    (folder / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (folder / "linked" / "a.parquet").symlink_to(tmp_path / "secret.parquet")
    browser = Browser(folder)
    answer = browser.submit("/", FORM | {"source": source}, **{"x-live": "plan"})
    assert answer.status_code == 200 and "hidden_column" not in answer.text
    assert "only files in the folder" in answer.text or "only if the command line named it" in answer.text
    assert browser.submit("/confirm", FORM | {"source": source}).status_code == 422


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/x"])
def test_only_the_two_files_of_the_page_are_served(browser: Browser, path: str) -> None:
    assert browser.get(path).status_code == 404
    assert browser.get("/static/page.css").status_code == 200


def test_a_script_in_a_name_stays_a_name(tmp_path: Path) -> None:
    name = '"><script>alert(1)</script>\u202e'
    pl.DataFrame({name: [1, 2]}).write_parquet(tmp_path / "people.parquet")
    browser = Browser(tmp_path)
    form = FORM | {"asks-0-kind": "sums", "asks-0-column": name, "asks-0-low": "0", "asks-0-high": "1"}
    for answer in (
        browser.submit("/", form, **{"x-live": "later"}),
        browser.get(browser.confirmed(form)),
        browser.submit("/", FORM | {"asks-0-column": "<img src=x>", "where": "<b>"}, **{"x-live": "plan"}),
    ):
        assert answer.status_code == 200
        assert answer.text.count("<script") == 1 and "<img" not in answer.text and "<b>&lt;" not in answer.text[:0]
    assert "&lt;script&gt;" in browser.submit("/", form, **{"x-live": "plan"}).text


def test_10_000_columns_are_not_all_shown(tmp_path: Path) -> None:
    make_people(tmp_path, 10_000)
    answer = Browser(tmp_path).submit("/", FORM, **{"x-live": "plan"})
    assert "10,000 columns" in answer.text and len(answer.content) < 200_000


def test_a_large_form_is_refused_unread(browser: Browser) -> None:
    read = 0

    def parts() -> Iterator[bytes]:
        nonlocal read
        for _ in range(1600):
            read += 1
            yield b"x" * 65_536

    headers = {"origin": HOME, "content-type": PLAIN}
    declared = browser.post("/", content=b"x" * 300_000, headers=headers)
    assert declared.status_code == 413
    assert browser.post("/", content=parts(), headers=headers).status_code == 413
    assert browser.post("/", content=b"", headers=headers | {"content-length": "104857600"}).status_code == 413


def test_files_are_refused(browser: Browser) -> None:
    assert browser.post("/", files={"source": b"x"}, headers={"origin": HOME}).status_code == 415
    assert browser.post("/", json={}, headers={"origin": HOME}).status_code == 415


def test_other_methods_are_refused(browser: Browser) -> None:
    assert [browser.request(method, "/").status_code for method in ("PUT", "DELETE", "OPTIONS", "TRACE")] == [405] * 4


def test_200_sliders_at_once_leave_the_server_usable(browser: Browser) -> None:
    found: list[int] = []

    def slide(i: int) -> None:
        found.append(browser.submit("/", FORM | {"epsilon": f"{1 + i / 200}"}, **{"x-live": "plan"}).status_code)

    threads = [threading.Thread(target=slide, args=(i,)) for i in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 200 and set(found) <= {200, 429} and 200 in found and 429 in found
    browser.app._left = float(gate.BURST)  # type: ignore[attr-defined]  # a second later
    assert browser.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/ledger"])
def test_requests_without_the_cookie_do_not_lock_the_owner_out(browser: Browser, path: str) -> None:
    for host in (f"127.0.0.1:{PORT}", "evil.example"):
        for _ in range(gate.BURST + 50):
            refused = browser.get(path, headers={"cookie": "", "host": host})
            assert refused.status_code in (403, 421) and refused.headers["connection"] == "close"
    assert browser.get("/").status_code == 200


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port of a server that runs in a thread."""
    sock = listen(0)
    port = int(sock.getsockname()[1])
    bench, draft = open_bench(None, None, folder)
    running = make_server(make_app(bench, draft, KEY, port))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield port
    finally:
        running.should_exit = True
        thread.join(30)


def say(port: int, text: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(text.encode())
    return connection


def asked(port: int) -> bytes:
    """The first line of the answer to the owner."""
    with say(port, f"GET /?token={KEY} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n") as connection:
        return connection.makefile("rb").readline()


def test_half_open_connections_do_not_lock_the_owner_out(tmp_path: Path) -> None:
    with served(tmp_path) as port:
        silent = [say(port, "GET / HTTP/1.1\r\nhost: 127" if i % 2 else "") for i in range(250)]
        assert asked(port).startswith(b"HTTP/1.1 303")
        assert silent[0].recv(1) == b""  # the oldest was closed
        for connection in silent:
            connection.close()


def test_a_connection_says_in_time_what_it_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.2)
    with served(tmp_path) as port:
        begun, begin = say(port, "GET / HTTP/1.1\r\n"), time.monotonic()
        again = say(port, f"GET / HTTP/1.1\r\nhost: localhost:{port}\r\ncookie: a=1\r\n\r\n")
        assert begun.recv(1) == b"" and time.monotonic() - begin < 25
        assert again.makefile("rb").readline().startswith(b"HTTP/1.1 403")
        assert not server.Connection.silent
        for connection in (begun, again):
            connection.close()


def test_one_release_at_a_time(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = browser.confirmed(), browser.confirmed()
    go, entered = threading.Event(), threading.Event()

    def slow(self: Any, request: Any, id: Any, progress: Any) -> Any:
        entered.set()
        assert go.wait(30)
        raise RuntimeError("a value of the data")

    monkeypatch.setattr("gaussmith.workbench.bench.Bench.release", slow)
    running = browser.submit(first, {"id": "one"}).headers["location"]
    assert entered.wait(30)
    assert "Releasing" in browser.get(running).text
    assert browser.submit(second, {"id": "two"}).status_code == 409
    go.set()
    text = wait_for_release(browser, running)
    assert "There is no release" in text and "a value of the data" not in text


def test_read_only_has_no_release(tmp_path: Path) -> None:
    make_people(tmp_path)
    browser = Browser(tmp_path, read_only=True)
    text = browser.get("/").text
    assert "read-only" in text and "Continue to release" not in text
    assert browser.submit("/confirm").status_code == 404 and browser.submit("/confirm/x").status_code == 404
    assert browser.submit("/stored", {"id": "x"}).status_code == 404
    assert browser.submit("/", FORM, **{"x-live": "plan"}).status_code == 200 and browser.charges() == 0


def test_without_its_packages_the_command_says_what_to_install() -> None:
    program = "import sys; sys.modules['uvicorn'] = None; from gaussmith.cli import main; sys.exit(main(['workbench']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2 and "'uvicorn' is not installed" in done.stderr
    assert "pip install 'gaussmith[workbench]'" in done.stderr


def test_a_port_or_a_ledger_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workbench", "--port", "70000"]) == 2
    assert main(["workbench", "--ledger", str(tmp_path / "none.ledger")]) == 2
    with listen(0) as taken, pytest.raises(RequestError, match="another"):
        listen(taken.getsockname()[1])
    assert capsys.readouterr().err.count("Error:") == 2
