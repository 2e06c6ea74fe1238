"""Fuzzed forms of the workbench: never a 500, never a traceback, never a charge without its entry.

A case is a browser that sends a few damaged forms: fields changed, lost, doubled and misnamed, bytes changed, to every
address that takes a form. What is charged is compared with what was confirmed, and the ledger must verify.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import polars as pl
from browsing import HOME, PLAIN, Browser

from gaussmith.errors import GaussmithError
from gaussmith.ledger.book import Ledger
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.workbench.drafts import KINDS, Draft, write_form
from gaussmith.workbench.filling import fill

MOST_CHARGES = 40
"""Charges of one ledger: a long one takes longer to verify."""

G = {"epsilon": 0.5, "delta": 1e-6}
REQUESTS: list[dict[str, Any]] = [
    {"count": True, "sums": {"spent": [0, 500]}, "means": {"age": [0, 100]}, "guarantee": G},
    {"unit": "person", "rows_per_unit": 3, "groups_per_unit": 1, "means": {"age": [0, 100]}, "where": "age >= 18",
     "by": {"region": ["n", "s"]}, "neighbours": "replace-one", "guarantee": {"mu": 0.3}},
    {"histograms": {"region": ["n", "s"]}, "quantiles": {"age": [0.1, 0.5]}, "bounds": {"age": [0, 100]},
     "guarantee": {"rho": 0.05}, "columns": {"double": "age * 2"}},
    {"covariance": {"age": [0, 100], "spent": [0, 500]}, "guarantee": G},
    {"regression": {"of": "spent", "on": ["age"]}, "bounds": {"age": [0, 100], "spent": [0, 500]}, "guarantee": G},
    {"marginals": [["region", "age"]], "values": {"region": ["n", "s"]}, "bins": {"age": [0, 50, 100]}, "guarantee": G},
    {"unit": "person", "by": {"region": "found"}, "groups_per_unit": 1, "count": True, "guarantee": G},
    {"question": [{"name": "one", "count": True}, {"name": "two", "sums": {"age": [0, 9]}}], "guarantee": G},
    {"count": True, "columns": {"b": "age / 2"}, "medians": {"b": "private"}, "guarantee": G},
]  # fmt: skip
NAMES = [name for name, _ in write_form(Draft())] + [
    f"{kind}-{i}-{part}" for kind in ("asks", "by", "derived", "questions") for i in (0, 1, 7, 9999)
    for part in ("column", "how", "cells", "kind", "question", "tables", "key", "name", "where")
]  # fmt: skip
WORDS = [
    "", "0", "1", "-1", "1e308", "1e999", "nan", "inf", "private", "found", "bins", "listed", "age", "spent", "region",
    "person", "units", "rows", "target", "mu", "count", "people.csv", "../people.csv", "*.csv", "people.csv?x=1", "é",
    "duckdb://x.db?table=a", "a, b", '"', "{", "{ equal = 3, between = [0, 9] }", "[[question]]", "9" * 300, "\x00",
    "\u202e", "age_mean", "0.5, 0.9", "18, 40", "-0.0", "١", "²", "9" * 5000, "q1", "1, 2",
    "1_0", "<script>", "{{ 7 * 7 }}", *KINDS,
]  # fmt: skip


class Bench:
    """One browser, its folder and its ledger, for some cases."""

    def __init__(self, folder: Path) -> None:
        frame = {"age": [30.0, None, 71.5], "spent": [1.0, 2.0, 1e300], "region": ["n", "s", "é"], "person": [1, 2, 1]}
        pl.DataFrame(frame).write_csv(folder / "people.csv")
        for extra in folder.glob("study.ledger*"):
            extra.unlink()
        Ledger.create(folder / "study.ledger", Guarantee(mu=20))
        self.folder, self.browser = folder, Browser(folder)

    def ask(self, way: str, path: str, body: bytes = b"", **headers: str) -> Any:
        """One request; an answer of the server is at most a refusal, and shows no traceback."""
        self.browser.app._left = 100.0  # type: ignore[attr-defined]  # the limit on requests has a test of its own
        known = {"origin": HOME, "content-type": PLAIN} | headers
        answer = self.browser.request(way, path, content=body, headers=known) if body else self.browser.get(path)
        assert answer.status_code < 500, f"status {answer.status_code} of {way} {path[:40]}"
        assert "Traceback" not in answer.text, f"a traceback on {path[:40]}"
        return answer


_BENCHES: dict[Path, Bench] = {}


def fuzz_form(rng: random.Random, folder: Path, change: Callable[[str, random.Random], str]) -> None:
    """One case; raises an error of ours where the damaged form was refused, to be counted as such."""
    bench = _BENCHES.get(folder)
    if bench is None or bench.browser.charges() >= MOST_CHARGES:
        bench = _BENCHES[folder] = Bench(folder)
    body = damaged_form(rng, change)
    before = bench.browser.charges()
    way = rng.random()
    if way < 0.15:
        bench.ask("POST", "/", body)
    elif way < 0.45:
        bench.ask("POST", "/", body, **{"x-live": "plan"})
    elif way < 0.5:
        bench.ask("POST", "/", body, **{"x-live": rng.choice(["later", "x"])})
    elif way < 0.55:
        bench.ask("POST", "/stored", body)
        odd = quote_plus(rng.choice(WORDS))
        for path in (f"/ledger?n={odd}", f"/?draft={odd}&later=1", f"/?copy={odd}", f"/request.toml?draft={odd}"):
            bench.ask("GET", path)
    assert bench.browser.charges() == before, "a charge without a confirmation"
    if way < 0.55:
        return
    answer = bench.ask("POST", "/confirm", body)
    assert bench.browser.charges() == before, "a charge before the confirmation"
    if answer.status_code != 303:
        raise _refusal()
    _release(bench, answer.headers["location"], rng, change)


def _release(bench: Bench, place: str, rng: random.Random, change: Callable[[str, random.Random], str]) -> None:
    """Confirm, perhaps twice and perhaps with a damaged id; the ledger has one entry for it, or none."""
    bench.ask("GET", place)
    id = f"case-{rng.getrandbits(64)}"
    words = change(id, rng) if rng.random() < 0.5 else id
    before = bench.browser.charges()
    for _ in range(rng.choice([1, 1, 2])):
        answer = bench.ask("POST", place, b"id=" + quote_plus(words, errors="replace").encode())
    if answer.status_code != 303:
        assert bench.browser.charges() == before, "a charge of a refused confirmation"
        raise _refusal()
    for thread in threading.enumerate():
        if thread.name == "release":
            thread.join(15)
    text = bench.ask("GET", answer.headers["location"]).text
    book = Ledger(bench.folder / "study.ledger")
    book.verify()
    added = book.history()[before:]
    assert len(added) <= 1, "two charges of one confirmation"
    if 'data-state="done"' in text:
        assert len(added) == 1 and added[0]["state"] == "done", "a release without a record in the ledger"
        assert book.result(added[0]["id"]) is not None, "a release that was not stored"
        bench.ask("GET", answer.headers["location"] + "/report")
        return
    assert 'data-state="failed"' in text, "a release that does not end"
    assert "an error in Gaussmith" not in text, "an internal error"
    raise _refusal()


def damaged_form(rng: random.Random, change: Callable[[str, random.Random], str]) -> bytes:
    """A form of the page with some fields changed, lost, doubled or misnamed, or its bytes changed."""
    pairs = write_form(fill({"source": "people.csv", **rng.choice(REQUESTS)}))
    for _ in range(rng.choice([0, 1, 1, 2, 4, 12])):
        at, way = rng.randrange(len(pairs)), rng.randrange(6)
        name, value = pairs[at]
        if way == 0:
            pairs[at] = name, rng.choice(WORDS)
        elif way == 1:
            pairs[at] = name, change(value, rng)
        elif way == 2 and len(pairs) > 1:
            del pairs[at]
        elif way == 3:
            pairs.insert(at, (rng.choice(NAMES), rng.choice(WORDS)))
        elif way == 4:
            pairs[at] = rng.choice(NAMES), value
        else:
            pairs.append(
                (
                    rng.choice(["add", "drop", "with", "draft", "update"]),
                    rng.choice(["asks", "questions", "by-0", "questions-0", "asks-" + "9" * 5000, "asks-²", "later"]),
                )
            )
    body = urlencode(pairs, errors="replace")
    return (change(body, rng) if rng.random() < 0.1 else body).encode("utf-8", "replace")[:200_000] or b"x="


def _refusal() -> GaussmithError:
    return GaussmithError("a damaged form", "it was refused", "", code="form-field-refused")
