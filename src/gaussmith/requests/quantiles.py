"""Quantiles and medians of a request: which levels of which columns, over which cells, of which number of a person.

    quantiles = { income = [0.1, 0.5, 0.9] }      levels; the cells come from bins or bounds of the column
    medians   = ["income"]                        the same at 0.5, under the name income_median
    medians   = { income = [0, 200000] }          with the bounds beside it

Without `bins` the bounds are cut into cells of one width, and values beyond the bounds count as these. With bins and no
unit the outer cells are open, and a quantile in one of them is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gaussmith.checks import is_number
from gaussmith.domains import Box
from gaussmith.errors import DomainError, RequestError
from gaussmith.expressions.cuts import DATE, Cut
from gaussmith.problem.features import OWN_MEAN, OWN_TOTAL, OWN_VALUE
from gaussmith.requests.bins import PRIVATE, Bins, equal_cells
from gaussmith.requests.toml_text import toml_key
from gaussmith.statistics.quantile import MEDIAN, Quantiles

CELLS = 256
"""Cells within bounds, where no bins are declared: half a cell is 0.2 % of the bounds."""

MAX_CELLS = 2048
"""Limit on the cells of a quantile: the noise for them is solved for."""


class Settled(NamedTuple):
    """The quantiles of one column: names and levels, the cells, and which number of a person is meant."""

    levels: tuple[tuple[str, float], ...]
    cut: Cut
    made: str


def read_quantiles(which: str, given: Any) -> dict[str, Any]:
    """Columns with their levels, in order; refuses all else in words of its own."""
    if not isinstance(given, Mapping):
        column = toml_key(given) if isinstance(given, str) and given else "income"
        rule, remedy = "it must map columns to levels", f"write quantiles = {{ {column} = [0.1, 0.5, 0.9] }}"
        raise RequestError(f"{which}={given!r}"[:120], rule, remedy, code="quantiles-not-a-mapping", quantiles=given)
    return {str(column): _levels(str(column), levels) for column, levels in given.items()}


def _levels(column: str, given: Any) -> tuple[float, ...] | Settled:
    if isinstance(given, Settled):
        return given
    levels = [given] if is_number(given) and not isinstance(given, bool) else given
    example = f"write quantiles = {{ {toml_key(column)} = [0.1, 0.5, 0.9] }}"
    if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
        what, rule = f"quantiles of {column!r} = {given!r}"[:120], "list at least one level between 0 and 1"
        raise RequestError(what, rule, example, code="quantile-levels-not-listed", column=column)
    for level in levels:
        what = f"quantile {level!r} of {column!r}"[:120]
        if isinstance(level, bool) or not is_number(level):
            raise RequestError(what, "a level is a number", example, code="quantile-level-not-a-number", column=column)
        if not 0 < level < 1:
            inside = isinstance(level, int | float) and 1 < level < 100
            remedy = f"write {level / 100:g} for {level:g} %" if inside else "write 0.5 for the median"
            rule = "a level is above 0 and below 1: the smallest and the largest value belong to one person"
            raise RequestError(what, rule, remedy, code="quantile-outside-0-1", column=column, level=level)
    found = tuple(float(level) for level in levels)
    for i, level in enumerate(found):
        if level in found[:i]:
            what = f"quantile {level!r} of {column!r} twice"
            raise RequestError(what, "each level is asked once", "leave one out", code="quantile-twice", column=column)
    return found


def read_medians(which: str, given: Any) -> dict[str, Any]:
    """Columns, each with its bounds or None where these are said elsewhere."""
    column = given if isinstance(given, str) and given else "income"
    example = f'write medians = ["{column}"], or medians = {{ {toml_key(column)} = [0, 200000] }}'
    if isinstance(given, Mapping):
        return {
            str(column): None if pair is None else _pair(which, str(column), pair) for column, pair in given.items()
        }
    named = not isinstance(given, str) and isinstance(given, Sequence) and all(isinstance(name, str) for name in given)
    if not named:
        what, rule = f"{which}={given!r}"[:120], "it must list columns, or map columns to bounds"
        raise RequestError(what, rule, example, code="medians-not-listed", medians=given)
    for i, name in enumerate(given):
        if name in given[:i]:
            what, rule = f"median of {name!r} twice", "each column is asked once"
            raise RequestError(what, rule, "leave one out", code="median-twice", column=name)
    return dict.fromkeys(given)


def _pair(which: str, column: str, pair: Any) -> Any:
    if isinstance(pair, str) and pair == PRIVATE:
        return pair
    plain = isinstance(pair, list | tuple) and len(pair) == 2
    if not plain or not all(isinstance(b, int | float) and is_number(b) for b in pair):
        raise DomainError(
            f"bounds of {column!r} = {pair!r}"[:120],
            "every column needs two numbers, known without looking at the data",
            f"write {which} = {{ {toml_key(column)} = [0, 100] }}",
            code="request-bounds-not-two-numbers",
            column=column,
            bounds=pair,
        )
    return float(pair[0]), float(pair[1])


def settle_quantiles(
    quantiles: Mapping[str, Any],
    medians: Mapping[str, Any],
    bounds: Mapping[str, tuple[float, float]],
    total_bounds: Mapping[str, tuple[float, float]],
    bins: Mapping[str, Bins],
    unit: str | None,
) -> dict[str, Settled]:
    """The quantiles and medians of each column with its cells; refuses a column of which these are not known."""
    if any(isinstance(each, Settled) for each in quantiles.values()):
        return dict(quantiles)
    found: dict[str, Settled] = {}
    for column in dict.fromkeys([*quantiles, *medians]):
        levels = [(Quantiles.label(column, level), level) for level in quantiles.get(column, ())]
        levels += [(f"{column}_{MEDIAN}", 0.5)] if column in medians else []
        beside = medians.get(column)
        own = bounds if beside is None else {**bounds, column: beside}
        made, within = _whose(column, own, {} if beside is not None else total_bounds, unit)
        found[column] = Settled(tuple(levels), _cells(column, within, bins.get(column), unit), made)
    return found


def _whose(
    column: str, bounds: Mapping[str, Any], total_bounds: Mapping[str, Any], unit: str | None
) -> tuple[str, tuple[float, float] | None]:
    """Which number of a person is meant, and the bounds of it."""
    if unit is None:
        return OWN_VALUE, bounds.get(column, total_bounds.get(column))
    if column in bounds and column in total_bounds:
        raise RequestError(
            f"quantiles of {column!r} with bounds and total_bounds",
            "a person has one value: the total of its rows, or their mean",
            f"ask in a question of its own, with bounds (for the mean) or total_bounds (for the total) of {column}",
            code="quantile-of-totals-or-means",
            column=column,
        )
    return (OWN_TOTAL, total_bounds[column]) if column in total_bounds else (OWN_MEAN, bounds.get(column))


def _cells(column: str, within: tuple[float, float] | None, bins: Bins | None, unit: str | None) -> Cut:
    if bins is not None and bins.cut.kind == DATE:
        what, rule = f"quantiles of {column!r}, which has bins of dates", "quantiles are of numbers"
        remedy = f"derive a number, such as year({column})"
        raise RequestError(what, rule, remedy, code="quantile-of-dates", column=column)
    if within is None and (bins is None or unit is not None):
        person = " of one row, or total_bounds of a person's total" if unit is not None else ""
        raise RequestError(
            f"quantiles of {column!r} without bounds",
            f"they are found among cells, which need bounds{person}: known without looking at the data, or learned",
            f"write bounds = {{ {column} = [0, 100] }}"
            + ("" if unit is not None else f", or bins = {{ {column} = [0, 10, 20] }}")
            + f', or {"bounds" if unit is not None else "bins"} = {{ {column} = "private" }} to learn them at a price',
            code="quantile-without-bounds",
            column=column,
        )
    if within is not None:
        Box({column: within})  # refuses bounds that are not in order
    if bins is None:
        assert within is not None
        cut = equal_cells(*within, CELLS)
    elif unit is None:
        cut = bins.cut
    else:
        assert within is not None
        inner = tuple(edge for edge in bins.cut.edges if within[0] < edge < within[1])
        cut = Cut(inner, ends=(float(within[0]), float(within[1])))
    if not 2 <= cut.cells <= MAX_CELLS:
        what, rule = f"quantiles of {column!r} over {cut.cells} cells", f"there must be 2 to {MAX_CELLS:,} of them"
        remedy = "declare fewer bins" if cut.cells > 2 else "declare bins inside the bounds"
        raise RequestError(what, rule, remedy, code="quantile-cells-too-many-or-few", column=column, cells=cut.cells)
    return cut
