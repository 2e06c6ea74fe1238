"""What Python shows of requests, sources, plans, totals, releases and ledgers: no value of the data and no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gaussmith as gm
from gaussmith.engines.registry import open_source
from gaussmith.mechanism import prepare, prepare_request
from gaussmith.totals.opened import total

G = gm.Guarantee(mu=1)
VALUE = 7316.25
FRAMES: dict[str, Any] = {
    "array": np.array([[VALUE]]),
    "list": [[VALUE]],
    "polars": pl.DataFrame({"a": [VALUE]}),
    "lazy": pl.LazyFrame({"a": [VALUE]}),
    "pandas": pd.DataFrame({"a": [VALUE]}),
    "arrow": pa.table({"a": [VALUE]}),
    "duckdb": lambda: duckdb.sql(f"select {VALUE}::double a"),
}
SECRETS = ("7316", "hush")


@pytest.mark.parametrize("kind", FRAMES)
def test_what_is_shown_of_what_holds_data(kind: str) -> None:
    data = FRAMES[kind]() if callable(FRAMES[kind]) else FRAMES[kind]
    plan = gm.plan(gm.Box({"a": (0, 10_000)}), G)
    prepared = prepare(plan, data)
    (opened,) = prepared.sources
    held = [gm.Request(data, sums={"a": (0, 10_000)}, guarantee=G), open_source(data), prepared, opened]
    held += [total(opened), plan]
    if kind not in ("array", "list"):
        request = gm.Request(data, sums={"a": (0, 10_000)}, count=True, guarantee=G)
        prepared = prepare_request(request.plan, data)
        (table,) = prepared.sources
        held += [prepared, table, total(table, None), request.plan]
    for each in held:
        for said in (repr(each), str(each), f"{each}", repr([each])):
            assert not [secret for secret in SECRETS if secret in said], type(each)
    (found,) = total(opened)
    code = str(found.sums[0])
    assert code not in repr(found) and len(code) > 8


def test_what_is_shown_of_addresses(tmp_path: Path) -> None:
    (tmp_path / "token=hush").mkdir()
    path = str(tmp_path / "token=hush" / "a.parquet")
    pl.DataFrame({"a": [1.0]}).write_parquet(path)
    request = gm.Request(path, sums={"a": (0, 1)}, guarantee=G)
    ledger = gm.Ledger.create(str(tmp_path / "token=hush" / "study.ledger"), G, dataset="https://ada:hush@host/a.csv")
    assert ledger.dataset == "https://host/a.csv"
    release = gm.release(request)
    prepared = prepare_request(request.plan, request.source)
    (table,) = prepared.sources
    (query,) = request.plan.queries
    held = [
        request,
        ledger,
        prepared,
        table,
        table.source,
        table.source.files,
        release,
        query.row_rule,
        ledger.verify(),
    ]
    for each in held:
        assert "hush" not in repr(each) + str(each), type(each)
    assert "hush" not in release.to_json() and "hush" not in ledger.where
    assert b"ada:hush" not in (tmp_path / "token=hush" / "study.ledger").read_bytes()
