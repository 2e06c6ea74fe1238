"""What is said once holds for every answer about a column: bounds of a row, bounds of a person's total, values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussmith.errors import RequestError, nearest
from gaussmith.requests.toml_text import toml_key

Pair = tuple[float, float]
Said = Mapping[str, Pair]


def settle_rows(which: str, columns: Mapping[str, Pair | None], bounds: Said) -> dict[str, Pair]:
    """The bounds of one row of each column: those beside it, or those in `bounds`."""
    return {name: _said_once(which, name, pair, "bounds", bounds) or _unbounded(which, name, bounds)
            for name, pair in columns.items()}  # fmt: skip


def settle_totals(
    columns: Mapping[str, Pair | None], bounds: Said, total_bounds: Said, rows: int | None
) -> dict[str, Pair]:
    """The bounds of a person's total of each column: beside it, in `total_bounds`, or of so many rows within `bounds`.

    >>> settle_totals({"spent": None}, {"spent": (-1, 50)}, {}, 12)
    {'spent': (-12.0, 600.0)}
    >>> settle_totals({"age": None}, {"age": (18, 65)}, {}, 2)     # a person without a value adds nothing
    {'age': (0.0, 130.0)}
    """
    found = {}
    for name, pair in columns.items():
        own = _said_once("sums", name, pair, "total_bounds", total_bounds)
        if own is None and name in bounds and rows is not None:
            low, high = bounds[name]
            own = (float(min(0.0, rows * low)), float(max(0.0, rows * high)))
        if own is None and name in bounds:
            (low, high), key = bounds[name], toml_key(name)
            raise RequestError(
                f"the sum of {name!r} with bounds of one row, [{low:g}, {high:g}]",
                "with a unit, a sum adds up a person's total, which needs bounds of its own",
                f"write total_bounds = {{ {key} = [0, 500] }}, or rows_per_unit = 12 for the total of 12 rows",
                code="total-without-bounds",
                column=name,
            )
        found[name] = own or _unbounded("sums", name, {**bounds, **total_bounds}, "total_bounds")
    return found


def settle_values(which: str, columns: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The declared values of each column: those beside it, all of them in `values` if it is there too."""
    found: dict[str, Any] = {}
    for name, own in columns.items():
        if own is None and name not in values:
            key = toml_key(name)
            found_too = f', or by = {{ {key} = "found" }} to find them privately' if which == "by" else ""
            found_too += f", or bins = {{ {key} = [0, 10, 20] }} for numbers and dates"
            raise RequestError(
                f"{name!r} in {which} has no values",
                "what is counted must be declared, without looking at the data",
                f'write values = {{ {key} = ["a", "b"] }}, or {which} = {{ {key} = ["a", "b"] }}{found_too}',
                code="column-without-values",
                which=which,
                column=name,
            )
        for value in own if isinstance(own, list) and name in values else ():
            if value not in values[name]:
                raise RequestError(
                    f"{value!r} of {name!r} in {which}",
                    "values declares the values of this column, and it is not one of them",
                    nearest(str(value), list(map(str, values[name]))),
                    code="value-not-declared",
                    which=which,
                    column=name,
                    value=value,
                )
        found[name] = values[name] if own is None else own
    return found


def _said_once(which: str, name: str, own: Pair | None, where: str, said: Said) -> Pair | None:
    """The one pair of bounds of a column; refuses two that differ."""
    other = said.get(name)
    if own is not None and other is not None and own != other:
        raise RequestError(
            f"two bounds of {name!r}: {_shown(own)} in {which}, {_shown(other)} in {where}",
            "bounds that are said once hold for every answer",
            f'leave one out: {which} = ["{name}"]',
            code="bounds-said-twice",
            column=name,
        )
    return own if own is not None else other


def _unbounded(which: str, name: str, said: Said, where: str = "bounds") -> Pair:
    near = f" (bounds are said of {', '.join(map(repr, list(said)[:4]))})" if said else ""
    beside = "" if which == "regression" else f", or {which} = {{ {toml_key(name)} = [0, 100] }}"
    raise RequestError(
        f"{name!r} in {which} has no bounds{near}",
        "every column needs two bounds, known without looking at the data",
        f"write {where} = {{ {toml_key(name)} = [0, 100] }}{beside}",
        code="column-without-bounds",
        which=which,
        column=name,
    )


def _shown(pair: Pair) -> str:
    return f"[{pair[0]:g}, {pair[1]:g}]"
