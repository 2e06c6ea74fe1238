"""Fuzzed data files and ledger files: never an error that is not ours, a release without its entry, or a broken ledger.

Whatever a case does not change is made once: the ledger is copied from bytes, requests are planned once per folder.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import gaussmith as gm
from gaussmith.audit.scenes import write
from gaussmith.errors import GaussmithError

MU = gm.Guarantee(mu=1)
ONE = pl.DataFrame({"a": [1.0]})
TABLE = pl.DataFrame(
    {"age": [30.0, None, 71.5], "spent": [1.0, 2.0, 1e300], "region": ["n", "s", "é"], "person": [1, 2, 1]}
)
ASKED: list[dict[str, Any]] = [
    {"sums": {"spent": (0, 500)}, "count": True, "where": "age > 3"},
    {"unit": "person", "sums": {"spent": (0, 500)}, "count": True, "where": "age > 3"},
    {"means": {"age": (0, 100)}, "by": {"region": ["n", "s"]}},
    {"unit": "person", "rows_per_unit": 2, "groups_per_unit": 1, "count": True, "by": {"region": "found"}},
    {"histograms": {"region": ["n", "s"]}, "columns": {"double": "age * 2"}, "sums": {"double": (0, 9)}},
]
"""What is asked of a file. A source is named once per kind of file, so that a plan can be used again."""

AFRESH = 0.1
"""The part of the cases whose request is made for the file as it is: what is planned may depend on its columns."""

Change = Callable[[Any, random.Random], Any]


class Unrecorded(Exception):
    """A release that came back and is not in its ledger, or a charge where nothing was released or begun."""


@cache
def _files(folder: Path, charged: bool) -> dict[str, bytes]:
    """The files of a ledger, without a charge or with one: made once, then copied."""
    path = folder / "study.ledger"
    _clear(folder)
    gm.Ledger.create(path, gm.Guarantee(mu=100))
    if charged:
        gm.release(_count(), ledger=path, id="one")
    return {each.name: each.read_bytes() for each in folder.glob("study.ledger*")}


@cache
def _count() -> gm.Request:
    return gm.Request(ONE, count=True, guarantee=MU)


def _clear(folder: Path) -> None:
    for each in folder.glob("study.ledger*"):
        each.unlink()


def _make_ledger(folder: Path, charged: bool = False) -> Path:
    files = _files(folder, charged)
    _clear(folder)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "study.ledger"


def fuzz_ledger(rng: random.Random, folder: Path, change: Change) -> None:
    """A ledger with a charge, its file (or the file of its head) changed: verified, then charged again."""
    path = _make_ledger(folder, charged=True)
    changed = path if rng.random() < 0.85 else path.with_name(path.name + ".head")
    changed.write_bytes(change(changed.read_bytes(), rng))
    book = gm.Ledger(path)
    book.verify()
    gm.release(_count(), ledger=path, id="two")
    if book.result("two") is None:
        raise Unrecorded("a release is not in its ledger")
    book.verify()


@cache
def _asked(folder: Path, suffix: str, which: int) -> gm.Request:
    request = gm.Request(str(folder / f"people{suffix}"), guarantee=MU, **ASKED[which])
    request.plan  # noqa: B018 (planned here, once)
    return request


@cache
def _written(folder: Path, suffix: str) -> list[bytes]:
    """The table in this kind of file, its columns in several orders."""
    path, found = folder / f"people{suffix}", []
    for turn in range(len(TABLE.columns)):
        write(TABLE.select(TABLE.columns[turn:] + TABLE.columns[:turn]), path)
        found.append(path.read_bytes())
    return found


def fuzz_data(suffix: str, change_text: Change, change_bytes: Change) -> Callable[[random.Random, Path], None]:
    """Releases of a changed file of this kind, each charged to a ledger."""

    def fuzz(rng: random.Random, folder: Path) -> None:
        path, right = folder / f"people{suffix}", _written(folder, suffix)
        content, which = rng.choice(right), rng.randrange(len(ASKED))
        path.write_bytes(right[0])
        _asked(folder, suffix, which)  # planned for the file as it should be
        if suffix == ".parquet" or rng.random() < 0.3:
            path.write_bytes(change_bytes(content, rng))
        else:
            path.write_text(change_text(content.decode(), rng), "utf-8", errors="surrogatepass")
        ledger = _make_ledger(folder)
        afresh = rng.random() < AFRESH
        request = gm.Request(str(path), guarantee=MU, **ASKED[which]) if afresh else _asked(folder, suffix, which)
        try:
            gm.release(request, ledger=ledger, id="one")
        except GaussmithError:
            gm.Ledger(ledger).verify()
            raise
        book = gm.Ledger(ledger)
        book.verify()
        if book.result("one") is None or not book.spent:
            raise Unrecorded("a release is not in its ledger")

    return fuzz
