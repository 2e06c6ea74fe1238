"""Streams of record batches, which can be read once: where more is needed, or nothing is left, they are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from adding import add
from refusals import refused

import gaussmith as gm
from gaussmith.engines.registry import open_source


def test_a_stream_can_be_read_once() -> None:
    table = pl.DataFrame({"a": [1.0], "b": [2.0]}).to_arrow()
    source = open_source(table.to_reader())
    assert add(source) == [1.0, 2.0]
    with refused("data-not-readable"):
        add(source)


WIDE = {f"c{j}": (0, 1) for j in range(40)}


@pytest.mark.parametrize(
    ("asked", "queries"),
    [
        ({"histograms": {"k": [1, 2]}, "count": True}, 1),
        ({"histograms": {"k": [1, 2]}, "sums": {"c0": (0, 1)}}, 2),
        ({"sums": WIDE, "unit": "k"}, 2),
        ({"sums": WIDE}, 1),
        ({"sums": WIDE, "where": "k == 1"}, 1),
        ({"sums": {"c0": (0, 1)}, "unit": "k"}, 1),
        ({"count": True}, 1),
    ],
)
def test_a_stream_is_refused_before_a_charge_where_it_must_be_read_again(
    asked: dict[str, Any], queries: int, tmp_path: Path
) -> None:
    ledger = gm.Ledger.create(tmp_path / "study.ledger", gm.Guarantee(mu=2))
    reader = pl.DataFrame({"k": [1, 2]} | {name: [1.0, 0.0] for name in WIDE}).to_arrow().to_reader()
    request = gm.Request(reader, guarantee=gm.Guarantee(mu=1), **asked)
    if queries == 1:
        gm.release(request, ledger=ledger)
        return
    with refused("reader-read-several-times", queries=queries):
        gm.release(request, ledger=ledger)
    assert ledger.spent == 0


def test_pairs_of_a_stream_are_refused() -> None:
    plan = gm.plan(gm.Counts(["x", "y"], at_most=1), gm.Guarantee(mu=1))
    frame = pl.DataFrame({"person": [1, 2], "item": ["x", "y"]})
    assert len(plan.release(frame.to_arrow(), form="pairs").values) == 2
    with refused("reader-read-several-times", queries=2):
        plan.release(frame.to_arrow().to_reader(), form="pairs")


def test_a_reader_that_was_read_is_refused_and_not_empty() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0]}).to_arrow()
    reader, plan = table.to_reader(), gm.plan(gm.Box({"a": (0, 9)}), gm.Guarantee(mu=1))
    plan.release(reader)
    with refused("reader-used-up"):
        plan.release(reader)
    plan.release(table.to_reader())
