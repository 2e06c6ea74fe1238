"""A new engine as CONTRIBUTING.md says: one class that follows the protocol, one line in the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from refusals import refused

import gaussmith as gm
from gaussmith.domains.encoding import Encoding
from gaussmith.engines.engine import AddUp, Engine, Progress, Totals, Words, frame_places, valued_columns
from gaussmith.engines.files import Files
from gaussmith.engines.polars import POLARS
from gaussmith.engines.registry import ENGINES
from gaussmith.engines.source import Source
from gaussmith.errors import SourceError
from gaussmith.expressions.keys import GroupKeys
from gaussmith.expressions.spelling import Derivation, derive

ROWS = [
    ("ada", "north", 3.0),
    ("ada", "south", 4.0),
    ("bob", "north", None),
    ("cyd", "west", 50.0),
    ("dan", "south", 20.0),
]
TYPES = {"person": pl.String, "region": pl.String, "spent": pl.Float64}


@dataclass(frozen=True)
class ToyTable:
    """Rows as tuples, which no engine of ours opens."""

    rows: list[tuple[Any, ...]]
    types: Mapping[str, Any]


ToyTable.__module__ = "toy"


class Toy:
    name = "toy"
    modules = ("toy",)
    packages = ()
    adds_here = True
    hands_over_texts = True
    wide_sums = None
    max_features = 1

    def open(self, data: ToyTable) -> Source:
        schema = nw.from_native(pl.LazyFrame(schema=data.types)).collect_schema()
        return Source(self, data, len(schema), tuple(schema), dict(schema))

    def open_files(self, files: Files, columns: Sequence[str] | None, master: str | None) -> Source:
        raise SourceError(f"source={files.said!r}", "toys read no files", "leave engine out", code="toys-read-no-files")

    def check_names(self, source: Source, columns: Sequence[str]) -> None: ...

    def frame(self, source: Source, columns: Sequence[str], ids: Mapping[str, str] | None = None) -> Any:
        table = source.native
        return nw.from_native(pl.LazyFrame(table.rows, schema=table.types, orient="row").select(*columns))

    def exact_ids(self, source: Source, unit: str, taken: Sequence[str]) -> dict[str, str]:
        return {}

    def derive(self, source: Source, derivation: Derivation) -> ToyTable:
        found = derive(self.frame(source, source.names or ()), derivation).collect().to_native()
        return ToyTable(found.rows(), dict(found.schema))

    def total(
        self, source: Source, codes: Encoding, columns: Sequence[str], add_up: AddUp, progress: Progress | None
    ) -> Totals:
        frame = self.frame(source, source.names or ()).collect().to_native()
        if not columns:
            return Totals([], len(frame))
        return add_up(iter([frame.select(columns)]), lambda batch: [np.array(c, float) for c in batch], codes)

    def places(
        self, source: Source, columns: Sequence[str] | None, keys: Sequence[GroupKeys]
    ) -> Iterator[tuple[Words, Words | None]]:
        return self.places_in(self.frame(source, columns or ()), keys)

    def places_in(self, frame: Any, keys: Sequence[GroupKeys]) -> Iterator[tuple[Words, Words | None]]:
        yield frame_places(keys)(valued_columns(frame, keys).collect().to_native()), None

    def key_table(self, rows: Any, keys: GroupKeys) -> Any:
        return POLARS.key_table(rows, keys)

    def fetch(self, frame: Any) -> list[tuple[Any, ...]]:
        return POLARS.fetch(frame)

    def batches(self, frame: Any, rows: int) -> Iterator[pl.DataFrame]:
        return POLARS.batches(frame, rows)

    def without_rows(self, source: Source) -> Source:
        return replace(source, native=ToyTable([], source.native.types))


REQUESTS: dict[str, dict[str, Any]] = {
    "rows": {"sums": {"spent": (0, 10)}, "count": True},
    "a filter": {"sums": {"spent": (0, 10)}, "where": "spent > 3"},
    "people": {"sums": {"spent": (0, 10)}, "means": {"spent": (0, 60)}, "unit": "person", "rows_per_unit": 2},
    "groups": {"means": {"spent": (0, 60)}, "count": True, "unit": "person", "groups_per_unit": 1, "rows_per_unit": 2,
               "by": {"region": ["north", "south"]}},
    "a histogram": {"histograms": {"region": ["north", "south"]}, "unit": "person", "values_per_unit": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_a_new_engine_answers_as_the_others_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Engine = Toy()
    sure = gm.Guarantee(mu=1e6)
    frame = pl.DataFrame(ROWS, schema=TYPES, orient="row")
    with refused("unknown-source-type", type="ToyTable"):
        gm.release(gm.Request(ToyTable(ROWS, TYPES), guarantee=sure, **REQUESTS[name]))
    monkeypatch.setitem(ENGINES, engine.name, engine)
    found, expected = (
        gm.release(gm.Request(data, guarantee=sure, **REQUESTS[name])).values for data in (ToyTable(ROWS, TYPES), frame)
    )
    assert found == pytest.approx(expected, abs=0.01) and np.abs(expected).max() > 0.5


def test_plain_data_of_a_new_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "toy", Toy())
    cells = gm.plan(gm.Cells({"region": ["north", "south", "west"]}), gm.Guarantee(mu=1e6))
    assert cells.release(ToyTable(ROWS, TYPES)).values == pytest.approx([2, 2, 1], abs=0.01)
    items = gm.plan(gm.Counts(["north", "south"], at_most=2), gm.Guarantee(mu=1e6))
    released = items.release(ToyTable(ROWS, TYPES), columns=["person", "region"], form="pairs")
    assert released.values == pytest.approx([2, 2], abs=0.01)
