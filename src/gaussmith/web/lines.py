"""What the lines of the form ask for, in the words of a request file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from gaussmith.web.drafts import BOUNDED, COUNTED, IN_BOUNDS, KINDS, Ask, Draft, written
from gaussmith.web.entries import read_number, refused_field
from gaussmith.web.lists import read_list

Lines = Sequence[tuple[int, Ask]]
"""Lines with their places in the form."""


def read_derived(draft: Draft) -> dict[str, str]:
    """The derived columns, by name."""
    found: dict[str, str] = {}
    for i, each in written(draft, "derived"):
        if not each.name:
            raise refused_field(f"derived-{i}-name", "", "a derived column needs a name", "write a name, such as bmi")
        found[each.name] = each.formula
    return found


def read_lines(draft: Draft, question: str = "") -> dict[str, Any]:
    """What the lines of a question, and those of every question, ask for, by field of a request.

    >>> read_lines(Draft(asks=(Ask("regression_of", "wage", "0", "90"), Ask("regression_on", "age", "0", "99"))))
    {'bounds': {'wage': [0, 90], 'age': [0, 99]}, 'regression': {'of': 'wage', 'on': ['age']}}
    """
    found: dict[str, Any] = {}
    for i, by in written(draft, "by"):
        if by.question in ("", question):
            groups = found.setdefault("by", {})
            _check_column(f"by-{i}-column", by.column, groups)
            groups[by.column] = _counted(f"by-{i}-keys", by.how, by.keys, "north, south")
    lines = [(i, ask) for i, ask in written(draft, "asks") if ask.question in ("", question)]
    seen: dict[str, list[str]] = {}
    for i, ask in lines:
        if ask.kind not in KINDS:
            raise refused_field(f"asks-{i}-kind", ask.kind, "there is no such statistic", "choose one of the list")
        _check_column(f"asks-{i}-column", ask.column, seen.setdefault(ask.kind, []))
        seen[ask.kind].append(ask.column)
        _add_line(found, i, ask)
    _add_regression(found, lines)
    _add_tables(found, lines)
    _check_bounds(found, draft, lines)
    return found


def check_questions(draft: Draft) -> None:
    """Refuse lines of a question that is not there any more."""
    known = {"", *(part.key for part in draft.questions)}
    for kind in ("asks", "by"):
        for i, line in written(draft, kind):
            if line.question not in known:
                rule = "the question of this line was removed"
                raise refused_field(f"{kind}-{i}-question", "", rule, "choose another question, or remove the line")


def _add_line(found: dict[str, Any], i: int, ask: Ask) -> None:
    """What one line adds, but for what lines say together: regressions and cross tables."""
    if ask.kind in COUNTED:
        cells = _counted(f"asks-{i}-listed", ask.cells, ask.listed, "good, fair, poor")
        if ask.kind == "marginals":
            _add_cells(found, i, ask, cells)
        else:
            found.setdefault(ask.kind, {})[ask.column] = cells
        return
    pair = _bounds(i, ask)
    if ask.kind == "quantiles":
        levels = read_list(f"asks-{i}-listed", ask.listed) or [0.25, 0.5, 0.75]
        found.setdefault("quantiles", {})[ask.column] = levels
    if ask.kind not in IN_BOUNDS:
        found.setdefault(ask.kind, {})[ask.column] = pair
    elif pair is not None and found.setdefault("bounds", {}).setdefault(ask.column, pair) != pair:
        rule = "another line has other bounds of this column"
        raise refused_field(f"asks-{i}-low", ask.low, rule, "write the same bounds in both lines")
    _add_missing(found, i, ask)


def _add_cells(found: dict[str, Any], i: int, ask: Ask, cells: Any) -> None:
    """The values or the edges of a column of a cross table."""
    if cells == "found":
        rule = "the cells of a cross table are chosen without looking at the data"
        raise refused_field(f"asks-{i}-cells", "found in data", rule, "list the values, or the edges of cells")
    if isinstance(cells, dict):
        found.setdefault("bins", {})[ask.column] = cells["bins"] if set(cells) == {"bins"} else cells
    else:
        found.setdefault("values", {})[ask.column] = cells


def _add_regression(found: dict[str, Any], lines: Lines) -> None:
    of = [(i, ask.column) for i, ask in lines if ask.kind == "regression_of"]
    on = [(i, ask.column) for i, ask in lines if ask.kind == "regression_on"]
    if not of and not on:
        return
    if len(of) != 1 or not on:
        rule = "a regression predicts one column from one or more others"
        remedy = "add a line “predictor in regression”" if of and not on else "have one line “predicted by regression”"
        raise refused_field(f"asks-{(of[1:] or on or of)[0][0]}-kind", "regression", rule, remedy)
    found["regression"] = {"of": of[0][1], "on": [column for _, column in on]}


def _add_tables(found: dict[str, Any], lines: Lines) -> None:
    """The cross tables: columns that name the same table are in it; those that name none are in all."""
    named = [(ask.column, [w.strip() for w in ask.tables.split(",") if w.strip()]) for _, ask in lines
             if ask.kind == "marginals"]  # fmt: skip
    if not named:
        return
    labels = sorted({label for _, own in named for label in own} or {""}, key=lambda label: (len(label), label))
    found["marginals"] = [[column for column, own in named if label in own or not own] for label in labels]


def _check_bounds(found: dict[str, Any], draft: Draft, lines: Lines) -> None:
    """Refuse a line without bounds, unless those of all columns of its kind are written below the form."""
    below = "bounds" in draft.more
    for i, ask in lines:
        if ask.kind not in BOUNDED or ask.low or ask.high or ask.how == "private":
            continue
        pairs = found.get(ask.kind, {})
        if below and (ask.kind in IN_BOUNDS or all(pair is None for pair in pairs.values())):
            continue
        raise refused_field(
            f"asks-{i}-low", "", "every column needs two numbers, known without looking at the data",
            "write the smallest and the largest value that can be, such as 0 and 100",
        )  # fmt: skip
    for kind in BOUNDED:
        if kind in found and kind not in IN_BOUNDS and None in found[kind].values():
            found[kind] = list(found[kind])


def _bounds(i: int, ask: Ask) -> Any:
    """The bounds of a line; None where both are empty: they may be written below the form."""
    if ask.how == "private":
        return "private"
    if not ask.low and not ask.high:
        return None
    return [read_number(f"asks-{i}-low", ask.low), read_number(f"asks-{i}-high", ask.high)]


def _counted(field: str, how: str, text: str, example: str) -> Any:
    if how == "found":
        return "found"
    if text.startswith("{"):  # cells in words of a request file: { equal = 20, between = [0, 100] }
        try:
            return tomllib.loads(f"cells = {text}")["cells"]
        except tomllib.TOMLDecodeError as error:
            raise refused_field(
                field, text, f"it is not TOML: {error}", "write { equal = 20, between = [0, 100] }"
            ) from None
    items = read_list(field, text)
    if not items:
        rule = "list them, chosen without looking at the data"
        raise refused_field(field, "", rule, f"write {'18, 40, 65' if how == 'bins' else example}")
    return {"bins": items} if how == "bins" else items


def _add_missing(found: dict[str, Any], i: int, ask: Ask) -> None:
    """What a line says about missing values; every line of a column says the same."""
    if ask.missing == "complete" and ask.column not in found.setdefault("complete", []):
        found["complete"].append(ask.column)
    if ask.missing == "replace":
        value = read_number(f"asks-{i}-stand_in", ask.stand_in)
        known = found.setdefault("missing", {}).setdefault(ask.column, value)
        if known != value:
            rule = f"another line replaces missing values of this column by {known:g}"
            raise refused_field(f"asks-{i}-stand_in", ask.stand_in, rule, "write the same number in both")


def _check_column(field: str, column: str, known: Any) -> None:
    if not column:
        raise refused_field(field, "", "name a column", "choose a column, or empty the line")
    if column in known:
        raise refused_field(field, column, "each column is asked once", "leave one of the two lines out")
