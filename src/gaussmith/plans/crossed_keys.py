"""Which draws count people by the same keys, and what one person adds to all of them: from the draws alone.

Every row is a person here, and every table is read from all rows that pass one filter. A row is in the cell of its keys
where all of them are declared; it has one key of each column. So a person in a table by two columns is in the tables by
one of them too, in the row and the column of that cell. Privacy rests on this, also when a plan is read from a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gaussmith.domains.groups import TypedKey, places_of
from gaussmith.errors import PlanError
from gaussmith.expressions import columns_used, parse, same_meaning
from gaussmith.neighbours import ADD_REMOVE
from gaussmith.numerics.crossed.tables import Tables, Way
from gaussmith.plans.tied_people import Place
from gaussmith.values import dataclass

if TYPE_CHECKING:
    from gaussmith.plans.draw import Draw
    from gaussmith.plans.row_rule import RowRule

Attribute = tuple[str, frozenset[TypedKey]]
"""A column and its declared keys; the same column with other keys is another attribute."""


@dataclass(frozen=True, eq=False)
class Keyed:
    """What a draw counts people by: the attributes of its table and the key of every cell; none for all people."""

    attributes: tuple[Attribute, ...]
    keys: list[list[TypedKey]]
    """The keys of each attribute in the order in which they are declared."""
    cells: npt.NDArray[np.int64]
    """The places of the keys of each cell in that order."""
    counted: bool
    """Whether all people are counted too, those with other keys included."""


@dataclass(frozen=True, eq=False)
class Cross:
    """Draws that count people by keys: their tables, where each draw is among them, and its cells there.

    `parts[i]` is the table of draw i, None where it only counts all people; `cells[i]` has the places of the keys of
    each of its groups or values.
    """

    tables: Tables
    parts: tuple[int | None, ...]
    cells: tuple[npt.NDArray[np.int64], ...]

    @property
    def everybody(self) -> int | None:
        """The table of all people."""
        return self.tables.ways.index(()) if () in self.tables.ways else None

    def places(self, scales: Sequence[float]) -> tuple[Place, ...]:
        """The place of each draw; where it starts is its number among them, as several may have one table."""
        return tuple(Place(part, k, scale) for k, (part, scale) in enumerate(zip(self.parts, scales, strict=True)))


def keyed_of(draw: Draw, weighted: bool = False) -> Keyed | None:
    """What a draw counts people by; None where it is anything else, or a person may have several rows.

    Groups that weigh differently are not such a table, as keys cannot be permuted there, unless `weighted` asks for it.
    """
    rule, block = draw.row_rule, draw.block
    if rule is None or not _reads_all_rows(rule) or block.problem.features.targets is not None:
        return None
    if draw.groups is not None and draw.groups.is_found:
        return None
    public = draw.neighbours != ADD_REMOVE and rule.where is None
    if rule.histogram is not None:
        values = block.domain.declared_values
        one = block.domain.marks_at_most == 1 and draw.groups is None and block.problem.common_weight is not None
        if not one or values is None or (block.answers.count and draw.neighbours != ADD_REMOVE):
            return None
        return _keyed((rule.histogram,), *places_of([(value,) for value in values], 1), block.answers.count)
    if block.domain.dimension or not block.answers.count or rule.features:
        return None
    if draw.groups is None:
        return None if public else Keyed((), [], np.zeros((0, 0), np.int64), True)
    if len(draw.groups.classes) > 1 and not weighted:
        return None
    return _keyed(draw.groups.columns, *draw.groups.places, False)


def _reads_all_rows(rule: RowRule) -> bool:
    """Whether every row is a person, in a table read from all rows that pass its filter, by keys as they stand.

    Rows without a value, people whose rows are put together, and cells of numbers are read by rules of their own.
    """
    return not (rule.unit or rule.form or rule.present or rule.person_columns or rule.person_where or rule.cuts)


def _keyed(
    columns: Sequence[str], keys: list[list[TypedKey]], cells: npt.NDArray[np.int64], counted: bool
) -> Keyed | None:
    attributes = tuple((column, frozenset(own)) for column, own in zip(columns, keys, strict=True))
    sizes = tuple(map(len, keys))
    distinct = len(np.unique(np.ravel_multi_index(tuple(cells.T), sizes)))
    whole = len(cells) == math.prod(sizes) == distinct and len(set(columns)) == len(columns)
    return Keyed(attributes, keys, cells, counted) if whole else None  # else some combinations are left out


def cross_of(draws: Sequence[Draw], scales: Sequence[float], neighbours: str) -> Cross:
    """The tables of draws that count people by keys; raises PlanError where they are not of that kind."""
    found = [keyed_of(draw) for draw in draws]
    kept = [each for each in found if each is not None]
    if len(kept) < len(draws) or not _same_rows(draws):
        raise PlanError(
            "draws that are not tables of the same people",
            "each counts the rows of one table, all under one filter",
            "plan again",
            code="draws-not-tables-of-same-people",
        )
    if not all(np.isfinite(scale) and scale > 0 for scale in scales):
        raise PlanError(
            "a tie with a scale that is not positive",
            "every draw is worth something",
            "plan again",
            code="tie-scale-not-positive",
        )
    order = list(dict.fromkeys(attribute for each in kept for attribute in each.attributes))
    keys = [_ordered(attribute, kept) for attribute in order]
    ways = [tuple(sorted(order.index(attribute) for attribute in each.attributes)) for each in kept]
    worth: dict[Way, float] = {}
    for draw, each, way, scale in zip(draws, kept, ways, scales, strict=True):
        problem = draw.block.problem
        if way:
            own = problem.common_weight if draw.groups is None else problem.count_weight
            worth[way] = worth.get(way, 0.0) + scale * float(own or 0.0)
        if each.counted:
            worth[()] = worth.get((), 0.0) + scale * problem.count_weight
    rule = draws[0].row_rule
    hidden = rule is not None and rule.where is not None
    listed = tuple(worth)
    tables = Tables(tuple(map(len, keys)), listed, np.array(list(worth.values())), neighbours, hidden)
    parts = tuple(listed.index(way) if way else None for way in ways)
    return Cross(tables, parts, tuple(_cells(each, order, keys) for each in kept))


def _same_rows(draws: Sequence[Draw]) -> bool:
    """Whether all draws read the same rows, and their keys and filter mean the same in all of them."""
    rules = [draw.row_rule for draw in draws if draw.row_rule is not None]
    filters = {rule.where for rule in rules}
    if len(rules) < len(draws) or len(filters) > 1:
        return False
    (where,) = filters
    named = set() if where is None else set(columns_used(parse(where)))
    for draw, rule in zip(draws, rules, strict=True):
        named |= {rule.histogram} if rule.histogram is not None else set()
        named |= set() if draw.groups is None else set(draw.groups.columns)
    return same_meaning(named, [dict(rule.columns) for rule in rules])


def _ordered(attribute: Attribute, kept: Sequence[Keyed]) -> list[TypedKey]:
    """The keys of an attribute in the order in which they were first declared."""
    first = next(each for each in kept if attribute in each.attributes)
    return first.keys[first.attributes.index(attribute)]


def _cells(each: Keyed, order: Sequence[Attribute], keys: Sequence[Sequence[TypedKey]]) -> npt.NDArray[np.int64]:
    """The places of the keys of each cell, by the attributes in their order in the tables."""
    found = np.zeros_like(each.cells)
    where = sorted(range(len(each.attributes)), key=lambda i: order.index(each.attributes[i]))
    for j, i in enumerate(where):
        known = {key: at for at, key in enumerate(keys[order.index(each.attributes[i])])}
        found[:, j] = np.array([known[key] for key in each.keys[i]], np.int64)[each.cells[:, i]]
    return found
