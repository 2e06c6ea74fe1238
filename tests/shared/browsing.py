"""A browser for tests of the workbench, without a network: it opened the printed address and sends forms."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import polars as pl

with warnings.catch_warnings():  # of the test client itself, about the version of its own client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from gaussmith.ledger.book import Ledger
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.workbench.server import make_app, open_bench

PORT, KEY = 8123, "the-key"
HOME = f"http://127.0.0.1:{PORT}"
FORM = {"source": "people.parquet", "count": "people", "epsilon": "1", "delta": "1e-6", "protection": "epsilon"}
PLAIN = "application/x-www-form-urlencoded"


def make_people(folder: Path, columns: int = 1) -> None:
    pl.DataFrame({f"c{i}" if i else "age": [30, 40, 50] for i in range(columns)}).write_parquet(
        folder / "people.parquet"
    )


class Browser(TestClient):
    """A browser that opened the printed address."""

    def __init__(
        self,
        folder: Path,
        read_only: bool = False,
        ledger: bool = True,
        opened: bool = True,
        start: str | None = None,
        **engine: Any,
    ) -> None:
        self.book = None
        if ledger:
            if not (folder / "study.ledger").exists():
                Ledger.create(folder / "study.ledger", Guarantee(epsilon=3, delta=1e-6))
            self.book = Ledger(folder / "study.ledger")
        bench, draft = open_bench(start, str(folder / "study.ledger") if ledger else None, folder, **engine)
        super().__init__(make_app(bench, draft, KEY, PORT, read_only), HOME, follow_redirects=False)
        self.headers["host"] = f"127.0.0.1:{PORT}"
        if opened:
            assert self.get(f"/?token={KEY}").status_code == 303

    def submit(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Any:
        return self.post(path, data=form or FORM, headers={"origin": HOME} | headers)

    def charges(self) -> int:
        assert self.book is not None
        return len(self.book.history())

    def confirmed(self, form: dict[str, str] | None = None) -> str:
        answer = self.submit("/confirm", form)
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])


def wait_for_release(browser: Browser, place: str) -> str:
    for thread in threading.enumerate():
        if thread.name == "release":
            thread.join(60)
    return str(browser.get(place).text)
