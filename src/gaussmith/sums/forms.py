"""The forms that counted data comes in, opened and checked without a look at the data, then added up exactly.

    numbers     one column of numbers per coordinate: 0/1 marks, ranks, sparse vectors, points
    categories  one category column per attribute of the cells
    order       ballots as lists: the first choice, the second, …
    pairs       a long table of persons and items, any number of rows each

Every rule looks at one record alone (of pairs: at the rows of one person) and holds for whatever values there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.codes import Codes
from gaussmith.domains.cell_codes import CellCodes
from gaussmith.domains.counts import CountCodes
from gaussmith.domains.votes import VoteCodes
from gaussmith.errors import SourceError, nearest, nearest_column
from gaussmith.expressions import GroupKeys, kinds_of, match_keys
from gaussmith.problem import Domain
from gaussmith.sums import Progress, total
from gaussmith.sums.arrays import Totals
from gaussmith.sums.failures import attempt, data_error
from gaussmith.sums.features import Units, check_units
from gaussmith.sums.groups import key_table
from gaussmith.sums.openings import open_source
from gaussmith.sums.places import Values, declare_values, open_categories, read_places
from gaussmith.sums.sources import (
    Source,
    check_columns,
    check_identity,
    check_once,
    check_spelling,
    identified,
    narwhals_frame,
)
from gaussmith.sums.units import combine_rows, engine_of, fetch_rows, select_rows

NUMBERS, CATEGORIES, ORDER, PAIRS = "numbers", "categories", "order", "pairs"


@dataclass(frozen=True, eq=False)
class Opened:
    """A source that was opened and found to fit; no data value has been read."""

    source: Source
    codes: Codes
    columns: tuple[str, ...] | None
    form: str
    keys: tuple[GroupKeys, ...] = ()

    @property
    def unit(self) -> str | None:
        """The column that names the person; None: each row is one person."""
        return self.columns[0] if self.form == PAIRS and self.columns else None

    def described(self) -> dict[str, Any]:
        """How the data is read, for the hash of what was asked."""
        return {"columns": list(self.columns or []), "form": self.form}


def open_form(data: Any, domain: Domain, codes: Codes, columns: Sequence[str] | None, form: str | None) -> Opened:
    """The opened source, checked against the domain: names and types of columns, labels. Reads no data."""
    known = domain.forms
    if form is not None and form not in known:
        raise SourceError(
            f"form={form!r}", f"{type(domain).__name__} is read as {' or '.join(known)}", nearest(form, known)
        )
    chosen = known[0] if form is None else form
    if chosen == NUMBERS:
        return _open_numbers(data, domain, codes, columns)
    lists = domain.declared_lists
    if chosen == CATEGORIES:
        usual = None if isinstance(data, list | tuple | np.ndarray) else domain.columns  # there by their order
        return _open_values(open_categories(data, lists, columns or usual), codes, columns, usual, lists, chosen)
    if chosen == ORDER:
        values = lists * domain.dimension
        return _open_values(open_categories(data, values, columns), codes, columns, None, values, chosen)
    return _open_pairs(open_categories(data, [None, *lists], columns), codes, columns, lists[0])


def total_form(opened: Opened, progress: Progress | None = None) -> Totals:
    """The exact totals of what was opened; nothing in an error speaks of the data."""
    if opened.form == NUMBERS:
        return total(opened.source, opened.codes, opened.columns, progress)
    if progress is not None:
        progress(None)
    work = {CATEGORIES: _count_cells, ORDER: _add_ballots, PAIRS: _count_pairs}[opened.form]
    found = attempt(lambda: work(opened), data_error())
    if progress is not None:
        progress(1.0)
    return found


def _open_numbers(data: Any, domain: Domain, codes: Codes, columns: Sequence[str] | None) -> Opened:
    usual = domain.columns
    source = open_source(data, columns=usual if columns is None else columns)
    if columns is None and source.names is not None:
        columns = usual
    used = check_columns(source, columns, codes.columns)
    return Opened(source, codes, None if source.names is None else used, NUMBERS)


def _open_values(
    source: Source,
    codes: Codes,
    columns: Sequence[str] | None,
    usual: Sequence[str] | None,
    values: list[Values],
    form: str,
) -> Opened:
    chosen = _chosen(source, columns, usual, len(values), "one for each attribute")
    return Opened(source, codes, chosen, form, declare_values(source, chosen, values))


def _open_pairs(source: Source, codes: Codes, columns: Sequence[str] | None, labels: Values) -> Opened:
    if source.names is None:
        raise SourceError("pairs in an array", "an array's columns have no names", "pass a frame of person and item")
    chosen = _chosen(source, columns, None, 2, "the one that names the person, and the one that names the item")
    assert chosen is not None
    check_units(Units((), chosen[0]), source.kinds)
    check_identity(source, chosen[0], source.kinds)
    check_once(source, 2)
    return Opened(source, codes, chosen, PAIRS, declare_values(source, chosen[1:], [labels]))


def _chosen(
    source: Source, columns: Sequence[str] | None, usual: Sequence[str] | None, wanted: int, which: str
) -> tuple[str, ...] | None:
    """The columns to read, or None for those of an array; refuses what does not fit."""
    if source.names is None:
        if columns is not None:
            raise SourceError(
                f"columns={list(columns)!r} for an array", "an array's columns have no names", "leave columns out"
            )
        if source.width and source.width != wanted:
            raise SourceError(
                f"an array of {source.width} columns", f"there must be {wanted}: {which}", "mend the array"
            )
        return None
    chosen = tuple(columns if columns is not None else usual if usual is not None else source.names)
    for name in chosen:
        if name not in source.names:
            raise SourceError(
                f"column={name!r}", "the source has no such column", nearest_column(str(name), source.names)
            )
    if len(chosen) != wanted:
        raise SourceError(
            f"{len(chosen)} column{'s' if len(chosen) != 1 else ''}",
            f"there must be {wanted}: {which}",
            f"name them: columns={[*source.names[:wanted]]!r}",
        )
    check_spelling(source, chosen)
    return chosen


# -- once data is open ------------------------------------------------------------------------------------------------


def _count_cells(opened: Opened) -> Totals:
    codes = opened.codes
    assert isinstance(codes, CellCodes)
    counts, records = np.zeros(codes.width, np.int64), 0
    for places, weights in read_places(opened.source, opened.columns, opened.keys):
        codes.add_counts(counts, places, weights)
        records += len(places) if weights is None else int(weights.sum())
    return Totals(counts, records)


def _add_ballots(opened: Opened) -> Totals:
    codes = opened.codes
    assert isinstance(codes, VoteCodes)
    sums, records = np.zeros(codes.width, np.int64), 0
    for places, weights in read_places(opened.source, opened.columns, opened.keys):
        ranks = ranks_of(places)
        once = np.ones(len(places), np.int64) if weights is None else weights
        sums += once @ codes.encode(ranks)
        records += int(once.sum())
    return Totals(sums.tolist(), records)


def ranks_of(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """From the candidates in order of preference to the rank of each candidate; NaN for one that is not on the ballot.

    >>> ranks_of(np.array([[2, 0, 1], [1, 1, -1]])).tolist()
    [[2.0, 3.0, 1.0], [nan, 2.0, nan]]
    """
    n, d = places.shape
    ranks = np.full((n, d + 1), np.nan)  # one column too many, for candidates that were not declared
    for j in range(d):
        ranks[np.arange(n), places[:, j]] = j + 1.0
    return ranks[:, :d]


def _count_pairs(opened: Opened) -> Totals:
    """Distinct items of each person, the first k in declared order; on the engine that holds the rows.

    Rows without a person are left out; a person whose items are all undeclared is a record without any.
    """
    import narwhals as nw

    codes, keys = opened.codes, opened.keys[0]
    assert isinstance(codes, CountCodes) and opened.columns is not None
    units, ids = identified(opened.source, Units((), opened.columns[0]))
    frame = narwhals_frame(opened.source, opened.columns, ids)
    rows = select_rows(frame, units, match_keys(keys, kinds_of(frame.collect_schema())))
    people = rows.select("u").unique().with_columns(nw.lit(1).cast(nw.Int64).alias("n")).select(nw.col("n").sum())
    records = fetch_rows(people)[0][0]
    held = rows.join(key_table(rows, keys, engine_of(rows)), on=["k0"], how="inner")
    once = combine_rows(held.select("u", "g", "n"), units, ("u", "g"))
    if codes.at_most < codes.columns:
        place = nw.col("g").rank("ordinal").over("u")
        once = once.with_columns(place.alias("place")).filter(nw.col("place") <= codes.at_most)
    counted = once.with_columns(nw.lit(1).cast(nw.Int64).alias("n")).group_by("g").agg(nw.col("n").sum())
    sums = [0] * codes.width
    for g, n in fetch_rows(counted.select("g", "n")):
        sums[int(g)] = int(n)
    return Totals(sums, int(records or 0))
